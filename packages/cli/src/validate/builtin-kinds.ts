import { compileSchema } from "@xfn/composition/schema";
import { isObject, type JsonValue } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import { kindKey } from "./documents.ts";
import type { Extensions, KnownKind } from "./schemas.ts";

/** Bounds the search in a document: kinds stand in bases of templates, which have fewer levels. */
const MAX_DEPTH = 12;

/** Adds the schemas of Kubernetes' own kinds that documents have, or that their templates and inputs contain. */
export async function withBuiltinKinds(
  extensions: Extensions,
  documents: readonly ParsedDocument[],
): Promise<Extensions> {
  const wanted = new Map<string, readonly [apiVersion: string, kind: string]>();
  for (const { value } of documents) collect(value, extensions.kinds, wanted, 0);
  if (wanted.size === 0) return extensions;
  const { builtinSchema } = await import("@xfn/kubernetes/builtin-kinds");
  const kinds = new Map<string, KnownKind>(extensions.kinds);
  for (const [key, [apiVersion, kind]] of wanted) {
    const schema = await builtinSchema(apiVersion, kind);
    if (schema !== undefined) kinds.set(key, { schema: compileSchema(schema), composed: false });
  }
  return { ...extensions, kinds };
}

function collect(
  value: JsonValue | undefined,
  known: Extensions["kinds"],
  wanted: Map<string, readonly [string, string]>,
  depth: number,
): void {
  if (depth > MAX_DEPTH) return;
  if (Array.isArray(value)) {
    for (const item of value) collect(item, known, wanted, depth + 1);
    return;
  }
  if (value === undefined || !isObject(value)) return;
  const { apiVersion, kind } = value;
  if (typeof apiVersion === "string" && typeof kind === "string") {
    const key = kindKey(apiVersion, kind);
    if (!known.has(key)) wanted.set(key, [apiVersion, kind]);
  }
  for (const field of Object.values(value)) collect(field, known, wanted, depth + 1);
}
