import type { Overload } from "../syntax/expression.ts";
import {
  BOOL,
  BYTES,
  CIDR,
  DOUBLE,
  DURATION,
  DYN,
  FORMAT,
  INT,
  IP,
  listOf,
  mapOf,
  NULL,
  optionalOf,
  param,
  QUANTITY,
  SEMVER,
  STRING,
  TIMESTAMP,
  type Type,
  typeOf,
  UINT,
  URL_TYPE,
} from "../values/type.ts";
import type { Value } from "../values/value.ts";

/** The functions by their names. */
export type Functions = ReadonlyMap<string, readonly Overload[]>;

/**
 * Declares a form of a function.
 *
 * @param signature - `string.(int) bool` for a call on a text, `(string, int) bool` for others. Single upper-case
 *   letters are type variables
 * @param id - the name of the form in tables of costs. Default: its name and signature
 */
export type Define = (name: string, signature: string, call: (...args: never[]) => Value, id?: string) => void;

const TYPES: ReadonlyMap<string, Type> = new Map([
  ["dyn", DYN],
  ["null", NULL],
  ["bool", BOOL],
  ["int", INT],
  ["uint", UINT],
  ["double", DOUBLE],
  ["string", STRING],
  ["bytes", BYTES],
  ["duration", DURATION],
  ["timestamp", TIMESTAMP],
  ["IP", IP],
  ["CIDR", CIDR],
  ["URL", URL_TYPE],
  ["Quantity", QUANTITY],
  ["Semver", SEMVER],
  ["Format", FORMAT],
]);

/** Creates a table of functions from libraries. */
export function functionsOf(libraries: readonly ((define: Define) => void)[]): Functions {
  const functions = new Map<string, Overload[]>();
  const define: Define = (name, signature, call, id = `${name} ${signature}`) => {
    const overloads = functions.get(name) ?? [];
    overloads.push({ id, name, call, ...read(signature) });
    functions.set(name, overloads);
  };
  for (const library of libraries) library(define);
  return functions;
}

type Signature = Pick<Overload, "isMember" | "params" | "result" | "variables">;

/** Many functions have the same signature. */
const signatures = new Map<string, Signature>();

function read(signature: string): Signature {
  const known = signatures.get(signature);
  if (known !== undefined) return known;
  const [, receiver, inner = "", result = ""] = /^(?:(.+)\.)?\((.*)\) (.+)$/.exec(signature) ?? [];
  const variables = new Set<string>();
  const types = inner === "" ? [] : splitTypes(inner);
  const read: Signature = {
    isMember: receiver !== undefined,
    params: [...(receiver === undefined ? [] : [receiver]), ...types].map((text) => typeFrom(text, variables)),
    result: typeFrom(result, variables),
    variables: [...variables],
  };
  signatures.set(signature, read);
  return read;
}

/** Splits at commas outside of angle brackets. */
function splitTypes(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (const [at, character] of [...text].entries()) {
    if (character === "<") depth++;
    else if (character === ">") depth--;
    else if (character === "," && depth === 0) {
      parts.push(text.slice(from, at).trim());
      from = at + 1;
    }
  }
  return [...parts, text.slice(from).trim()];
}

function typeFrom(text: string, variables: Set<string>): Type {
  const [, name = text, inner] = /^([a-z]+)<(.*)>$/.exec(text) ?? [];
  const [first = DYN, second = DYN] =
    inner === undefined ? [] : splitTypes(inner).map((part) => typeFrom(part, variables));
  switch (name) {
    case "list":
      return listOf(first);
    case "map":
      return mapOf(first, second);
    case "optional":
      return optionalOf(first);
    case "type":
      return typeOf(first);
    default: {
      const known = TYPES.get(name);
      if (known !== undefined) return known;
      variables.add(name);
      return param(name);
    }
  }
}
