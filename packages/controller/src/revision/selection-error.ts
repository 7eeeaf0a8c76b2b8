/** Why no revision can be selected for a composite resource. */
export type SelectionErrorCode =
  /** The composite names no Composition, and none has its kind and the labels that it selects. */
  | "NoComposition"
  /** The Composition that it names does not exist. */
  | "CompositionNotFound"
  /** The Composition or revision that it names is for another kind. */
  | "Incompatible"
  /** The Composition has no revision yet, or none with the labels that the composite selects. */
  | "NoRevision"
  /** The revision that it names does not exist. */
  | "RevisionNotFound"
  /** The Composition or the revision has errors; the message names the fields. */
  | "InvalidComposition";

/** Details of a failed selection. */
export interface SelectionErrorOptions extends ErrorOptions {
  /** Whether the controller itself is about to fix it, as for an XR that was applied together with its Composition. */
  readonly isAwaited?: boolean;
}

/** A composite resource for which no revision can be selected. The controller watches what can fix it. */
export class SelectionError extends Error {
  override readonly name = "SelectionError";
  readonly code: SelectionErrorCode;
  /** Whether the XR only waits for the controller, which reconciles it again when the wait ends. */
  readonly isAwaited: boolean;

  constructor(
    code: SelectionErrorCode,
    message: string,
    { isAwaited = false, ...options }: SelectionErrorOptions = {},
  ) {
    super(message, options);
    this.code = code;
    this.isAwaited = isAwaited;
  }

  /** Whether the same selection may succeed later: the revision of a new Composition follows within moments. */
  get retryable(): boolean {
    return this.code === "NoRevision";
  }
}
