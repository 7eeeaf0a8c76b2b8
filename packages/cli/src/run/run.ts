import { ExitCode } from "@xfn/program/exit-code";
import type { RunOptions } from "@xfn/runner-contract";
import { type RunnerFlags, withRunner } from "../runner/with-runner.ts";
import { interruptible } from "../terminal/interrupt.ts";
import type { Output } from "../terminal/output.ts";

/** Flags of `xfn run`, as commander parsed them. */
export interface RunFlags extends RunnerFlags {
  /** The limit for the function, in milliseconds. */
  readonly timeout?: number;
  readonly network?: "Isolated" | "Accessible";
  /** Bytes. */
  readonly memory?: number;
  /** Cores. */
  readonly cpu?: number;
  readonly pull?: "IfNotPresent" | "Always" | "Never";
  readonly output: "json" | "yaml";
}

/** `xfn run`: calls one function, checks its FunctionIO and prints it. Exit code 1 for a fatal result. */
export async function runFunction(image: string, file: string, flags: RunFlags, output: Output): Promise<number> {
  return interruptible(async (signal) => {
    const returned = await withRunner(flags, output, async (runner) => {
      // Loads while the runner makes its namespaces.
      const { callFunction } = await import("./call-function.ts");
      return callFunction(runner, image, file, runOptions(flags, signal), flags.output);
    });
    for (const note of returned.notes) output.note(note);
    await output.product(returned.product);
    return returned.isFatal ? ExitCode.failed : ExitCode.ok;
  });
}

function runOptions(flags: RunFlags, signal: AbortSignal): RunOptions {
  return {
    signal,
    ...(flags.timeout === undefined ? {} : { timeoutMs: flags.timeout }),
    ...(flags.network === undefined ? {} : { network: flags.network }),
    ...(flags.memory === undefined ? {} : { memoryBytes: flags.memory }),
    ...(flags.cpu === undefined ? {} : { cpus: flags.cpu }),
    ...(flags.pull === undefined ? {} : { pullPolicy: flags.pull }),
  };
}
