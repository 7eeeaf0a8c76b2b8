import type { Combine } from "../api/template.ts";
import type { GoValue } from "../values/go-value.ts";
import { isObject } from "../values/json.ts";
import { compileFormat } from "./text/compile-format.ts";
import { failureOf } from "./text/transform-error.ts";

/**
 * Compiles a combine to a function that takes the values of the variables in order. The caller reads the variables.
 * Compiling does not throw. The function throws {@link TransformError}.
 */
export function compileCombine(combine: Combine): (inputs: readonly GoValue[]) => GoValue {
  const fail = failureOf(undefined, "combine");
  if (!isObject(combine)) return () => fail("Config", "it must be an object");
  if ((combine.strategy as string) !== "string") return () => fail("Config", "strategy must be string");
  if (!isObject(combine.string)) return () => fail("Config", "string is missing");
  const { fmt }: { fmt?: unknown } = combine.string;
  if (fmt === undefined || fmt === null) return compileFormat("", fail);
  if (typeof fmt !== "string") return () => fail("Config", "string.fmt must be a string");
  return compileFormat(fmt, fail);
}
