/**
 * - `InvalidBase`: a base is no Kubernetes object
 * - `InvalidPatch`: a patch lacks a field that its type needs, or names what does not exist
 * - `PatchFailed`: a patch could not read, transform or write its value
 * - `NoCompositeLabel`: the XR has no `crossplane.io/composite` label, so that nothing can be named after it
 * - `KindChanged`: the base is of another kind than the object that exists
 * - `OtherController`: the base, or a patch, says that another object controls this one
 * - `Unnamed`: a template has no name
 * - `TooLarge`: an object is nested deeper, or consists of more values, than can be composed
 */
export type TemplateErrorCode =
  | "InvalidBase"
  | "InvalidPatch"
  | "PatchFailed"
  | "NoCompositeLabel"
  | "KindChanged"
  | "OtherController"
  | "Unnamed"
  | "TooLarge";

/** Why a template, or all of them, could not be rendered. The message names template, patch and path, never a value. */
export class TemplateError extends Error {
  override readonly name = "TemplateError";
  readonly code: TemplateErrorCode;
  /** The patch or template as the author wrote it, such as `spec.resources[0].patches[2]`. Absent: it is about the XR. */
  readonly source: string | undefined;
  /** The same XR, Composition and observed resources fail again. */
  readonly retryable = false;

  constructor(code: TemplateErrorCode, source: string | undefined, message: string, options?: ErrorOptions) {
    super(source === undefined ? message : `${source}: ${message}`, options);
    this.code = code;
    this.source = source;
  }
}
