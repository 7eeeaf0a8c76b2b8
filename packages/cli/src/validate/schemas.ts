import type { Finding } from "@xfn/composition";
import {
  checkDefinition,
  checkPublication,
  claimCrd,
  compositeCrd,
  type Definition,
  DefinitionError,
  type LowerOptions,
  lowerDefinition,
  PUBLICATION_KIND,
} from "@xfn/composition/definition";
import { checkRules, checkSchema, compileSchema, type Schema, SchemaError } from "@xfn/composition/schema";
import { isObject, type JsonObject, type JsonPath, textOrEmpty, valueAt } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import { isDefinition, isKind, kindKey, positionOf, resultOf } from "./documents.ts";
import { publishedNames } from "./lower-documents.ts";
import { withMetadata } from "./metadata-errors.ts";
import type { ResourceResult } from "./result.ts";

/** The schema of a kind. */
export interface KnownKind {
  readonly schema: Schema;
  /** Whether the kind is a composite resource or claim, whose name becomes a label value. */
  readonly composed: boolean;
  /** Whether its objects have namespaces. Absent for Kubernetes' own kinds. */
  readonly namespaced?: boolean;
}

/** The schemas and definitions of the extensions. */
export interface Extensions {
  /** By {@link kindKey}. */
  readonly kinds: ReadonlyMap<string, KnownKind>;
  /** Definitions, for the connection keys of compositions. */
  readonly definitions: readonly Definition[];
  /** Results of invalid extensions. */
  readonly results: readonly ResourceResult[];
}

/** Reads definitions and CRDs, and skips other documents (packages, functions). */
export function readExtensions(documents: readonly ParsedDocument[]): Extensions {
  const kinds = new Map<string, KnownKind>();
  const definitions: Definition[] = [];
  const results: ResourceResult[] = [];
  const add = (key: string, kind: KnownKind): void => {
    // Users often pass a definition together with its CRD; the first one wins.
    if (!kinds.has(key)) kinds.set(key, kind);
  };
  const report = (document: ParsedDocument, findings: readonly Finding[]): void => {
    const result = withMetadata(document, resultOf(document, findings));
    if (result.errors.length + result.warnings.length > 0) results.push(result);
  };
  const published = publishedNames(documents);
  for (const document of documents) {
    const { value } = document;
    if (isKind(value, "apiextensions.crossplane.io", PUBLICATION_KIND)) {
      const { findings } = checkPublication(document);
      report(document, findings);
    } else if (isDefinition(value)) {
      const isPublished = published.has(textOrEmpty(value, "metadata", "name"));
      const { definition, findings } = checkDefinitionFully(document, { isPublished });
      if (definition !== undefined) definitions.push(definition);
      report(document, findings);
      for (const [key, kind] of kindsOfDefinition(lowerDefinition(value, { isPublished }))) add(key, kind);
    } else if (isKind(value, "apiextensions.k8s.io", "CustomResourceDefinition")) {
      const { schemas, findings } = schemasOfCrd(document, value);
      report(document, findings);
      const namespaced = isNamespaced(value);
      for (const [key, schema] of schemas) add(key, { schema, composed: false, namespaced });
    }
  }
  return { kinds, definitions, results };
}

/** All findings on a definition, with those on the CEL rules in its schemas. */
export function checkDefinitionFully(
  document: ParsedDocument,
  options: LowerOptions = {},
): {
  definition?: Definition;
  findings: readonly Finding[];
} {
  const { definition, findings } = checkDefinition(document, options);
  if (definition === undefined) return { findings };
  // Check both, because composite resources and claims have different fields, which rules may read.
  const rules = [compositeCrd, claimCrd].flatMap((make, index) => {
    if (index === 1 && definition.spec.claimNames === undefined) return [];
    return crdVersions(make(lowerDefinition(document.value as JsonObject, options))).flatMap(({ schema, path }) =>
      findingsOf(document, () => checkRules(schema, path)),
    );
  });
  const different = rules.filter(
    (rule, index) => rules.findIndex(({ path, message }) => path === rule.path && message === rule.message) === index,
  );
  return different.length === 0 ? { definition, findings } : { findings: [...findings, ...different] };
}

/** The schema of one version of a definition's XRs. Undefined if the definition lacks it, or it has findings. */
export function schemaOfComposite(
  definition: ParsedDocument,
  { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
): { readonly schema: Schema | undefined; readonly findings: readonly Finding[] } {
  const versions = crdVersions(compositeCrd(definition.value as JsonObject));
  const version = versions.find(({ key }) => key === kindKey(apiVersion, kind));
  let schema: Schema | undefined;
  const findings = findingsOf(definition, () => {
    if (version === undefined) return;
    checkRules(version.schema, version.path);
    schema = compileSchema(version.schema, version.path);
  });
  return { schema, findings };
}

/** The valid schemas of a definition: even if the definition has errors, they can validate resources. */
function* kindsOfDefinition(xrd: JsonObject): Iterable<[string, KnownKind]> {
  for (const make of [compositeCrd, claimCrd]) {
    try {
      const crd = make(xrd);
      const namespaced = isNamespaced(crd);
      yield* crdVersions(crd).map(({ key, schema, path }): [string, KnownKind] => [
        key,
        { schema: compileSchema(schema, path), composed: true, namespaced },
      ]);
    } catch (error) {
      // A definition without claimNames has no claim; errors in the schema were reported with the definition.
      if (!(error instanceof DefinitionError || error instanceof SchemaError)) throw error;
    }
  }
}

function isNamespaced(crd: JsonObject): boolean {
  return textOrEmpty(crd, "spec", "scope") === "Namespaced";
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

/** Runs a check, and returns the findings of its SchemaError. */
function findingsOf(document: ParsedDocument, check: () => void): Finding[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    return error.issues.map(({ path, at, message }) => {
      const { line, column } = positionOf(document, at);
      const position = line === undefined || column === undefined ? {} : { line, column };
      return { severity: "error", code: "Invalid", path, message, ...position };
    });
  }
}

interface CrdVersion {
  readonly key: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly schema: JsonObject;
  readonly path: JsonPath;
}

/** The versions of a CRD with a schema, in the form of v1 and of v1beta1 (one schema for all versions). */
export function crdVersions(crd: JsonObject): CrdVersion[] {
  const spec = isObject(crd["spec"]) ? crd["spec"] : {};
  const group = textOrEmpty(spec, "group");
  const kind = textOrEmpty(spec, "names", "kind");
  const given = Array.isArray(spec["versions"]) ? spec["versions"] : [{ name: textOrEmpty(spec, "version") }];
  const shared: JsonPath = ["spec", "validation", "openAPIV3Schema"];
  return given.flatMap((version, index) => {
    const own: JsonPath = ["spec", "versions", index, "schema", "openAPIV3Schema"];
    const path = isObject(valueAt(crd, ...own)) ? own : shared;
    const schema = valueAt(crd, ...path);
    const name = textOrEmpty(version, "name");
    const apiVersion = `${group}/${name}`;
    return !isObject(schema) || name === "" ? [] : [{ key: kindKey(apiVersion, kind), apiVersion, kind, schema, path }];
  });
}
