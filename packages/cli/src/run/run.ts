import { parseFunctionIO, printFunctionIO, severityOf } from "@xfn/functionio";
import { printYaml } from "@xfn/functionio/document";
import type { RunOptions } from "@xfn/runner";
import { CliError, ExitCode } from "../errors.ts";
import { absoluteImage } from "../input/composition-file.ts";
import { asInputError } from "../input/documents.ts";
import { readInput, STDIN, sourceName } from "../input/read-input.ts";
import { interruptible } from "../interrupt.ts";
import { oneLine } from "../terminal/escape.ts";
import { functionStderr } from "../terminal/function-stderr.ts";
import type { Output } from "../terminal/output.ts";
import { type RunnerFlags, withRunner } from "../with-runner.ts";

/** Flags of `xfn run`, as the declaration parsed them. */
export interface RunFlags extends RunnerFlags {
  /** Milliseconds that the function may run. */
  readonly timeout?: number;
  readonly network?: "Isolated" | "Accessible";
  /** Bytes. */
  readonly memory?: number;
  /** Cores. */
  readonly cpu?: number;
  readonly pull?: "IfNotPresent" | "Always" | "Never";
  readonly output: "json" | "yaml";
}

/** `xfn run`: one function, once. What it returns is checked and printed; a fatal result among it is exit code 1. */
export async function runFunction(image: string, file: string, flags: RunFlags, output: Output): Promise<number> {
  return interruptible(async (signal) => {
    const bytes = await readInput(file);
    const io = asInputError(file, () => parseFunctionIO(bytes, { source: sourceName(file) }));
    const input = new TextEncoder().encode(printFunctionIO(io));
    let stderr: string[] = [];
    const options: RunOptions = {
      ...runOptions(flags, signal),
      onStderr: (tail) => {
        stderr = functionStderr(tail);
      },
    };
    const written = await withRunner(flags, output, (runner) =>
      runner.run(absoluteImage(image, STDIN), input, options),
    );
    const returned = readReturned(written, image, stderr);
    for (const line of stderr) output.note(line);
    for (const { severity, message } of returned.results ?? []) {
      if (severityOf({ severity, message }) !== "Normal")
        output.note(`xfn: ${oneLine(severity, 20).toLowerCase()}: ${oneLine(message)}`);
    }
    await output.product(flags.output === "yaml" ? printYaml({ ...returned }) : `${printFunctionIO(returned)}\n`);
    return returned.results?.some((result) => severityOf(result) === "Fatal") === true ? ExitCode.failed : ExitCode.ok;
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

function readReturned(bytes: Uint8Array, image: string, stderr: readonly string[]): ReturnType<typeof parseFunctionIO> {
  try {
    return parseFunctionIO(bytes, { source: "its output" });
  } catch (error) {
    const faults = error instanceof Error ? error.message.split("\n") : [];
    throw new CliError("Failed", `${image} did not return a FunctionIO`, {
      details: [...faults, ...stderr],
      cause: error,
    });
  }
}
