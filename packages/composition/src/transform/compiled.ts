import type { GoValue } from "../go-value.ts";

/** A compiled transform. Throws a TransformError. */
export type CompiledTransform = (input: GoValue) => GoValue;
