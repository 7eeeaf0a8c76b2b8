import type { GoValue } from "../go-value.ts";
import type { Combine, Transform } from "../template.ts";
import { TemplateError } from "./template-error.ts";

/** Stands in until the transforms are in. */
export function compileTransforms(_transforms: readonly Transform[]): (input: GoValue) => GoValue {
  return () => {
    throw new TemplateError("PatchFailed", undefined, "transforms are not there yet");
  };
}

/** Stands in until the transforms are in. */
export function compileCombine(_combine: Combine): (inputs: readonly GoValue[]) => GoValue {
  return () => {
    throw new TemplateError("PatchFailed", undefined, "combine is not there yet");
  };
}
