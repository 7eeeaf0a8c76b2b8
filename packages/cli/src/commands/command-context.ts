import type { Command } from "commander";
import type { Output } from "../terminal/output.ts";

/**
 * What a command needs to declare itself. Declarations hold arguments, flags and help only; they import the command's
 * logic when it runs, so that `xfn --help` and every other command start without it.
 */
export interface CommandContext {
  readonly program: Command;
  readonly output: Output;
  /** Reports the exit code of the command that ran. */
  finish(exitCode: number): void;
}

/** For options that can be given several times. */
export function repeated(value: string, earlier: readonly string[] | undefined): readonly string[] {
  return [...(earlier ?? []), value];
}
