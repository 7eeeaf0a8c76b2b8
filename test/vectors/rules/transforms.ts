import { float64 } from "@xfn/composition";
import { isObject, type JsonObject } from "@xfn/json";
import { patches } from "../adapters/patches.ts";
import { transforms } from "../adapters/transforms.ts";
import { attempt, child, list, type Rule } from "../rule.ts";
import { toTyped } from "../typed-value.ts";
import { type Expected, parseLossless, type VectorCase } from "../vector-file.ts";

/** `string: {fmt: ...}` without a type, and a pattern without one. */
export const defaultTypes: Rule = {
  name: "transform-default-types",
  file: "transforms",
  reason:
    "A string transform without a type is a Format, a pattern without one a literal. In the reference an API server fills in these defaults.",
  applies: (vector) => list(vector["transforms"]).some((one) => withDefaults(one) !== one),
  outcome: (vector) =>
    attempt(() => transforms.run({ ...vector, transforms: list(vector["transforms"]).map(withDefaults) })),
};

/** The same in patches. */
export const defaultTypesOfPatches: Rule = {
  name: "patch-transform-default-types",
  file: "patches",
  reason: defaultTypes.reason,
  applies: (vector) => typed(vector) !== vector,
  outcome: (vector) => attempt(() => patches.run(typed(vector))),
};

/** The case with the types that are left out; the same one if none is. */
function typed(vector: VectorCase): VectorCase {
  let isChanged = false;
  const patchesOf = (owner: JsonObject): JsonObject => ({
    ...owner,
    patches: list(owner["patches"]).map((patch) => {
      if (patch["transforms"] === undefined) return patch;
      const transforms = list(patch["transforms"]).map((one) => {
        const complete = withDefaults(one);
        isChanged ||= complete !== one;
        return complete;
      });
      return { ...patch, transforms };
    }),
  });
  const { resources, patchSets, environmentPatches } = vector;
  const complete = {
    ...vector,
    resources: list(resources).map(patchesOf),
    ...(patchSets !== undefined && { patchSets: list(patchSets).map(patchesOf) }),
    ...(environmentPatches !== undefined && {
      environmentPatches: patchesOf({ patches: environmentPatches })["patches"] ?? null,
    }),
  };
  return isChanged ? complete : vector;
}

function withDefaults(transform: JsonObject): JsonObject {
  const { string, match } = transform;
  if (transform["type"] === "string" && isObject(string) && string["type"] === undefined) {
    return { ...transform, string: { ...string, type: "Format" } };
  }
  const patterns = list(child(transform, "match")["patterns"]);
  if (transform["type"] === "match" && patterns.some((one) => one["type"] === undefined)) {
    return {
      ...transform,
      match: { ...(match as JsonObject), patterns: patterns.map((one) => ({ type: "literal", ...one })) },
    };
  }
  return transform;
}

/** Conversions of later versions. */
export const convertJson: Rule = {
  name: "convert-json",
  file: "transforms",
  reason: "A string converts to an object or a list with format json, as in later versions.",
  applies: (vector) => list(vector["transforms"]).some(convertsJson),
  outcome: (vector) => step(vector, convertsJson, (transform, input) => converted(transform, input)),
};

/** Whether v1.13 lacks a conversion. */
export function convertsJson(transform: JsonObject): boolean {
  if (transform["type"] !== "convert") return false;
  const { toType, format } = child(transform, "convert");
  return toType === "object" || toType === "array" || format === "json";
}

function converted(transform: JsonObject, input: JsonObject): Expected {
  const { toType, format } = child(transform, "convert");
  const { t, v } = input;
  if (t === "null" || t === "object" || t === "array") return { error: "only scalars can be converted" };
  if (toType === t || (toType === "int" && t === "int64")) return { output: input };
  if (format !== "json" || t !== "string") return { error: `no conversion from ${String(t)} to ${String(toType)}` };
  let value: unknown;
  try {
    value = parseLossless(String(v));
  } catch {
    return { error: "not JSON" };
  }
  const kind = Array.isArray(value) ? "array" : isObject(value) ? "object" : "other";
  if (value !== null && kind !== toType) return { error: `JSON of another type than ${String(toType)}` };
  return { output: floats(toTyped(value as JsonObject)) };
}

/** Go parses numbers of untyped JSON as float64. */
function floats(typed: unknown): unknown {
  if (!isObject(typed)) return typed;
  if (typed["t"] === "int64") return toTyped(float64(Number(typed["v"])));
  if (Array.isArray(typed["v"])) return { ...typed, v: typed["v"].map(floats) };
  if (!isObject(typed["v"])) return typed;
  return { ...typed, v: Object.fromEntries(Object.entries(typed["v"]).map(([key, one]) => [key, floats(one)])) };
}

/** A string transform of later versions. */
export const stringJoin: Rule = {
  name: "string-join",
  file: "transforms",
  reason: "The string transform Join joins the items of a list with a separator, as in later versions.",
  applies: (vector) => list(vector["transforms"]).some(joins),
  outcome: (vector) => step(vector, joins, joined),
};

/** Whether a transform is a Join, which v1.13 does not have. */
export function joins(transform: JsonObject): boolean {
  return transform["type"] === "string" && child(transform, "string")["type"] === "Join";
}

function joined(transform: JsonObject, input: JsonObject): Expected {
  const { join } = child(transform, "string");
  if (!isObject(join)) return { error: "join is missing" };
  if (input["t"] !== "array" || !Array.isArray(input["v"])) return { error: "the input is not a list" };
  // Each item is printed as %v prints it.
  const format = [{ type: "string", string: { type: "Format", fmt: "%v" } }];
  const items = input["v"].map((item) => {
    const printed = transforms.run({ name: "", group: "", transforms: format, input: item });
    return String(isObject(printed) ? printed["v"] : "");
  });
  return { output: { t: "string", v: items.join(String(join["separator"] ?? "")) } };
}

/** Runs the transforms one by one. Other vectors compare those of v1.13 with the reference. */
function step(
  vector: VectorCase,
  isNew: (transform: JsonObject) => boolean,
  run: (transform: JsonObject, input: JsonObject) => Expected,
): Expected {
  let input = vector["input"] as JsonObject;
  for (const transform of list(vector["transforms"])) {
    const expected = isNew(transform)
      ? run(transform, input)
      : attempt(() => transforms.run({ ...vector, transforms: [transform], input }));
    if ("error" in expected) return expected;
    input = expected.output as JsonObject;
  }
  return { output: input };
}
