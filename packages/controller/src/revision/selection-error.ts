import { CodedError } from "@xfn/errors";
/** Why no revision can be selected for a composite resource. */
export type SelectionErrorCode =
  /**
   * The XR names no Composition, and none has its kind and the labels that it selects. Create one, or name one in
   * `spec.compositionRef`.
   */
  | "NoComposition"
  /** The Composition that it names does not exist. Create it, or name another one. */
  | "CompositionNotFound"
  /**
   * The Composition or revision that it names is for another kind or version, or the revision is of another
   * Composition. Name another one.
   */
  | "Incompatible"
  /**
   * The Composition has no revision yet, or none with the labels that the XR selects. Wait a moment, and compare the
   * labels.
   */
  | "NoRevision"
  /** The revision that it names does not exist. Name another one. */
  | "RevisionNotFound"
  /**
   * The Composition or the revision has errors. Fix the fields that the message names; `xfn validate` finds them too.
   */
  | "InvalidComposition";

/** Details of a failed selection. */
export interface SelectionErrorOptions extends ErrorOptions {
  /** Whether the controller itself is about to fix it, as for an XR that was applied together with its Composition. */
  readonly isAwaited?: boolean;
}

/** A composite resource for which no revision can be selected. The controller watches what can fix it. */
export class SelectionError extends CodedError<SelectionErrorCode> {
  override readonly name = "SelectionError";
  /** Whether the same selection may succeed later: the revision of a new Composition follows within moments. */
  override readonly retryable: boolean = this.code === "NoRevision";
  /** Whether the XR only waits for the controller, which reconciles it again when the wait ends. */
  readonly isAwaited: boolean;

  constructor(
    code: SelectionErrorCode,
    message: string,
    { isAwaited = false, ...options }: SelectionErrorOptions = {},
  ) {
    super(code, message, options);
    this.isAwaited = isAwaited;
  }
}
