/** Why there is no revision to compose a composite resource with. */
export type SelectionErrorCode =
  /** The composite names no composition, and none is for its kind and has the labels it asks for. */
  | "NoComposition"
  /** It names a composition that is not there. */
  | "CompositionNotFound"
  /** It names a composition or revision that is for another kind. */
  | "Incompatible"
  /** The composition has no revision yet, or none with the labels that the composite asks for. */
  | "NoRevision"
  /** It names a revision that is not there. */
  | "RevisionNotFound"
  /** The composition, or the revision, has errors: the message names the fields. */
  | "InvalidComposition";

/**
 * A composite resource for which no revision can be selected. The message says what to do. Trying again helps only when
 * something has changed; what can mend it is watched.
 */
export class SelectionError extends Error {
  override readonly name = "SelectionError";
  readonly code: SelectionErrorCode;

  constructor(code: SelectionErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
