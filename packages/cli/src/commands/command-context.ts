import { givenFlags, readSettings, type SettingsOf } from "@xfn/program/settings";
import type { Command } from "commander";
import { usageError } from "../errors/cli-error.ts";
import type { Output } from "../terminal/output.ts";

/**
 * Passed to each command's declaration. Declarations contain arguments, settings and help only. They import the
 * command's logic when it runs, so that `xfn --help` and every other command start without it.
 */
export interface CommandContext {
  readonly program: Command;
  readonly output: Output;
  /** The folder of @xfn/cli, with a slash at the end. */
  readonly packageFolder: URL;
  /** Reports the exit code of the command that ran. */
  finish(exitCode: number): void;
}

/**
 * Reads the flags of a command. Flags that were not given and have no default are absent.
 *
 * @throws CliError `Usage` with all problems
 */
export function readFlags<T extends object>(command: Command, settings: SettingsOf<T>): T {
  const given = givenFlags(command);
  const { config, problems } = readSettings(settings, given);
  const [first, ...others] = problems;
  if (first !== undefined) throw usageError(first, others);
  const isSet = ([key, value]: [string, unknown]): boolean => {
    const { name, shown, required } = settings[key as keyof T];
    return value !== undefined && (given[name] !== undefined || shown !== undefined || required === true);
  };
  return Object.fromEntries(Object.entries(config).filter(isSet)) as T;
}
