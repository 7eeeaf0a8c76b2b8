import type { Transform } from "../api/template.ts";
import { isObject } from "../values/json.ts";
import type { CompiledTransform } from "./compiled.ts";
import { compileConvert } from "./convert.ts";
import { compileMap } from "./map.ts";
import { compileMatch } from "./match.ts";
import { compileMath } from "./math.ts";
import { compileString } from "./string.ts";
import { type Fail, failureOf } from "./text/transform-error.ts";

/**
 * Compiles a patch's transforms to one function. Compiling does not throw: as in Crossplane, a wrong transform fails
 * only when a run reaches it.
 *
 * The function throws {@link TransformError}, and does not change its input. Results from the Composition (map, match)
 * are frozen, and the same objects in every run.
 */
export function compileTransforms(transforms: readonly Transform[] | undefined): CompiledTransform {
  if (transforms === undefined || transforms === null) return (input) => input;
  if (!Array.isArray(transforms)) return () => failureOf(undefined, "transforms")("Config", "must be a list");
  const steps = transforms.map(compileTransform);
  const [first, second] = steps;
  if (first === undefined) return (input) => input;
  if (second === undefined) return first;
  if (steps.length === 2) return (input) => second(first(input));
  return (input) => {
    let value = input;
    for (const step of steps) value = step(value);
    return value;
  };
}

const TYPES: ReadonlySet<string> = new Set(["map", "match", "math", "string", "convert"]);

function compileTransform(transform: Transform, index: number): CompiledTransform {
  if (!isObject(transform)) return () => failureOf(index, "unknown")("Config", "must be an object");
  const { type } = transform;
  const fail = failureOf(index, TYPES.has(type) ? type : "unknown type");
  switch (type) {
    case "map":
      return transform.map === undefined || transform.map === null
        ? missing("map", fail)
        : compileMap(transform.map, fail);
    case "match":
      return isObject(transform.match) ? compileMatch(transform.match, fail) : missing("match", fail);
    case "math":
      return isObject(transform.math) ? compileMath(transform.math, fail) : missing("math", fail);
    case "string":
      return isObject(transform.string) ? compileString(transform.string, fail) : missing("string", fail);
    case "convert":
      return isObject(transform.convert) ? compileConvert(transform.convert, fail) : missing("convert", fail);
    default:
      return () => fail("Config", "type must be map, match, math, string or convert");
  }
}

function missing(field: string, fail: Fail): CompiledTransform {
  return () => fail("Config", `the field ${field} is missing`);
}
