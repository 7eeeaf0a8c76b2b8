import { Float64, float64, type GoValue } from "@xfn/composition";
import type { JsonObject, JsonValue } from "@xfn/json";
import fc, { type Arbitrary } from "fast-check";

/** Keys of known attacks, and ordinary ones. */
export const key: Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("a", "b", "name", "spec", "status", "metadata", "labels", "items", "kind") },
  { weight: 2, arbitrary: fc.constantFrom("__proto__", "constructor", "prototype", "toString", "hasOwnProperty") },
  {
    weight: 2,
    arbitrary: fc.constantFrom("*", "", "0", "-1", "a.b", "a[0]", "'x'", "length", "x-kubernetes-validations"),
  },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 12 }) },
);

/** Text: words, numbers in many forms, Unicode, bytes of invalid UTF-8, and long repetitions. */
export const text: Arbitrary<string> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      "",
      "a",
      "foo-bar",
      "true",
      "T",
      "42",
      "-0",
      "1e3",
      "0x1p-2",
      "1_000",
      "NaN",
      "5Ki",
      "500m",
    ),
  },
  { weight: 3, arbitrary: fc.string({ maxLength: 24 }) },
  { weight: 3, arbitrary: fc.string({ unit: "binary", maxLength: 12 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "\ud800",
      "\udc80\udcff",
      "\u0000",
      "ß\u0130ǅ",
      "<&>\u2028",
      '{"a":[1.0,2]}',
      "YWJj",
      "😀",
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        fc.constantFrom("a", "[", "(", "%d", "\\", "'", "a.", "[*]", "{", "- ", "é", "9"),
        fc.integer({ min: 1, max: 3000 }),
      )
      .map(([unit, count]) => unit.repeat(count)),
  },
);

/** Numbers of both Go types. */
export const number: Arbitrary<GoValue> = fc.oneof(
  fc.integer({ min: -10, max: 1100 }),
  fc.maxSafeInteger(),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((one): GoValue => canonical(one)),
  fc.double().map((one): GoValue => float64(one)),
  fc.constantFrom<GoValue>(
    2n ** 63n - 1n,
    -(2n ** 63n),
    0,
    1024,
    1025,
    float64(3),
    float64(-0),
    Number.NaN,
    1e300,
    Number.POSITIVE_INFINITY,
  ),
);

function canonical(value: bigint): number | bigint {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** Any value of a document. */
export const value: Arbitrary<GoValue> = fc.letrec<{ value: GoValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom<GoValue>(null, true, false),
    text,
    number,
    fc.array(tie("value"), { maxLength: 4 }) as Arbitrary<GoValue>,
    fc.array(fc.tuple(key, tie("value")), { maxLength: 4 }).map((entries): GoValue => objectOf(entries)),
  ),
})).value;

/** An object, sometimes without a prototype like those of our parsers. */
export const object: Arbitrary<JsonObject> = fc
  .tuple(fc.array(fc.tuple(key, value), { maxLength: 5 }), fc.boolean())
  .map(([entries, bare]) => objectOf(entries, bare));

function objectOf(entries: readonly (readonly [string, GoValue])[], bare = false): JsonObject {
  const made = (bare ? Object.create(null) : {}) as JsonObject;
  for (const [name, one] of entries) put(made, name, one as JsonValue);
  return made;
}

/** Sets any key. */
export function put(object: JsonObject, name: string, one: JsonValue): void {
  Object.defineProperty(object, name, { value: one, writable: true, enumerable: true, configurable: true });
}

/** Copies a value. Boxed numbers are immutable and shared. */
export function copy<T>(original: T): T {
  return copyAny(original) as T;
}

function copyAny(original: unknown): unknown {
  if (Array.isArray(original)) return original.map(copyAny);
  if (typeof original !== "object" || original === null || original instanceof Float64) return original;
  const made = Object.create(Object.getPrototypeOf(original)) as JsonObject;
  for (const [name, one] of Object.entries(original)) put(made, name, copyAny(one) as JsonValue);
  return made;
}
