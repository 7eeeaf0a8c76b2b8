import type { GoValue } from "../values/go-value.ts";

/** A compiled transform. Throws a TransformError. */
export type CompiledTransform = (input: GoValue) => GoValue;
