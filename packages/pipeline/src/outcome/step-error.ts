import { isUndelivered } from "@xfn/runner-contract";
import { PipelineError, type PipelineErrorCode, type PipelineErrorDetails } from "./pipeline-error.ts";

/** A step in errors. */
export interface FailedStep {
  /** The name of the step. */
  readonly step: string;
  /** The image, the URL or the Function that it calls. */
  readonly image?: string | undefined;
  /** The function in messages, such as `image ghcr.io/acme/f:v1`. */
  readonly called?: string | undefined;
}

/**
 * A message about a step: its name, the problem, then the function that it calls. The names of images are long, and
 * lists of events and conditions show some 200 characters of the first line, which must have the cause.
 *
 * @param problem the first line has the cause
 */
export function stepMessage({ step, called }: FailedStep, problem: string): string {
  const [cause = "", ...more] = problem.split("\n");
  return [`step "${step}": ${cause}${called === undefined ? "" : ` (${called})`}`, ...more].join("\n");
}

/** An error of a step, with {@link stepMessage}. */
export function stepError(
  failed: FailedStep,
  code: PipelineErrorCode,
  problem: string,
  details: PipelineErrorDetails = {},
): PipelineError {
  const { step, image } = failed;
  return new PipelineError(code, stepMessage(failed, problem), { step, image, ...details });
}

/** An error of a step whose run its caller has ended. */
export function abortedStep(step: FailedStep, cause: unknown): PipelineError {
  return stepError(step, "Aborted", "the run was ended by its caller", { cause, retryable: true });
}

/** The properties of the error of a call, as far as it has them. */
export interface CallFailure {
  readonly code?: string | undefined;
  readonly message?: string | undefined;
  readonly stderr?: string | undefined;
  readonly retryable: boolean;
  /** Whether the function cannot have received anything. */
  readonly undelivered: boolean;
  readonly retryAfterMs?: number | undefined;
}

/** Reads an error of a call, whose class depends on the type of the function. */
export function callFailure(error: unknown): CallFailure {
  if (typeof error !== "object" || error === null)
    return { message: String(error) || undefined, retryable: false, undelivered: false };
  const { code, message, stderr, retryable, retryAfterMs } = error as Readonly<Record<string, unknown>>;
  const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
  return {
    code: textOf(code),
    message: textOf(message) || undefined,
    stderr: textOf(stderr),
    retryable: retryable === true,
    undelivered: isUndelivered(error),
    retryAfterMs: typeof retryAfterMs === "number" && retryAfterMs >= 0 ? retryAfterMs : undefined,
  };
}

/** Problems as the lines of a message. The first is in its first line. */
export function problemLines(summary: string, problems: readonly string[]): string {
  return `${summary}: ${problems.join("\n  ")}`;
}
