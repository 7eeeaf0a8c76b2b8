import { CodedError } from "@xfn/errors";
/**
 * - `InvalidBase`: a base is not a Kubernetes object
 * - `InvalidPatch`: a patch lacks a field that its type needs, or refers to a patch set that does not exist
 * - `PatchFailed`: a patch could not read, transform or write its value
 * - `NoCompositeLabel`: the XR has no label `crossplane.io/composite`, from which composed resources take their names
 * - `KindChanged`: the kind of the base differs from that of the existing object
 * - `OtherController`: the base, or a patch, sets another controller
 * - `InvalidName`: a patch sets metadata.name to a value that is not a string
 * - `Unnamed`: a template has no name
 * - `TooLarge`: an object is nested too deep, or has too many values
 */
export type TemplateErrorCode =
  | "InvalidBase"
  | "InvalidPatch"
  | "PatchFailed"
  | "NoCompositeLabel"
  | "KindChanged"
  | "OtherController"
  | "InvalidName"
  | "Unnamed"
  | "TooLarge";

/** A template, or all of them, could not be rendered. The message names template, patch and path, never a value. */
export class TemplateError extends CodedError<TemplateErrorCode> {
  override readonly name = "TemplateError";
  /** The path of the patch or template, such as `spec.resources[0].patches[2]`. Absent for errors of the XR. */
  readonly source: string | undefined;

  constructor(code: TemplateErrorCode, source: string | undefined, message: string, options?: ErrorOptions) {
    super(code, source === undefined ? message : `${source}: ${message}`, options);
    this.source = source;
  }
}
