import { type JsonObject, valueAt } from "@xfn/json";
import type { Definition, DefinitionScope } from "./definition.ts";
import { claimFieldOf, layoutOf } from "./scope.ts";

// The fields that are injected into the schemas of XRs and claims: those of Crossplane v1.13 for XRs of its layout, and
// those of Crossplane 2 for the others.

const TEXT: JsonObject = { type: "string" };
const TEXT_MAP: JsonObject = { type: "object", additionalProperties: TEXT };
const TIME: JsonObject = { type: "string", format: "date-time" };

/** An object of string fields. */
function texts(names: readonly string[], required: readonly string[]): JsonObject {
  return {
    type: "object",
    ...(required.length > 0 && { required: [...required] }),
    properties: Object.fromEntries(names.map((name) => [name, TEXT])),
  };
}

function choice(...values: string[]): JsonObject {
  return { type: "string", enum: values };
}

const NAME = texts(["name"], ["name"]);
const SELECTOR: JsonObject = { type: "object", required: ["matchLabels"], properties: { matchLabels: TEXT_MAP } };
const OBJECT_REFERENCES: JsonObject = {
  type: "array",
  items: texts(["apiVersion", "name", "kind"], ["apiVersion", "kind"]),
};

/** The composed resources of a namespaced XR, which are in its namespace. */
const LOCAL_REFERENCES: JsonObject = OBJECT_REFERENCES;

/**
 * The composed resources of an XR. Crossplane v1.13 has no namespace here, so it cannot find namespaced ones again.
 */
const RESOURCE_REFERENCES: JsonObject = {
  type: "array",
  items: texts(["apiVersion", "name", "namespace", "kind"], ["apiVersion", "kind"]),
};

// The Composition of the XR.
const SELECTION: JsonObject = {
  compositionRef: NAME,
  compositionSelector: SELECTOR,
  compositionRevisionRef: NAME,
  compositionRevisionSelector: SELECTOR,
  compositionUpdatePolicy: choice("Automatic", "Manual"),
};

// Another target of connection details, in addition to the Secret.
const SHARED: JsonObject = {
  ...SELECTION,
  publishConnectionDetailsTo: {
    type: "object",
    required: ["name"],
    properties: {
      name: TEXT,
      configRef: { ...texts(["name"], []), default: { name: "default" } },
      metadata: { type: "object", properties: { labels: TEXT_MAP, annotations: TEXT_MAP, type: TEXT } },
    },
  },
};

const CLAIM_REFERENCE = ["apiVersion", "kind", "namespace", "name", "uid"];

/** The fields of the spec of every composite resource of Crossplane 1. */
const LEGACY_SPEC_FIELDS: Readonly<JsonObject> = {
  ...SHARED,
  claimRef: texts(CLAIM_REFERENCE, ["apiVersion", "kind", "namespace", "name"]),
  environmentConfigRefs: OBJECT_REFERENCES,
  resourceRefs: RESOURCE_REFERENCES,
  writeConnectionSecretToRef: texts(["name", "namespace"], ["name", "namespace"]),
};

/**
 * The fate of a composite resource when its claim is deleted. An author's field of this name wins: Crossplane v1.13
 * does not reserve the name, so existing definitions may use it.
 */
const RECLAIM_POLICY: JsonObject = {
  description: "What happens to this resource when its claim is deleted. A retained resource can be claimed again.",
  ...choice("Delete", "Retain"),
};

/** The fields of the spec of an InfrastructureDefinition's composite resources. */
const INFRASTRUCTURE_SPEC_FIELDS: Readonly<JsonObject> = {
  ...SELECTION,
  requirementRef: texts(CLAIM_REFERENCE, ["namespace", "name"]),
  environmentConfigRefs: OBJECT_REFERENCES,
  resourceRefs: RESOURCE_REFERENCES,
  writeConnectionSecretToRef: texts(["name", "namespace"], ["name", "namespace"]),
  reclaimPolicy: RECLAIM_POLICY,
};

/** The fields of the spec of an ApplicationDefinition's composite resources, which compose in their own namespace. */
const APPLICATION_SPEC_FIELDS: Readonly<JsonObject> = { ...SELECTION, resourceRefs: LOCAL_REFERENCES };

/** The fields of the spec of composite resources of Crossplane 2. Namespaced ones compose in their own namespace. */
function modernSpecFields(scope: DefinitionScope): JsonObject {
  const resourceRefs = scope === "Namespaced" ? LOCAL_REFERENCES : RESOURCE_REFERENCES;
  return {
    crossplane: {
      type: "object",
      description: "Configures how this composite resource is composed.",
      properties: { ...SELECTION, resourceRefs },
    },
  };
}

/** The kind and the scope of a definition. */
export interface Written {
  readonly kind: string;
  readonly scope: DefinitionScope;
}

/**
 * The fields of the spec of composite resources.
 *
 * @param schemas the author's, of all versions
 */
