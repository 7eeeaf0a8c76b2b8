import type { CompositionFunction } from "@xfn/composition";
import { type FunctionIO, FunctionIOError, type Issue, outputLimits } from "@xfn/functionio";
import {
  DEFAULT_OUTPUT_BYTES,
  type FunctionRunner,
  type RegistryAuth,
  type RunOptions,
  type RunPhase,
} from "@xfn/runner-contract";
import { PipelineError, type PipelineErrorCode } from "../outcome/pipeline-error.ts";
import { readFailure } from "../output/read-failure.ts";
import { readOutput } from "../output/read-output.ts";
import type { CachedOutput } from "./cached-output.ts";

/** The parameters of a step other than its input. */
export interface StepContext {
  runner: FunctionRunner;
  signal?: AbortSignal | undefined;
  auth?: ((step: CompositionFunction) => Promise<RegistryAuth | undefined>) | undefined;
  onPhase?: ((step: string, phase: RunPhase, ms: number) => void) | undefined;
  /** The output of an earlier run, which is used again. Absent: the function runs. */
  cached?: CachedOutput | undefined;
  /** Called with the number of bytes that the function wrote, before they are parsed. */
  onOutput?: ((bytes: number) => void) | undefined;
}

/**
 * Runs one function, unless its output is cached, and reads what it returned.
 *
 * @throws {PipelineError} that names the step and its image
 */
export async function runStep(step: CompositionFunction, input: Uint8Array, context: StepContext): Promise<FunctionIO> {
  const { image } = step.container;
  const { signal, onPhase } = context;
  if (signal?.aborted) throw aborted(step, signal.reason);
  let stderr: string | undefined;
  const options: RunOptions = {
    ...runOptions(step),
    signal,
    onPhase: onPhase && ((phase: RunPhase, ms: number) => onPhase(step.name, phase, ms)),
    onStderr: (tail) => {
      stderr = tail;
    },
  };
  const run = async (): Promise<Uint8Array> => {
    const auth = await context.auth?.(step);
    return await context.runner.run(image, input, { ...options, auth });
  };
  let output: Uint8Array;
  try {
    output = await (context.cached === undefined ? run() : context.cached.get(run));
  } catch (cause) {
    throw signal?.aborted ? aborted(step, cause) : runFailed(step, cause, stderr);
  }
  context.onOutput?.(output.length);
  return await read(step, output, stderr, context);
}

/** A step's settings as run options. Settings that the author left out get the runner's defaults. */
function runOptions(step: CompositionFunction): RunOptions {
  const { timeoutMs, network, imagePullPolicy, resources } = step.container;
  const { memoryBytes, cpus } = resources.limits;
  return { step: step.name, network, timeoutMs, memoryBytes, cpus, pullPolicy: imagePullPolicy };
}

async function read(
  step: CompositionFunction,
  output: Uint8Array,
  stderr: string | undefined,
  { runner, signal }: StepContext,
): Promise<FunctionIO> {
  const limits = outputLimits(runner.maxOutputBytes ?? DEFAULT_OUTPUT_BYTES);
  try {
    return await readOutput(output, { source: `step "${step.name}"`, limits, signal });
  } catch (cause) {
    if (signal?.aborted) throw aborted(step, cause);
    if (!(cause instanceof FunctionIOError)) {
      const failure = readFailure(cause);
      if (failure === undefined) throw cause;
      const { code, problem, retryable } = failure;
      throw new PipelineError(code, `${title(step)}: ${problem}`, { ...details(step, cause, stderr), retryable });
    }
    const [code, problem] = outputProblem(cause);
    // Loggers print the messages of causes too.
    const shown = QUOTING.has(cause.code) ? undefined : cause;
    throw new PipelineError(code, `${title(step)}: ${problem}`, details(step, shown, stderr));
  }
}

function outputProblem(error: FunctionIOError): [code: PipelineErrorCode, problem: string] {
  switch (error.code) {
    case "Empty":
      return [
        "EmptyOutput",
        "it wrote nothing to stdout; a function must write the FunctionIO that it read, with its changes",
      ];
    case "MultipleDocuments":
      return ["MultipleDocuments", "it wrote more than one document to stdout; a function must write one FunctionIO"];
    case "TooLarge":
    case "TooManyValues":
      return ["InvalidOutput", `what it wrote to stdout ${error.issues[0]?.message ?? "is too large"}`];
    default: {
      const problems = error.issues.map((issue) => describeProblem(issue, QUOTING.get(error.code))).join("\n  ");
      return [
        "InvalidOutput",
        `what it wrote to stdout is not a FunctionIO (is it a log message? those belong on stderr):\n  ${problems}`,
      ];
    }
  }
}

/** Replacements for parser messages that quote the text, which can be a secret. */
const QUOTING: ReadonlyMap<string, string> = new Map([
  ["Syntax", "is neither JSON nor YAML"],
  ["UnsupportedTag", "has a YAML tag that JSON has no form for; quote a text that begins with an exclamation mark"],
]);

function describeProblem(issue: Issue, instead: string | undefined): string {
  const place = issue.line === undefined ? "" : `line ${issue.line}, column ${issue.column}`;
  return [place, issue.path, instead ?? issue.message].filter((part) => part !== "").join(": ");
}

/** The optional properties of a runner's error. */
interface RunnerFailure {
  code?: unknown;
  stderr?: unknown;
  retryable?: unknown;
  message?: unknown;
}

/** The fix in the Composition, by the runner's code. */
const ADVICE: ReadonlyMap<string, string> = new Map([
  ["PullFailed", "check the step's container.image and container.imagePullPolicy"],
  ["LimitUnavailable", "leave out the step's container.resources.limits, or run where they can be enforced"],
  ["Timeout", "raise the step's container.timeout (default 10s) if it needs longer"],
  ["OutOfMemory", "raise the step's container.resources.limits.memory if it needs more"],
]);

function runFailed(step: CompositionFunction, cause: unknown, stderr: string | undefined): PipelineError {
  const failure: RunnerFailure = typeof cause === "object" && cause !== null ? cause : { message: String(cause) };
  const reason =
    typeof failure.message === "string" && failure.message !== "" ? failure.message : "it could not be run";
  // Some runners name the step in their messages. Naming it twice would hide the reason.
  const named = reason.includes(step.name) && reason.includes(step.container.image);
  const advice = typeof failure.code === "string" ? ADVICE.get(failure.code) : undefined;
  const message = `${named ? reason : `${title(step)}: ${reason}`}${advice === undefined ? "" : `. In the Composition: ${advice}`}`;
  return new PipelineError("RunFailed", message, {
    ...details(step, cause, typeof failure.stderr === "string" ? failure.stderr : stderr),
    retryable: failure.retryable === true,
  });
}

function aborted(step: CompositionFunction, cause: unknown): PipelineError {
  return new PipelineError("Aborted", `${title(step)}: the run was ended by its caller`, {
    ...details(step, cause, undefined),
    retryable: true,
  });
}

/** A step's name and image, for the start of a message. */
export function title(step: CompositionFunction): string {
  return `step "${step.name}" (image ${step.container.image})`;
}

function details(
  step: CompositionFunction,
  cause: unknown,
  stderr: string | undefined,
): { step: string; image: string; cause: unknown; stderr: string | undefined } {
  return { step: step.name, image: step.container.image, cause, stderr };
}
