import { formatPath, type JsonObject, type JsonPath, type JsonValue } from "@xfn/functionio";
import type { Finding } from "../reader/composition-error.ts";
import type { TypeReport } from "../schema/structural/api-types.ts";
import { schemaProps } from "../schema/structural/json-schema-props.ts";
import { emptyObject, isObject } from "../values/json.ts";
import { DefinitionError } from "./definition-error.ts";
import { definitionType } from "./definition-type.ts";
import {
  CLAIM_COLUMNS,
  CLAIM_SPEC_FIELDS,
  COMPOSITE_COLUMNS,
  COMPOSITE_SPEC_FIELDS,
  STATUS_FIELDS,
} from "./injected-fields.ts";

/**
 * Keywords at the root of the author's schemas of `spec` and `status` that our CRDs keep, while Crossplane v1.13 drops
 * them silently (it takes description, required, properties and x-kubernetes-validations only). Both drop the others,
 * which a structural schema with properties cannot have, and `type`, which is always object.
 */
export const KEPT_KEYWORDS: readonly string[] = [
  "title",
  "default",
  "example",
  "externalDocs",
  "nullable",
  "enum",
  "minProperties",
  "maxProperties",
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-embedded-resource",
  "x-kubernetes-map-type",
];

/** Keywords at those roots that both keep. */
export const SHARED_KEYWORDS: readonly string[] = ["description", "required", "x-kubernetes-validations"];

/**
 * The CustomResourceDefinition of the composite resources that a CompositeResourceDefinition defines (seed 004,
 * "InfrastructureDefinition"; fields of Crossplane v1.13), in the form in which an API server keeps it. The definition
 * need not be checked; nothing is said of what an API server would find wrong with the CRD (`parseDefinition` does).
 *
 * @throws {DefinitionError} with every value that has the wrong type
 */
export function compositeCrd(xrd: JsonObject): JsonObject {
  const definition = read(xrd);
  const { spec } = definition;
  return crd(definition, definition.metadata.name ?? "", spec.names, "Cluster", {
    category: "composite",
    fields: COMPOSITE_SPEC_FIELDS,
    columns: COMPOSITE_COLUMNS,
  });
}

/**
 * The CustomResourceDefinition of the claims that a CompositeResourceDefinition offers; like {@link compositeCrd}.
 *
 * @throws {DefinitionError} also if it offers none (`NotOffered`), or under the names of the composite resource
 */
export function claimCrd(xrd: JsonObject): JsonObject {
  const definition = read(xrd);
  const { names, claimNames, group } = definition.spec;
  if (claimNames === undefined) {
    const path = ["spec", "claimNames"];
    throw new DefinitionError("NotOffered", [finding(path, "is missing; this definition offers no claim")]);
  }
  const conflicts = claimConflicts(names, claimNames).map((field) =>
    finding(["spec", "claimNames", field], `is the same as that of the composite resource; give another`),
  );
  if (conflicts.length > 0) throw new DefinitionError("Invalid", conflicts);
  return crd(definition, `${claimNames.plural}.${group}`, claimNames, "Namespaced", {
    category: "claim",
    fields: CLAIM_SPEC_FIELDS,
    columns: CLAIM_COLUMNS,
  });
}

/** The kind of composite resources, with the complete schema of each version. */
export function compositeKind(xrd: JsonObject): {
  group: string;
  kind: string;
  versions: ReadonlyMap<string, JsonObject>;
} {
  const { group, names, versions } = read(xrd).spec;
  const schemas = versions.map(({ name, schema }): [string, JsonObject] => {
    return [name, wholeSchema(schema.openAPIV3Schema, COMPOSITE_SPEC_FIELDS)];
  });
  return { group, kind: names.kind, versions: new Map(schemas) };
}

/** The fields of claimNames with the same value as in names. */
export function claimConflicts(names: JsonObject, claimNames: JsonObject): string[] {
  return (["kind", "plural", "singular", "listKind"] as const).filter(
    (field) => (claimNames[field] ?? "") !== "" && claimNames[field] === names[field],
  );
}

/** What CRDs need of a kind's names. */
interface Names extends JsonObject {
  plural: string;
  kind: string;
  [optional: string]: JsonValue;
}

// What `definitionType` makes of a definition.
interface DecodedDefinition {
  metadata: { name?: string; uid?: string; labels?: JsonObject };
  spec: {
    group: string;
    names: Names;
    claimNames?: Names;
    versions: DecodedVersion[];
    conversion?: JsonObject;
    metadata?: { labels?: JsonObject; annotations?: JsonObject };
  };
}

