import { formatPath, type JsonObject, type JsonPath, type JsonValue, newObject, objectAt } from "@xfn/json";
import { type Descriptions, describeFields } from "../api-schema/describe.ts";
import type { Finding } from "../reader/composition-error.ts";
import type { TypeReport } from "../schema/structural/api-types.ts";
import { isOwnDefaultValid } from "../schema/structural/check-values.ts";
import { schemaProps } from "../schema/structural/json-schema-props.ts";
import { nodeOf } from "../schema/structural/node.ts";
import { DEFINITION_API_VERSION, DEFINITION_FORMS, DEFINITION_KIND, FORM_API_VERSION } from "./definition.ts";
import { DefinitionError } from "./definition-error.ts";
import { definitionType } from "./definition-type.ts";
import {
  CLAIM_COLUMNS,
  claimSpecFields,
  compositeColumns,
  compositeSpecFields,
  compositeStatusFields,
  statusFields,
  type Written,
} from "./injected-fields.ts";
import { lowerDefinition } from "./lower.ts";
import { isNamespaced, scopeOf } from "./scope.ts";

/**
 * Keywords at the root of the author's schemas of `spec` and `status` that only our CRDs retain. Crossplane v1.13
 * silently drops all but description, required, properties and x-kubernetes-validations. Both drop `type`, which is
 * always object, and keywords that a structural schema with properties cannot have.
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

/** Keywords at these roots that both retain. */
export const SHARED_KEYWORDS: readonly string[] = ["description", "required", "x-kubernetes-validations"];

/**
 * Converts a definition of any kind to the CRD of its composite resources, in the form of an API server. Adds the
 * fields of its scope's layout. The definition need not be checked. Does not validate the CRD: `parseDefinition` does.
 *
 * @param descriptions of `spec` and `status`, and of the fields that are added to them
 * @throws {DefinitionError} with every value that has the wrong type
 */
export function compositeCrd(xrd: JsonObject, descriptions?: Descriptions): JsonObject {
  const definition = read(xrd);
  const { spec, written } = definition;
  const { scope } = written;
  return crd(definition, definition.metadata.name ?? "", spec.names, isNamespaced(scope) ? "Namespaced" : "Cluster", {
    category: "composite",
    descriptions,
    fields: compositeSpecFields(written, schemasOf(definition)),
    status: compositeStatusFields(scope),
    columns: compositeColumns(scope),
  });
}

/**
 * Converts a definition to the CRD of its claims, like {@link compositeCrd}.
 *
 * @throws {DefinitionError} also if it offers no claim (`NotOffered`), or a claim with the names of the composite
 * resource
 */
export function claimCrd(xrd: JsonObject, descriptions?: Descriptions): JsonObject {
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
    descriptions,
    fields: claimSpecFields(definition.written),
    status: statusFields("LegacyCluster"),
    columns: CLAIM_COLUMNS,
  });
}

/** The kind of composite resources, with the complete schema of each version. */
export function compositeKind(xrd: JsonObject): {
  group: string;
  kind: string;
  versions: ReadonlyMap<string, JsonObject>;
} {
  const definition = read(xrd);
  const { group, names, versions } = definition.spec;
  const { written } = definition;
  const fields = {
    fields: compositeSpecFields(written, schemasOf(definition)),
    status: compositeStatusFields(written.scope),
  };
  const schemas = versions.map(({ name, schema }): [string, JsonObject] => {
    return [name, wholeSchema(schema.openAPIV3Schema, fields)];
  });
  return { group, kind: names.kind, versions: new Map(schemas) };
}

/** The fields of claimNames with the same value as in names. */
export function claimConflicts(names: JsonObject, claimNames: JsonObject): string[] {
  return (["kind", "plural", "singular", "listKind"] as const).filter(
    (field) => (claimNames[field] ?? "") !== "" && claimNames[field] === names[field],
  );
}

function schemasOf({ spec }: DecodedDefinition): JsonObject[] {
  return spec.versions.map(({ schema }) => schema.openAPIV3Schema);
}

/** The names of a kind in a CRD. */
interface Names extends JsonObject {
  plural: string;
  kind: string;
  [optional: string]: JsonValue;
}

