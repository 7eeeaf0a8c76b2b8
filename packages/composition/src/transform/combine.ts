import type { Combine } from "../api/template.ts";
import type { GoValue } from "../values/go-value.ts";
import { isObject } from "../values/json.ts";
import { compileFormat } from "./text/compile-format.ts";
import { failureOf } from "./text/transform-error.ts";

/**
 * Compiles a combine: the function returned makes one value of those that its variables stand for, in order. The variables themselves are
 * the caller's part. Nothing is thrown here; the function throws {@link TransformError}.
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
