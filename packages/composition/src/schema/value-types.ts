import { type JsonValue, objectAt } from "@xfn/json";
import { compileFormat } from "../transform/text/compile-format.ts";
import type { GoValue } from "../values/go-value.ts";
import { isObject } from "../values/json.ts";

/** The type of a value that a patch reads in every run; undefined if it is unknown, or depends on the run. */
export type ValueType = "string" | "integer" | "number" | "boolean" | undefined;

/** Values of each type. */
const SAMPLES: Readonly<Record<NonNullable<ValueType>, readonly GoValue[]>> = {
  string: ["text"],
  integer: [1],
  // A field of type number can hold an integer too.
  number: [1.5, 1],
  boolean: [true],
};

const CONVERTED: Readonly<Record<string, ValueType>> = {
  string: "string",
  int: "integer",
  int64: "integer",
  bool: "boolean",
  float64: "number",
};

/** Go's report of a verb that does not fit, such as `%!s(int64=3)`. */
const WRONG_VERB = /%!(.)\([a-z0-9]+=/;

/** The schema type of a field as a value type. */
export function valueTypeOf(type: string): ValueType {
  return type === "string" || type === "integer" || type === "number" || type === "boolean" ? type : undefined;
}

/** Follows the type of a value through the transforms of a patch. */
export function transformedType(
  start: ValueType,
  transforms: readonly JsonValue[],
  onWrongFormat: (index: number, problem: string) => void,
): ValueType {
  let type = start;
  for (const [index, transform] of transforms.entries()) {
    const kind = isObject(transform) ? transform["type"] : undefined;
    if (!isObject(transform) || typeof kind !== "string") return undefined;
    if (kind === "string") {
      const string = objectAt(transform, "string");
      const isFormat = (string["type"] ?? "Format") === "Format";
      const problem = isFormat ? formatProblem(string["fmt"], [type]) : undefined;
      if (problem !== undefined) onWrongFormat(index, problem);
      type = "string";
    } else if (kind === "convert") type = converted(objectAt(transform, "convert")["toType"]);
    else if (kind !== "math") type = undefined;
  }
  return type;
}

function converted(type: JsonValue | undefined): ValueType {
  return typeof type === "string" ? CONVERTED[type] : undefined;
}

/** Why a format cannot print values of these types; undefined if it can, or if a type is unknown. */
export function formatProblem(fmt: JsonValue | undefined, types: readonly ValueType[]): string | undefined {
  if (typeof fmt !== "string" || types.length === 0) return undefined;
  const known = types.filter((type) => type !== undefined);
  if (known.length < types.length) return undefined;
  let format: (inputs: readonly GoValue[]) => GoValue;
  try {
    format = compileFormat(fmt, stop);
    const verbs = [0, 1].map((index) => {
      const inputs = known.map((type): GoValue => SAMPLES[type][index] ?? SAMPLES[type][0] ?? null);
      const text = format(inputs);
      return typeof text === "string" ? WRONG_VERB.exec(text)?.[1] : undefined;
    });
    const [verb, other] = verbs;
    if (verb === undefined || other === undefined) return undefined;
    return `%${verb} does not print ${[...new Set(known.map((type) => NAMES[type]))].join(" or ")}; use %v`;
  } catch (error) {
    // Another problem of the format, which a run reports.
    if (error === STOP) return undefined;
    throw error;
  }
}

const NAMES: Readonly<Record<NonNullable<ValueType>, string>> = {
  string: "a string",
  integer: "an integer",
  number: "a number",
  boolean: "a boolean",
};

const STOP = new Error("the format cannot be used");

function stop(): never {
  throw STOP;
}
