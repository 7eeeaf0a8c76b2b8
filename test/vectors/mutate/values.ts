import { FieldPathError, parseFieldPath } from "@xfn/composition";
import type { JsonObject, JsonValue } from "@xfn/json";
import { shuffled } from "../../sweep/random.ts";
import { child, list } from "../rule.ts";
import type { VectorCase } from "../vector-file.ts";
import { inserted, isPlain, type Mutation, pick } from "./mutation.ts";

// Neighbours that change nothing.

/** The object one level deeper, with a longer path. */
const deeper: Mutation = {
  name: "one level deeper",
  files: ["fieldpath"],
  apply: (vector) => {
    const { op, path, object, output } = vector;
    const first = firstSegment(path);
    if (op === "parse" || first === undefined || !isPlain(object)) return undefined;
    const text = String(path);
    const separator = text.startsWith("[") ? "" : ".";
    const isObject = op === "set" || op === "delete" || op === "merge";
    const isPaths = op === "expandWildcards";
    return {
      ...vector,
      path: `outer${separator}${text}`,
      object: { outer: object },
      ...(isObject && output !== undefined && { output: { outer: output } }),
      ...(isPaths && Array.isArray(output) && { output: output.map((one) => below(String(one))) }),
    };
  },
};

function below(path: string): string {
  return path.startsWith("[") ? `outer${path}` : `outer.${path}`;
}

/** A field that no path names. */
const sibling: Mutation = {
  name: "an unrelated field",
  files: ["connection-details", "fieldpath", "readiness"],
  apply: (vector, next) => {
    const field = vector["object"] === undefined ? "resource" : "object";
    const object = vector[field];
    const used = [vector, ...list(vector["connectionDetails"]), ...list(vector["readinessChecks"])].flatMap((one) =>
      ["path", "fieldPath", "fromFieldPath"].flatMap((key) => one[key] ?? []),
    );
    const isNamed = used.every((path) => typeof firstSegment(path) === "string" && firstSegment(path) !== "*");
    if (!isPlain(object) || !isNamed || vector["op"] === "parse") return undefined;
    const unrelated = { unrelated: pick<JsonValue>([null, 1, "text", { a: [1, { b: null }] }, []], next) ?? null };
    const { op, output } = vector;
    const isChanged = (op === "set" || op === "delete" || op === "merge") && isPlain(output);
    return {
      ...vector,
      [field]: { ...unrelated, ...object },
      ...(isChanged && { output: { ...unrelated, ...output } }),
    };
  },
};

/** Returns undefined for no path, an invalid one and the empty one. */
function firstSegment(path: JsonValue | undefined): string | number | undefined {
  if (typeof path !== "string") return undefined;
  try {
    return parseFieldPath(path)[0];
  } catch (error) {
    if (error instanceof FieldPathError) return undefined;
    throw error;
  }
}

/** Transforms that return their input. */
const identity: Mutation = {
  name: "a transform without effect",
  files: ["transforms"],
  apply: (vector, next) => {
    if (vector["combine"] !== undefined) return undefined;
    const any = { type: "match", match: { patterns: [], fallbackTo: "Input" } };
    const transforms = list(vector["transforms"]);
    const type = child(vector, "input")["t"];
    const first = pick([any, ...(typeof type === "string" ? (IDENTITIES[type] ?? []) : [])], next) ?? any;
    // The type of the input is known, those between transforms are not.
    return { ...vector, transforms: next() < 0.5 ? [first, ...transforms] : inserted(transforms, any, next) };
  },
};

const IDENTITIES: Readonly<Record<string, JsonObject[]>> = {
  string: [
    { type: "convert", convert: { toType: "string" } },
    { type: "string", string: { type: "Format", fmt: "%s" } },
    { type: "string", string: { type: "Regexp", regexp: { match: "(?s)^.*$" } } },
  ],
  int64: [
    { type: "math", math: { type: "Multiply", multiply: 1 } },
    { type: "convert", convert: { toType: "int64" } },
    { type: "convert", convert: { toType: "int" } },
  ],
  float64: [{ type: "convert", convert: { toType: "float64" } }],
  bool: [{ type: "convert", convert: { toType: "bool" } }],
};

/** Checks in another order, and one that always passes. */
const checks: Mutation = {
  name: "readiness checks in another order, or one more",
  files: ["readiness"],
  apply: (vector, next) => {
    const all = list(vector["readinessChecks"]);
    if (all.length === 0) return undefined;
    // A check after the first that fails is not evaluated.
    if (vector["output"] === true && next() < 0.5) return { ...vector, readinessChecks: shuffled(all, next) };
    return { ...vector, readinessChecks: inserted(all, { type: "None" }, next) };
  },
};

/** Connection details of different names in another order. */
const detailOrder: Mutation = {
  name: "connection details in another order",
  files: ["connection-details"],
  apply: (vector, next) => {
    const details = list(vector["connectionDetails"]);
    const names = new Set(details.map(({ name, fromConnectionSecretKey }) => name ?? fromConnectionSecretKey));
    if (details.length < 2 || names.size < details.length || vector["output"] === undefined) return undefined;
    return { ...vector, connectionDetails: shuffled(details, next) };
  },
};

/** Another user and group in the image. */
const accounts: Mutation = {
  name: "another account in the image",
  files: ["image-spec"],
  apply: (vector) => {
    const files = child(vector, "files");
    const changed = Object.entries(files).map(([path, text]) => {
      const line = path.endsWith("passwd") ? "zz-other:x:49999:49999:o:/:/bin/sh" : "zz-other:x:49999:";
      return [path, `${String(text)}${/(?:^|\n)$/.test(String(text)) ? "" : "\n"}# other\n${line}\n`] as const;
    });
    return changed.length === 0 ? undefined : { ...vector, files: Object.fromEntries(changed) };
  },
};

/** Objects on the server in another order, after the XR. */
const objects: Mutation = {
  name: "objects in another order",
  files: ["functionio-merge"],
  apply: (vector, next): VectorCase | undefined => {
    const server = child(vector, "server");
    const [xr, ...others] = list(server["objects"]);
    if (xr === undefined || others.length < 2) return undefined;
    return { ...vector, server: { ...server, objects: [xr, ...shuffled(others, next)] } };
  },
};

/** Mutations of values and their neighbours. */
export const VALUES: readonly Mutation[] = [deeper, sibling, identity, checks, detailOrder, accounts, objects];
