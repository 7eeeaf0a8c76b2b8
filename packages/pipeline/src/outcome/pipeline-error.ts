/**
 * - `InvalidComposite`: the XR is not an object that can be composed (no name, no kind)
 * - `InvalidObserved`: an observed resource is ambiguous, or belongs to another owner
 * - `CompositionMismatch`: the Composition is for another kind of XR
 * - `Unsupported`: the Composition needs what its caller does not have, such as connections to function packages
 * - `InvalidEnvironment`: the EnvironmentConfigs that the Composition selects are missing or invalid
 * - `TemplatesFailed`: a patch to the XR or to the environment failed, so nothing can be composed
 * - `RunFailed`: the runner could not run the function, or the function failed; `cause` has the runner's code
 * - `EmptyOutput`: the function wrote nothing
 * - `MultipleDocuments`: the function wrote more than one document
 * - `InvalidOutput`: the function's output is not a FunctionIO
 * - `InvalidDesired`: the function desires an object that cannot exist, or with `schema: Strict` one that does not
 *   match the schema of its kind
 * - `WhenFailed`: the guard of a step (`when`) has no result
 * - `Timeout`: a step took longer than its `timeout`
 * - `Aborted`: the caller aborted the run
 */
export type PipelineErrorCode =
  | "InvalidComposite"
  | "InvalidObserved"
  | "CompositionMismatch"
  | "Unsupported"
  | "InvalidEnvironment"
  | "TemplatesFailed"
  | "RunFailed"
  | "EmptyOutput"
  | "MultipleDocuments"
  | "InvalidOutput"
  | "InvalidDesired"
  | "WhenFailed"
  | "Timeout"
  | "Aborted";

/** Details of a failed run in addition to its code and message. */
export interface PipelineErrorDetails {
  step?: string | undefined;
  image?: string | undefined;
  stderr?: string | undefined;
  retryable?: boolean;
  undelivered?: boolean;
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/**
 * A run without desired state. The message names the step, the image and the way out, and never contains a value of a
 * resource. The function's own output on stderr can contain values, so it is separate in `stderr`.
 */
export class PipelineError extends Error {
  override readonly name = "PipelineError";
  readonly code: PipelineErrorCode;
  /** The step that failed. */
  readonly step: string | undefined;
  /** The step's image. */
  readonly image: string | undefined;
  /** The end of the function's stderr, as far as the runner kept it. Escape it before printing. */
  readonly stderr: string | undefined;
  /** Whether the same run can succeed later. */
  readonly retryable: boolean;
  /** Whether the function cannot have started, so that the step can be tried again at once. */
  readonly undelivered: boolean;
  /** The pause that a runner without room asked for, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(code: PipelineErrorCode, message: string, details: PipelineErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.step = details.step;
    this.image = details.image;
    this.stderr = details.stderr === "" ? undefined : details.stderr;
    this.retryable = details.retryable ?? false;
    this.undelivered = details.undelivered ?? false;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** The pause that the error of a call asks for, in milliseconds; undefined if it asks for none. */
export function retryAfterOf(error: unknown): number | undefined {
  const asked = typeof error === "object" && error !== null && "retryAfterMs" in error ? error.retryAfterMs : undefined;
  return typeof asked === "number" && asked >= 0 ? asked : undefined;
}
