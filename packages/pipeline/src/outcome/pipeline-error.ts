import { CodedError } from "@xfn/errors";

/** How a run fails without desired state. */
export type PipelineErrorCode =
  /** The XR is not an object that can be composed: it has no name or no kind. */
  | "InvalidComposite"
  /** An observed resource is ambiguous, or belongs to another owner. */
  | "InvalidObserved"
  /** The Composition is for another kind of XR. */
  | "CompositionMismatch"
  /** The Composition needs something that its caller lacks, such as connections to function packages. */
  | "Unsupported"
  /** The EnvironmentConfigs that the Composition selects are missing or invalid. */
  | "InvalidEnvironment"
  /**
   * A patch to the XR or to the environment failed, or would change the identity of the XR. Fix the patch that the
   * message names.
   */
  | "TemplatesFailed"
  /**
   * A function could not run, or failed; `cause` has the code of its call. The message has the step, the image and the
   * reason.
   */
  | "RunFailed"
  /** The function wrote nothing. It must write one FunctionIO to stdout. */
  | "EmptyOutput"
  /** The function wrote more than one document. It must write one FunctionIO to stdout, and all else to stderr. */
  | "MultipleDocuments"
  /** The output of the function is not a FunctionIO. Fix the function. */
  | "InvalidOutput"
  /**
   * The function desires an object that cannot exist, or with `schema: Strict` one that does not match the schema of
   * its kind. Fix the function; `xfn render` shows what it desires.
   */
  | "InvalidDesired"
  /**
   * The guard of a step (`when`) has no result: it reads an absent field, or costs too much. Test the field with
   * `has()`.
   */
  | "WhenFailed"
  /** A step took longer than its `timeout`. Raise it, or find what is slow with `xfn render --trace`. */
  | "Timeout"
  /** The caller aborted the run, such as at a shutdown. The next reconcile runs it again. */
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
 * A run without desired state. The message names the step, the image and the fix, and never contains a value of a
 * resource. The function's own output on stderr can contain values, so it is separate in `stderr`.
 */
export class PipelineError extends CodedError<PipelineErrorCode> {
  override readonly name = "PipelineError";
  /** The step that failed. */
  readonly step: string | undefined;
  /** The step's image. */
  readonly image: string | undefined;
  /** The end of the function's stderr, as far as the runner kept it. Escape it before printing. */
  readonly stderr: string | undefined;
  /** Whether the function cannot have started, so that the step can be tried again at once. */
  readonly undelivered: boolean;
  /** The pause that a runner without room asked for, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(code: PipelineErrorCode, message: string, details: PipelineErrorDetails = {}) {
    super(code, message, details);
    this.step = details.step;
    this.image = details.image;
    this.stderr = details.stderr === "" ? undefined : details.stderr;
    this.undelivered = details.undelivered ?? false;
    this.retryAfterMs = details.retryAfterMs;
  }
}
