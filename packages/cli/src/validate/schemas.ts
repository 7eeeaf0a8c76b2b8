import type { Finding } from "@xfn/composition";
import { checkDefinition, claimCrd, compositeCrd, type Definition, DefinitionError } from "@xfn/composition/definition";
import { checkSchema, compileSchema, type Schema, SchemaError } from "@xfn/composition/schema";
import { isObject, type JsonObject, type JsonPath, type JsonValue } from "@xfn/functionio";
import type { ParsedDocument } from "@xfn/functionio/document";
import { isKind, kindKey, placeOf, resultOf, textAt } from "./documents.ts";
import type { ResourceResult } from "./result.ts";

/** A kind that resources can be checked against. */
export interface KnownKind {
  readonly schema: Schema;
  /** Whether its objects are composite resources or claims, whose names end up in labels. */
  readonly composed: boolean;
}

/** What the extensions say about resources. */
export interface Extensions {
  /** By {@link kindKey}. */
  readonly kinds: ReadonlyMap<string, KnownKind>;
  /** The definitions among them, for the connection keys of compositions. */
  readonly definitions: readonly Definition[];
  /** Extensions with something wrong about them. */
  readonly results: readonly ResourceResult[];
}

/** Reads definitions and CRDs; what else there is (packages, functions) is no schema and passed over. */
export function readExtensions(documents: readonly ParsedDocument[]): Extensions {
  const kinds = new Map<string, KnownKind>();
  const definitions: Definition[] = [];
  const results: ResourceResult[] = [];
  const add = (key: string, kind: KnownKind): void => {
    // A definition and the CRD that was made of it are often given together; the first one counts.
    if (!kinds.has(key)) kinds.set(key, kind);
  };
  for (const document of documents) {
    const { value } = document;
    if (isKind(value, "apiextensions.crossplane.io", "CompositeResourceDefinition")) {
      const { definition, findings } = checkDefinitionFully(document);
      if (definition !== undefined) definitions.push(definition);
      if (findings.length > 0) results.push(resultOf(document, findings));
      for (const [key, schema] of schemasOfDefinition(value)) add(key, { schema, composed: true });
    } else if (isKind(value, "apiextensions.k8s.io", "CustomResourceDefinition")) {
      const { schemas, findings } = schemasOfCrd(document, value);
      if (findings.length > 0) results.push(resultOf(document, findings));
      for (const [key, schema] of schemas) add(key, { schema, composed: false });
    }
  }
  return { kinds, definitions, results };
}

/** All that is wrong with a definition, also with the CEL rules in its schemas. */
export function checkDefinitionFully(document: ParsedDocument): {
  definition?: Definition;
  findings: readonly Finding[];
} {
  const { definition, findings } = checkDefinition(document);
  if (definition === undefined) return { findings };
  // Composite resources and claims have different fields, which rules may read.
  const rules = [compositeCrd, claimCrd].flatMap((make, index) => {
    if (index === 1 && definition.spec.claimNames === undefined) return [];
    return crdVersions(make(document.value as JsonObject)).flatMap(({ schema, path }) =>
      findingsOf(document, () => void compileSchema(schema, path)),
    );
  });
  const different = rules.filter(
    (rule, index) => rules.findIndex(({ path, message }) => path === rule.path && message === rule.message) === index,
  );
  return different.length === 0 ? { definition, findings } : { findings: [...findings, ...different] };
}

/** The schemas of a definition, as far as there are any: one with errors still tells much about its resources. */
function* schemasOfDefinition(xrd: JsonObject): Iterable<[string, Schema]> {
  for (const make of [compositeCrd, claimCrd]) {
    try {
      yield* crdVersions(make(xrd)).map(({ key, schema, path }): [string, Schema] => [
        key,
        compileSchema(schema, path),
      ]);
    } catch (error) {
      // Without claimNames there is no claim; what is wrong with the schema was reported with the definition.
      if (!(error instanceof DefinitionError || error instanceof SchemaError)) throw error;
    }
  }
}

function schemasOfCrd(
  document: ParsedDocument,
  crd: JsonObject,
): { schemas: readonly (readonly [string, Schema])[]; findings: readonly Finding[] } {
  const findings: Finding[] = [];
  const schemas: [string, Schema][] = [];
  for (const { key, schema, path } of crdVersions(crd)) {
    findings.push(
      ...findingsOf(document, () => {
        schemas.push([key, compileSchema(schema, path)]);
        checkSchema(schema, path);
      }),
    );
  }
  return { schemas, findings };
}

/** Runs something that may find a schema wrong, and gives what it found. */
function findingsOf(document: ParsedDocument, check: () => void): Finding[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    return error.issues.map(({ path, at, message }) => {
      const { line, column } = placeOf(document, at);
      const place = line === undefined || column === undefined ? {} : { line, column };
      return { severity: "error", code: "Invalid", path, message, ...place };
    });
  }
}

interface CrdVersion {
  readonly key: string;
  readonly schema: JsonObject;
  readonly path: JsonPath;
}

/** The versions of a CRD that have a schema, in v1's form and in that of v1beta1 (one schema for all versions). */
function crdVersions(crd: JsonObject): CrdVersion[] {
  const spec = isObject(crd["spec"]) ? crd["spec"] : {};
  const group = textAt(spec, "group");
  const kind = textAt(spec, "names", "kind");
  const given = Array.isArray(spec["versions"]) ? spec["versions"] : [{ name: textAt(spec, "version") }];
  const shared: JsonPath = ["spec", "validation", "openAPIV3Schema"];
  return given.flatMap((version, index) => {
    const own: JsonPath = ["spec", "versions", index, "schema", "openAPIV3Schema"];
    const path = objectAt(crd, own) === undefined ? shared : own;
    const schema = objectAt(crd, path);
    const name = textAt(version, "name");
    return schema === undefined || name === "" ? [] : [{ key: kindKey(`${group}/${name}`, kind), schema, path }];
  });
}

function objectAt(value: JsonValue, path: JsonPath): JsonObject | undefined {
  let at: JsonValue | undefined = value;
  for (const key of path) {
    if (typeof key === "number") at = Array.isArray(at) ? at[key] : undefined;
    else at = isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  }
  return isObject(at) ? at : undefined;
}
