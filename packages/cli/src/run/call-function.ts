import {
  type FunctionIO,
  type OutputLimits,
  outputLimits,
  parseFunctionIO,
  printFunctionIO,
  severityOf,
} from "@xfn/functionio";
import { asInputError, readInput, STDIN, sourceName } from "@xfn/input";
import { printYaml } from "@xfn/json/document";
import { escapeUnsafe } from "@xfn/json/text";
import { oneLine } from "@xfn/program/terminal-text";
import { DEFAULT_OUTPUT_BYTES, type FunctionRunner, type RunOptions } from "@xfn/runner-contract";
import { CliError } from "../errors/cli-error.ts";
import { absoluteImage } from "../input/absolute-image.ts";
import { functionStderr } from "../terminal/function-stderr.ts";

/** The result of a function, ready to print. */
export interface Returned {
  /** For stdout. */
  readonly product: string;
  /** For stderr: the function's stderr, then its warnings and fatal results. */
  readonly notes: readonly string[];
  readonly isFatal: boolean;
}

/**
 * Calls a function with the FunctionIO of a file.
 *
 * @param image - an argument of the command line: an `oci:` folder is relative to the working directory
 * @throws InputError if the file is not a FunctionIO
 * @throws CliError `Failed` if the function returns something else
 * @throws RunnerError
 */
export async function callFunction(
  runner: FunctionRunner,
  image: string,
  file: string,
  options: RunOptions,
  format: "json" | "yaml",
): Promise<Returned> {
  const bytes = await readInput(file);
  const io = asInputError(file, () => parseFunctionIO(bytes, { source: sourceName(file) }));
  let stderr: readonly string[] = [];
  const onStderr = (tail: string): void => {
    stderr = functionStderr(tail);
  };
  const input = new TextEncoder().encode(printFunctionIO(io));
  const written = await runner.run(absoluteImage(image, STDIN), input, { ...options, onStderr });
  const limits = outputLimits(runner.maxOutputBytes ?? DEFAULT_OUTPUT_BYTES);
  const returned = readReturned(written, limits, image, stderr);
  const results = returned.results ?? [];
  const notes = results
    .filter((result) => severityOf(result) !== "Normal")
    .map((result) => `xfn: ${severityOf(result).toLowerCase()}: ${oneLine(result.message)}`);
  return {
    product: format === "yaml" ? printYaml({ ...returned }) : `${escapeUnsafe(printFunctionIO(returned))}\n`,
    notes: [...stderr, ...notes],
    isFatal: results.some((result) => severityOf(result) === "Fatal"),
  };
}

function readReturned(bytes: Uint8Array, limits: OutputLimits, image: string, stderr: readonly string[]): FunctionIO {
  try {
    return parseFunctionIO(bytes, { source: "its output", limits, isOutput: true });
  } catch (cause) {
    const faults = cause instanceof Error ? cause.message.split("\n") : [];
    throw new CliError("Failed", `${image} did not return a FunctionIO`, { details: [...faults, ...stderr], cause });
  }
}
