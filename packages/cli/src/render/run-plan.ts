import { InputError } from "@xfn/input";
import {
  PipelineError,
  type PipelineErrorCode,
  printRender,
  type RenderInput,
  type RenderResult,
  render,
  type StepRecord,
  type StepResult,
} from "@xfn/pipeline";
import type { Callers } from "@xfn/pipeline/recording";
import { oneLine } from "@xfn/program/terminal-text";
import { CliError } from "../errors/cli-error.ts";
import { withRecording } from "../runner/with-recording.ts";
import { colours } from "../terminal/colours.ts";
import { functionStderr } from "../terminal/function-stderr.ts";
import type { Output } from "../terminal/output.ts";
import { warning } from "../terminal/warning.ts";
import { stepNetworkHint } from "./network-of-step.ts";
import type { RenderInputs } from "./render-inputs.ts";
import type { RenderOptions } from "./render-options.ts";
import type { ResolvedImages } from "./step-images.ts";
import { withTrace } from "./with-trace.ts";

/** The result of a render, ready to print. */
export interface Rendered {
  /** For stdout. */
  readonly product: string;
  /** For stderr: messages that a person needs in any case. */
  readonly notes: readonly string[];
  readonly isFatal: boolean;
}

/** The functions of a render: real ones, or those of a recording. */
export interface Endpoints {
  readonly callers: Callers;
  /** Replaces the Secrets of files. */
  readonly credentials?: RenderInput["credentials"];
  /** Called before each step. */
  begin(step: Pick<StepRecord, "name">): void;
  /** The end of what the function of a step wrote to stderr. */
  stderrOf(step: string): string | undefined;
  /** Runs a render that calls the functions. */
  run(render: () => Promise<Rendered>): Promise<Rendered>;
}

/** A render whose files are read and whose functions can be called. */
export interface RenderPlan {
  readonly inputs: RenderInputs;
  readonly endpoints: Endpoints;
  readonly options: RenderOptions;
  /** Receives the notes on the recording and the trace. */
  readonly output: Output;
  readonly interrupt: AbortSignal;
}

/** Renders, with the requested recording and trace. @throws as `renderWithTimeout` */
export async function runPlan(plan: RenderPlan): Promise<Rendered> {
  const { inputs, endpoints, options, output } = plan;
  return await endpoints.run(() =>
    withRecording(inputs, options, output, endpoints.callers, (callers) =>
      withTrace(inputs, options, output, (onRecord) => renderWithTimeout(plan, callers, onRecord)),
    ),
  );
}

/**
 * Stops the whole run after `--timeout`.
 *
 * @throws CliError `Failed` after the timeout
 * @throws InputError if the XR, the observed resources and the Composition do not fit together
 */
async function renderWithTimeout(
  { inputs, endpoints, options, interrupt }: RenderPlan,
  callers: Callers,
  onRecord: RenderInput["onRecord"],
): Promise<Rendered> {
  const { credentials, stderrOf } = endpoints;
  return await inTime(inputs, options.timeout, interrupt, async (signal) => {
    const { pipeline, functions: _, built: _built, keyWarnings, ...input } = inputs;
    const result = await render({
      ...input,
      ...pipeline,
      ...(credentials && { credentials }),
      ...callers,
      signal,
      onStep: (step) => endpoints.begin(step),
      ...(onRecord && { onRecord: (record) => onRecord(withStderr(record, stderrOf(record.name))) }),
    });
    const product = printed(result, options);
    const isFatal = result.fatal !== undefined;
    // After a fatal result, functions that would have exposed a key did not run.
    const warnings = isFatal ? [] : keyWarnings(result.exposedByFunctions).map(warning);
    return { product, notes: [...warnings, ...notesOn(result, stderrOf, inputs)], isFatal };
  }).catch((error: unknown) => {
    if (error instanceof PipelineError && WRONG_INPUT.includes(error.code)) {
      // As in `crossplane render`, where input that does not fit is a failed run.
      if (inputs.pipeline !== undefined) throw new CliError("Failed", error.message, { cause: error });
      const hint = error.code === "InvalidEnvironment" ? ["pass EnvironmentConfigs with --environment"] : [];
      throw new InputError(error.message, { details: hint, cause: error });
    }
    throw error;
  });
}

/**
 * Stops a run of functions after a time in milliseconds.
 *
 * @throws CliError `Failed` after that time, or with the stderr of the function that failed
 */
export async function inTime<T>(
  inputs: ResolvedImages,
  timeoutMs: number,
  interrupt: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    return await run(AbortSignal.any([interrupt, timeout]));
  } catch (error) {
    if (timeout.aborted && !interrupt.aborted) throw timedOut(timeoutMs, error);
    if (!(error instanceof PipelineError) || error.step === undefined || error.stderr === undefined) throw error;
    const hint = stepNetworkHint(inputs, error.step, [error.stderr]);
    const details = [...functionStderr(error.stderr), ...(hint === undefined ? [] : [hint])];
    throw new CliError("Failed", error.message, { details, cause: error });
  }
}

// A failed call carries its own.
function withStderr(record: StepRecord, stderr: string | undefined): StepRecord {
  return record.kind === "templates" || stderr === undefined ? record : { stderr, ...record };
}

function printed(result: RenderResult, options: RenderOptions): string {
  const { includeFunctionResults = false, includeFullXr = false, includeContext = false, output = "yaml" } = options;
  return printRender(result, { includeFunctionResults, includeFullXR: includeFullXr, includeContext, format: output });
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

/** The warnings of a run, and the end of what a function that returned a fatal result wrote to stderr. */
export function notesOn(
  { results, deleted = [], fatal }: Pick<RenderResult, "results" | "fatal"> & Partial<Pick<RenderResult, "deleted">>,
  stderrOf: (step: string) => string | undefined,
  inputs: ResolvedImages,
): string[] {
  const paint = colours(process.stderr);
  const line = ({ severity, step, message }: StepResult): string => {
    const title = severity === "Fatal" ? paint.red("fatal") : paint.yellow("warning");
    // Warnings of the pipeline itself begin with the step.
    const named = step === undefined || message.startsWith(`step "${step}" `);
    return `xfn: ${title}: ${named ? "" : `step "${oneLine(step, 100)}": `}${oneLine(message)}`;
  };
  const notes = results.filter(({ severity }) => severity !== "Normal").map(line);
  if (fatal?.step !== undefined) {
    const text = stderrOf(fatal.step);
    notes.push(...functionStderr(text ?? ""));
    const hint = stepNetworkHint(inputs, fatal.step, [fatal.message, text]);
    if (hint !== undefined) notes.push(hint);
  }
  if (deleted.length > 0) notes.push(`xfn: would be deleted: ${deleted.map((name) => oneLine(name, 100)).join(", ")}`);
  return notes;
}
