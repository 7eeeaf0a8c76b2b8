import { InputError } from "@xfn/input";
import {
  type FunctionRunner,
  PipelineError,
  type PipelineErrorCode,
  printRender,
  type RenderInput,
  type RenderResult,
  render,
  type StepResult,
} from "@xfn/pipeline";
import { oneLine } from "@xfn/program/terminal-text";
import { CliError } from "../errors/cli-error.ts";
import { colours } from "../terminal/colours.ts";
import { functionStderr } from "../terminal/function-stderr.ts";
import type { RenderInputs } from "./render-inputs.ts";
import type { RenderOptions } from "./render-options.ts";

/** The result of a render, ready to print. */
export interface Rendered {
  /** For stdout. */
  readonly product: string;
  /** For stderr: messages that a person needs in any case. */
  readonly notes: readonly string[];
  readonly isFatal: boolean;
}

/**
 * Renders, and stops the whole run after `--timeout`.
 *
 * @throws CliError `Failed` after the timeout
 * @throws InputError if the XR, the observed resources and the Composition do not fit together
 */
export async function renderWithTimeout(
  inputs: RenderInputs & Pick<RenderInput, "onRecord">,
  options: RenderOptions,
  runner: FunctionRunner,
  interrupt: AbortSignal,
): Promise<Rendered> {
  const timeout = AbortSignal.timeout(options.timeout);
  const stderr = new Map<string, string>();
  try {
    const signal = AbortSignal.any([interrupt, timeout]);
    const result = await render({ ...inputs, runner: recordStderr(runner, stderr), signal });
    const { includeFunctionResults = false, includeFullXr = false } = options;
    const product = printRender(result, { includeFunctionResults, includeFullXR: includeFullXr });
    return { product, notes: notesOn(result, stderr), isFatal: result.fatal !== undefined };
  } catch (error) {
    if (timeout.aborted && !interrupt.aborted) throw timedOut(options.timeout, error);
    if (error instanceof PipelineError && WRONG_INPUT.includes(error.code)) {
      const hint = error.code === "InvalidEnvironment" ? ["pass EnvironmentConfigs with --environment"] : [];
      throw new InputError(error.message, { details: hint, cause: error });
    }
    throw error;
  }
}

const WRONG_INPUT: readonly PipelineErrorCode[] = [
  "InvalidComposite",
  "InvalidObserved",
  "InvalidEnvironment",
  "CompositionMismatch",
  "Unsupported",
];

function timedOut(timeoutMs: number, cause: unknown): CliError {
  const step = cause instanceof PipelineError && cause.step !== undefined ? ` in step "${cause.step}"` : "";
  const message = `the run was stopped after ${timeoutMs / 1000} s (--timeout)${step}`;
  return new CliError("Failed", message, { cause });
}

// No error carries the stderr of a function that returned a fatal result, because its process succeeded.
function recordStderr(runner: FunctionRunner, stderr: Map<string, string>): FunctionRunner {
  return {
    run: (image, input, options = {}) => {
      const onStderr = (tail: string): void => {
        stderr.set(options.step ?? "", tail);
        options.onStderr?.(tail);
      };
      return runner.run(image, input, { ...options, onStderr });
    },
  };
}

function notesOn({ results, deleted, fatal }: RenderResult, stderr: ReadonlyMap<string, string>): string[] {
  const paint = colours(process.stderr);
  const line = ({ severity, step, message }: StepResult): string => {
    const title = severity === "Fatal" ? paint.red("fatal") : paint.yellow("warning");
    // Warnings of the pipeline itself begin with the step.
    const named = step === undefined || message.startsWith(`step "${step}" `);
    return `xfn: ${title}: ${named ? "" : `step "${oneLine(step, 100)}": `}${oneLine(message)}`;
  };
  const notes = results.filter(({ severity }) => severity !== "Normal").map(line);
  if (fatal?.step !== undefined) notes.push(...functionStderr(stderr.get(fatal.step) ?? ""));
  if (deleted.length > 0) notes.push(`xfn: would be deleted: ${deleted.map((name) => oneLine(name, 100)).join(", ")}`);
  return notes;
}