// A definition that `definitionType` decoded.
interface DecodedDefinition {
  /** The kind as its author wrote it, and its API version where that identifies an owner. */
  written: Written & { readonly apiVersion: string };
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
  subresources?: { scale?: JsonObject };
}

interface Flavour {
  category: string;
  /** Fields of the spec. */
  fields: Readonly<JsonObject>;
  status: Readonly<JsonObject>;
  columns: readonly JsonObject[];
  descriptions?: Descriptions | undefined;
}

function read(given: JsonObject): DecodedDefinition {
  const issues: Finding[] = [];
  const xrd = lowerDefinition(given);
  const decoded = decodeDefinition(xrd, { wrong: (path, message) => issues.push(finding(path, message)) });
  if (issues.length > 0 || decoded === undefined) throw new DefinitionError("Invalid", issues);
  const form = DEFINITION_FORMS.find((kind) => kind === xrd["kind"]);
  const type =
    form === undefined
      ? { apiVersion: DEFINITION_API_VERSION, kind: DEFINITION_KIND }
      : { apiVersion: FORM_API_VERSION, kind: form };
  return { ...decoded, written: { ...type, scope: scopeOf(xrd) } };
}

/** Decodes a definition and its schemas to the API server's form. */
function decodeDefinition(xrd: JsonObject, report: TypeReport): Omit<DecodedDefinition, "written"> | undefined {
  const definition = definitionType(xrd, [], report) as unknown as DecodedDefinition | undefined;
  for (const [index, version] of (definition?.spec.versions ?? []).entries()) {
    const path = ["spec", "versions", index, "schema", "openAPIV3Schema"];
    const schema = version.schema?.openAPIV3Schema;
    if (schema === undefined) report.wrong(path, "is missing; give the schema of the composite resource");
    else version.schema = { openAPIV3Schema: (schemaProps(schema, path, report) ?? newObject()) as JsonObject };
  }
  return definition;
}

function finding(path: JsonPath, message: string): Finding {
  return { severity: "error", code: "Invalid", path: formatPath(path), message };
}

function crd(
  { metadata, spec, written }: DecodedDefinition,
  name: string,
  names: Names,
  scope: string,
  flavour: Flavour,
): JsonObject {
  const labels = merged(metadata.labels, spec.metadata?.labels);
  const annotations = spec.metadata?.annotations;
  const owner: JsonObject = {
    apiVersion: written.apiVersion,
    kind: written.kind,
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
  const all = newObject();
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
    schema: { openAPIV3Schema: wholeSchema(version.schema.openAPIV3Schema, flavour) },
    subresources: { status: {}, ...(version.subresources?.scale && { scale: version.subresources.scale }) },
    additionalPrinterColumns: [...(version.additionalPrinterColumns ?? []), ...flavour.columns],
  };
}

function wholeSchema(
  author: JsonObject,
  { fields, status, descriptions }: Pick<Flavour, "fields" | "status" | "descriptions">,
): JsonObject {
  const { description } = author;
  return {
    ...(description !== undefined && { description }),
    type: "object",
    required: ["spec"],
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object" },
      spec: part(author, "spec", fields, descriptions),
      status: part(author, "status", status, descriptions),
    },
  };
}

/** Merges our fields into the author's schema of spec or status. Ours win. */
function part(
  root: JsonObject,
  field: "spec" | "status",
  injected: Readonly<JsonObject>,
  descriptions: Descriptions = {},
): JsonObject {
  const author = objectAt(root, "properties", field);
  const result: JsonObject = { type: "object" };
  for (const keyword of [...SHARED_KEYWORDS, ...KEPT_KEYWORDS]) {
    const value = author[keyword];
    // `false` is the default, and an API server rejects x-kubernetes-preserve-unknown-fields: false.
    if (value !== undefined && value !== false) result[keyword] = value;
  }
  const description = descriptions[field];
  if (description !== undefined) result["description"] ??= `${field} ${description}`;
  const own = describeFields(injected, descriptions, `${field}.`);
  result["properties"] = merged(objectAt(author, "properties"), own) ?? newObject();
  // An API server rejects a CRD with an invalid default. Crossplane drops this one, valid or not.
  if (result["default"] !== undefined && !isOwnDefaultValid(nodeOf(result, []))) delete result["default"];
  return result;
}
