import { someOf } from "@xfn/errors";
import type { JsonValue } from "@xfn/json";
import type { GoValue } from "../values/go-value.ts";
import { isObject, kindOf } from "../values/json.ts";
import type { CompiledTransform } from "./compiled.ts";
import { asFloats } from "./json-values.ts";
import type { Fail } from "./text/transform-error.ts";

/** A message names this many keys of a map, and this many characters of each. */
const MAX_NAMED = 10;
const MAX_LENGTH = 64;

/** Looks up the input as a key. */
export function compileMap(map: { readonly [key: string]: JsonValue }, fail: Fail): CompiledTransform {
  if (!isObject(map)) return () => fail("Config", "map must be an object");
  const values = new Map<string, GoValue>();
  let tooDeep: (() => never) | undefined;
  for (const key of Object.keys(map)) {
    values.set(
      key.toWellFormed(),
      asFloats(map[key] ?? null, (code, reason) => {
        tooDeep = () => fail(code, reason);
        return undefined as never;
      }),
    );
  }
  const keys = values.size === 0 ? ["none"] : [...values.keys()].map((key) => JSON.stringify(key.slice(0, MAX_LENGTH)));
  return (input) => {
    if (typeof input !== "string") return fail("Input", `the input must be a string, not ${kindOf(input)}`);
    if (tooDeep !== undefined) return tooDeep();
    const value = values.get(input);
    if (value === undefined) return fail("Input", `the map has no such key; it has ${someOf(keys, MAX_NAMED)}`, input);
    // In Go a null is not raw JSON.
    if (value === null) return fail("Config", "the map's value for this key is null");
    return value;
  };
}
