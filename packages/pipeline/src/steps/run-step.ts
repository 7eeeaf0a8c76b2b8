import { type FunctionIO, FunctionIOError, outputLimits } from "@xfn/functionio";
import type { Issue } from "@xfn/json";
import type { RunPhase } from "@xfn/runner-contract";
import type { CachedOutput } from "../cache/cached-output.ts";
import { PipelineError, type PipelineErrorCode } from "../outcome/pipeline-error.ts";
import { abortedStep, callFailure, problemLines, stepError, stepMessage } from "../outcome/step-error.ts";
import { readFailure } from "../output/read-failure.ts";
import type { ReadOutputOptions } from "../output/read-output.ts";
import type { CallOptions, FunctionCall, OutputWords } from "./function-call.ts";

/** Reads the output of a function. Each form of input and output is one module that makes such readers. */
export interface OutputReader {
  /** The kind of document that the function must return. */
  readonly kind: string;
  /** @throws {FunctionIOError} */
  read(output: Uint8Array, options: ReadOutputOptions): Promise<FunctionIO>;
}

/** The input of a function in the form that it takes, and the reader of its output. */
export interface Exchange {
  readonly input: Uint8Array;
  readonly reader: OutputReader;
}

/** The parameters of a step other than its input. */
export interface StepContext {
  readonly reader: OutputReader;
  signal?: AbortSignal | undefined;
  onPhase?: ((step: string, phase: RunPhase, ms: number) => void) | undefined;
  /** The output of an earlier run, which is used again. Absent: the function runs. */
  cached?: CachedOutput | undefined;
  /** Called with the number of bytes that the function returned, before they are parsed. */
  onOutput?: ((bytes: number) => void) | undefined;
}

/**
 * Runs one function, unless its output is cached, and reads its output.
 *
 * @throws {PipelineError} that names the step and its image
 */
export async function runStep(call: FunctionCall, input: Uint8Array, context: StepContext): Promise<FunctionIO> {
  const { signal, onPhase } = context;
  if (signal?.aborted) throw abortedStep(call, signal.reason);
  let stderr: string | undefined;
  const options: CallOptions = {
    signal,
    onPhase: onPhase && ((phase: RunPhase, ms: number) => onPhase(call.step, phase, ms)),
    onStderr: (tail) => {
      stderr = tail;
    },
  };
  const run = (): Promise<Uint8Array> => call.run(input, options);
  let output: Uint8Array;
  try {
    output = await (context.cached === undefined ? run() : context.cached.get(run));
  } catch (cause) {
    throw signal?.aborted ? abortedStep(call, cause) : runFailed(call, cause, stderr);
  }
  context.onOutput?.(output.length);
  return await read(call, output, stderr, context);
}

async function read(
  call: FunctionCall,
  output: Uint8Array,
  stderr: string | undefined,
  { reader, signal }: StepContext,
): Promise<FunctionIO> {
  const limits = outputLimits(call.maxOutputBytes);
  try {
    return await reader.read(output, { source: `step "${call.step}"`, limits, signal });
  } catch (cause) {
    if (signal?.aborted) throw abortedStep(call, cause);
    if (!(cause instanceof FunctionIOError)) {
      const failure = readFailure(cause);
      if (failure === undefined) throw cause;
      const { code, problem, retryable } = failure;
      throw stepError(call, code, problem, { cause, stderr, retryable });
    }
    const [code, problem] = outputProblem(cause, reader.kind, call.words);
    // Loggers print the messages of causes too.
    throw stepError(call, code, problem, { cause: QUOTING.has(cause.code) ? undefined : cause, stderr });
  }
}

function outputProblem(
  error: FunctionIOError,
  kind: string,
  { empty, several, output, hint }: OutputWords,
): [code: PipelineErrorCode, problem: string] {
  switch (error.code) {
    case "Empty":
      return ["EmptyOutput", `${empty}; a function must return the ${kind} that it read, with its changes`];
    case "MultipleDocuments":
      return ["MultipleDocuments", `${several}; a function must return one ${kind}`];
    case "TooLarge":
    case "TooManyValues":
      return ["InvalidOutput", `${output} ${error.issues[0]?.message ?? "is too large"}`];
    default: {
      const problems = error.issues.map((issue) => describeProblem(issue, QUOTING.get(error.code)));
      // A problem of a field shows that the text is more than a message.
      if (hint !== "" && error.issues[0]?.path === "") problems[0] += `; ${hint}`;
      return ["InvalidOutput", problemLines(`${output} is not a ${kind}`, problems)];
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

function runFailed(call: FunctionCall, cause: unknown, stderr: string | undefined): PipelineError {
  const { step, image } = call;
  const { code = "", message = "it could not be run", ...failure } = callFailure(cause);
  const advice = call.advice.get(code);
  const problem = stepMessage(call, withoutNames(message, call));
  return new PipelineError("RunFailed", advice === undefined ? problem : `${problem}. In the Composition: ${advice}`, {
    ...failure,
    step,
    image,
    cause,
    stderr: failure.stderr ?? stderr,
  });
}

/** Runners begin their messages with the function and the step. Naming them twice would hide the reason. */
function withoutNames(reason: string, { step, image }: FunctionCall): string {
  const names = `function ${image} (step ${step}): `;
  return reason.startsWith(names) ? reason.slice(names.length) : reason;
}