interface DecodedVersion {
  name: string;
  served: boolean;
  referenceable: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
  schema: { openAPIV3Schema: JsonObject };
  additionalPrinterColumns?: JsonObject[];
}

interface Flavour {
  category: string;
  fields: Readonly<JsonObject>;
  columns: readonly JsonObject[];
}

function read(xrd: JsonObject): DecodedDefinition {
  const issues: Finding[] = [];
  const definition = decodeDefinition(xrd, { wrong: (path, message) => issues.push(finding(path, message)) });
  if (issues.length > 0 || definition === undefined) throw new DefinitionError("Invalid", issues);
  return definition;
}

/** A definition in the API server's form, its schemas too. */
export function decodeDefinition(xrd: JsonObject, report: TypeReport): DecodedDefinition | undefined {
  const definition = definitionType(xrd, [], report) as unknown as DecodedDefinition | undefined;
  for (const [index, version] of (definition?.spec.versions ?? []).entries()) {
    const path = ["spec", "versions", index, "schema", "openAPIV3Schema"];
    const schema = version.schema?.openAPIV3Schema;
    if (schema === undefined) report.wrong(path, "is missing; give the schema of the composite resource");
    else version.schema = { openAPIV3Schema: (schemaProps(schema, path, report) ?? emptyObject()) as JsonObject };
  }
  return definition;
}

function finding(path: JsonPath, message: string): Finding {
  return { severity: "error", code: "Invalid", path: formatPath(path), message };
}

function crd(
  { metadata, spec }: DecodedDefinition,
  name: string,
  names: Names,
  scope: string,
  flavour: Flavour,
): JsonObject {
  const labels = merged(metadata.labels, spec.metadata?.labels);
  const annotations = spec.metadata?.annotations;
  const owner: JsonObject = {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "CompositeResourceDefinition",
    name: metadata.name ?? "",
    uid: metadata.uid ?? "",
    controller: true,
    blockOwnerDeletion: true,
  };
  const categories = [...((names["categories"] ?? []) as string[]), flavour.category];
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      ...(name !== "" && { name }),
      ...(labels !== undefined && { labels }),
      ...(annotations !== undefined && { annotations }),
      ownerReferences: [owner],
    },
    spec: {
      group: spec.group,
      names: { ...names, categories },
      scope,
      versions: spec.versions.map((version) => crdVersion(version, flavour)),
      ...(spec.conversion !== undefined && { conversion: spec.conversion }),
    },
  };
}

function merged(...maps: readonly (JsonObject | undefined)[]): JsonObject | undefined {
  const present = maps.filter((one) => one !== undefined);
  if (present.length === 0) return undefined;
  const all = emptyObject();
  for (const one of present) for (const key of Object.keys(one)) all[key] = one[key] as JsonValue;
  return all;
}

function crdVersion(version: DecodedVersion, flavour: Flavour): JsonObject {
  const { name, served, deprecated, deprecationWarning } = version;
  return {
    name,
    served,
    storage: version.referenceable,
    ...(deprecated === true && { deprecated }),
    ...(deprecationWarning !== undefined && { deprecationWarning }),
    schema: { openAPIV3Schema: wholeSchema(version.schema.openAPIV3Schema, flavour.fields) },
    subresources: { status: {} },
    additionalPrinterColumns: [...(version.additionalPrinterColumns ?? []), ...flavour.columns],
  };
}

function wholeSchema(author: JsonObject, specFields: Readonly<JsonObject>): JsonObject {
  const { description } = author;
  return {
    ...(description !== undefined && { description }),
    type: "object",
    required: ["spec"],
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object" },
      spec: part(author, "spec", specFields),
      status: part(author, "status", STATUS_FIELDS),
    },
  };
}

/** The schema of spec or status: the author's with our fields, which win. */
function part(root: JsonObject, field: "spec" | "status", injected: Readonly<JsonObject>): JsonObject {
  const rootProperties = root["properties"];
  const given = isObject(rootProperties) ? rootProperties[field] : undefined;
  const author = isObject(given) ? given : emptyObject();
  const result: JsonObject = { type: "object" };
  for (const keyword of [...SHARED_KEYWORDS, ...KEPT_KEYWORDS]) {
    const value = author[keyword];
    // `false` says nothing, and an API server refuses x-kubernetes-preserve-unknown-fields: false.
    if (value !== undefined && value !== false) result[keyword] = value;
  }
  const authorProperties = author["properties"];
  result["properties"] = merged(isObject(authorProperties) ? authorProperties : undefined, injected) ?? emptyObject();
  return result;
}
