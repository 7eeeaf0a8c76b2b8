import type { JsonValue } from "@xfn/json";
import type { Random } from "../../sweep/random.ts";
import { child, list } from "../rule.ts";
import { parseLossless, type VectorCase } from "../vector-file.ts";
import { type Mutation, printLossless } from "./mutation.ts";

// Other names, in the input and in the outcome.

/** Names of templates, patch sets and functions. */
const entries: Mutation = {
  name: "other names of entries",
  files: ["functionio-merge", "patches"],
  apply: (vector, next) => {
    const owner = vector["composition"] === undefined ? vector : child(vector, "composition");
    const lists = ["resources", "patchSets", "functions"].flatMap((field) => list(owner[field]));
    return renamed(
      vector,
      lists.map(({ name }) => name),
      next,
    );
  },
};

/** The name of the XR, from which names of composed resources derive. */
const composite: Mutation = {
  name: "another name of the XR",
  files: ["functionio-merge", "patches"],
  apply: (vector, next) => {
    const xr = vector["xr"] === undefined ? list(child(vector, "server")["objects"])[0] : child(vector, "xr");
    return renamed(vector, [child(xr, "metadata")["name"]], next);
  },
};

/** Names of published connection details, and keys of Secrets. */
const details: Mutation = {
  name: "other names of connection details",
  files: ["connection-details"],
  apply: (vector, next) =>
    renamed(
      vector,
      list(vector["connectionDetails"]).flatMap(({ name, fromConnectionSecretKey }) => [name, fromConnectionSecretKey]),
      next,
    ),
};

/** Group and kinds of a definition. */
const kinds: Mutation = {
  name: "another group and other kinds",
  files: ["xrd-crd"],
  apply: (vector, next) => {
    const spec = child(child(vector, "xrd"), "spec");
    const names = [child(spec, "names"), child(spec, "claimNames")];
    return renamed(
      vector,
      [spec["group"], ...names.flatMap(({ kind, plural, singular, listKind }) => [kind, plural, singular, listKind])],
      next,
    );
  },
};

/** Mutations that rename. */
export const NAMES: readonly Mutation[] = [entries, composite, details, kinds];

const NAME = /^[A-Za-z][A-Za-z0-9.-]{2,40}$/;
/** Words that also are fields, types or values of the API. */
const RESERVED = new Set(
  "apiVersion kind metadata name namespace labels spec status data value type base resource resources composite string object array username password endpoint port policy default template function".split(
    " ",
  ),
);
/** Transforms and formats can make other texts of a name. */
const DERIVES = /"(?:transforms|combine|fmt)"/;

function renamed(vector: VectorCase, names: readonly (JsonValue | undefined)[], next: Random): VectorCase | undefined {
  const { name: title, group, ...rest } = vector;
  let text = printLossless(rest);
  if (DERIVES.test(text)) return undefined;
  const usable = names.filter((name): name is string => typeof name === "string" && NAME.test(name));
  const chosen = [...new Set(usable)].filter(
    // The letters at the end must not change the order of names.
    (name) => !RESERVED.has(name) && !usable.some((other) => other !== name && other.startsWith(name)),
  );
  if (chosen.length === 0) return undefined;
  for (const name of chosen) {
    const suffix = "xyz".charAt(Math.floor(next() * 3)).repeat(1 + Math.floor(next() * 3));
    const whole = new RegExp(`(?<![A-Za-z0-9])${RegExp.escape(name)}(?![A-Za-z0-9])`, "g");
    text = text.replaceAll(whole, `${name}${suffix}`);
  }
  return { ...(parseLossless(text) as VectorCase), name: title, group };
}