export function compositeSpecFields(written: Written, schemas: readonly JsonObject[]): Readonly<JsonObject> {
  const { scope } = written;
  if (scope === "LegacyNamespaced") return APPLICATION_SPEC_FIELDS;
  if (scope !== "LegacyCluster") return modernSpecFields(scope);
  if (claimFieldOf(written) === "requirementRef") return INFRASTRUCTURE_SPEC_FIELDS;
  return definesReclaimPolicy(schemas) ? LEGACY_SPEC_FIELDS : { ...LEGACY_SPEC_FIELDS, reclaimPolicy: RECLAIM_POLICY };
}

/** The fields of spec and status that an author's schema cannot define. */
export function injectedFields(
  scope: DefinitionScope,
  offersClaim: boolean,
): { readonly spec: Readonly<JsonObject>; readonly status: Readonly<JsonObject> } {
  if (scope !== "LegacyCluster") return { spec: modernSpecFields(scope), status: statusFields(scope) };
  return { spec: { ...LEGACY_SPEC_FIELDS, ...(offersClaim && CLAIM_SPEC_FIELDS) }, status: statusFields(scope) };
}

/** The fields that the author of an InfrastructureDefinition or an ApplicationDefinition cannot define. */
export function reservedFields(scope: DefinitionScope): Readonly<JsonObject> {
  return scope === "LegacyNamespaced"
    ? APPLICATION_SPEC_FIELDS
    : { ...INFRASTRUCTURE_SPEC_FIELDS, ...REQUIREMENT_SPEC_FIELDS };
}

/** Whether the composite resources of a definition have a reclaim policy. */
export function hasReclaimPolicy({ kind, spec }: Definition): boolean {
  if (spec.scope !== "LegacyCluster") return false;
  if (kind === "InfrastructureDefinition") return true;
  return !definesReclaimPolicy(spec.versions.map(({ schema }) => schema.openAPIV3Schema));
}

function definesReclaimPolicy(schemas: readonly JsonObject[]): boolean {
  const path = ["properties", "spec", "properties", "reclaimPolicy"];
  return schemas.some((schema) => valueAt(schema, ...path) !== undefined);
}

/** The fields of the spec of every claim. */
const CLAIM_SPEC_FIELDS: Readonly<JsonObject> = {
  ...SHARED,
  compositeDeletePolicy: choice("Background", "Foreground"),
  resourceRef: texts(["apiVersion", "kind", "name"], ["apiVersion", "kind", "name"]),
  writeConnectionSecretToRef: NAME,
};

/** The fields of every requirement's spec. The kind of its composite is always the same, so the name identifies it. */
const REQUIREMENT_SPEC_FIELDS: Readonly<JsonObject> = {
  ...SELECTION,
  compositeDeletePolicy: choice("Background", "Foreground"),
  resourceRef: texts(["apiVersion", "kind", "name"], ["name"]),
  writeConnectionSecretToRef: NAME,
};

/** The fields of the spec of a definition's claims. */
export function claimSpecFields(written: Pick<Written, "kind">): Readonly<JsonObject> {
  return claimFieldOf(written) === "requirementRef" ? REQUIREMENT_SPEC_FIELDS : CLAIM_SPEC_FIELDS;
}

/** The fields of the status of all composite resources. */
const STATUS_FIELDS: Readonly<JsonObject> = {
  conditions: {
    description: "Conditions of the resource.",
    type: "array",
    items: {
      type: "object",
      required: ["lastTransitionTime", "reason", "status", "type"],
      properties: {
        lastTransitionTime: TIME,
        message: TEXT,
        observedGeneration: { type: "integer", format: "int64" },
        reason: TEXT,
        status: TEXT,
        type: TEXT,
      },
    },
  },
};

/** The fields of the status of composite resources and of their claims. Only those of Crossplane 1 publish details. */
export function statusFields(scope: DefinitionScope): Readonly<JsonObject> {
  if (scope !== "LegacyCluster") return STATUS_FIELDS;
  return { ...STATUS_FIELDS, connectionDetails: { type: "object", properties: { lastPublishedTime: TIME } } };
}

/** The fields of the status of composite resources. Those that claims lack, an author's schema may define. */
export function compositeStatusFields(scope: DefinitionScope): Readonly<JsonObject> {
  return { ...statusFields(scope), lastHandledReconcileAt: TEXT };
}

/** The columns of `kubectl get` for composite resources, after the author's columns. */
export function compositeColumns(scope: DefinitionScope): readonly JsonObject[] {
  if (layoutOf(scope).isLegacy) return columns("COMPOSITION", ".spec.compositionRef.name");
  const revision = ".spec.crossplane.compositionRevisionRef.name";
  return columns("COMPOSITION", ".spec.crossplane.compositionRef.name", {
    name: "COMPOSITIONREVISION",
    type: "string",
    jsonPath: revision,
    priority: 1,
  });
}

/** The columns of `kubectl get` for claims, after the author's columns. */
export const CLAIM_COLUMNS: readonly JsonObject[] = columns(
  "CONNECTION-SECRET",
  ".spec.writeConnectionSecretToRef.name",
);

function columns(name: string, jsonPath: string, ...more: JsonObject[]): JsonObject[] {
  return [
    { name: "SYNCED", type: "string", jsonPath: ".status.conditions[?(@.type=='Synced')].status" },
    { name: "READY", type: "string", jsonPath: ".status.conditions[?(@.type=='Ready')].status" },
    { name, type: "string", jsonPath },
    ...more,
    { name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ];
}
