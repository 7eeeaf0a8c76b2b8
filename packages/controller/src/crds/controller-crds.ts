import { COMPOSITION_API_VERSIONS, COMPOSITION_SPEC_OPEN_API } from "@xfn/composition";
import { DEFINITION_SPEC_OPEN_API } from "@xfn/composition/definition";
import type { JsonObject, KubernetesObject } from "@xfn/functionio";
import { COMPOSITIONS, DEFINITIONS, REVISIONS } from "../objects/kinds.ts";

/** By it we know CRDs that we installed: those of another program with these kinds are left alone. */
export const PART_OF_LABEL: readonly [key: string, value: string] = ["app.kubernetes.io/part-of", "xfn"];

/**
 * The CustomResourceDefinitions of the kinds that have a controller here. What a schema and CEL can say of them the
 * API server checks when they are written; the rest their controllers do.
 */
export function controllerCrds(): KubernetesObject[] {
  return [
    crd(DEFINITIONS, ["xrd", "xrds"], [version("v1", DEFINITION_SCHEMA, DEFINITION_COLUMNS)]),
    crd(
      COMPOSITIONS,
      ["comp"],
      COMPOSITION_API_VERSIONS.map((apiVersion) =>
        version(apiVersion.slice(apiVersion.indexOf("/") + 1), COMPOSITION_SCHEMA, [...TYPE_COLUMNS, SYNCED, AGE]),
      ),
    ),
    crd(
      REVISIONS,
      ["comprev"],
      [
        version("v1", REVISION_SCHEMA, [
          { name: "REVISION", type: "string", jsonPath: ".spec.revision" },
          ...TYPE_COLUMNS,
          AGE,
        ]),
      ],
    ),
  ];
}

const AGE: JsonObject = { name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp" };
const SYNCED = conditionColumn("SYNCED", "Synced");
const DEFINITION_COLUMNS = [conditionColumn("ESTABLISHED", "Established"), conditionColumn("OFFERED", "Offered"), AGE];
const TYPE_COLUMNS: readonly JsonObject[] = [
  { name: "XR-KIND", type: "string", jsonPath: ".spec.compositeTypeRef.kind" },
  { name: "XR-APIVERSION", type: "string", jsonPath: ".spec.compositeTypeRef.apiVersion" },
];

const TEXT: JsonObject = { type: "string" };
const KIND_REFERENCE: JsonObject = {
  type: "object",
  required: ["apiVersion", "kind"],
  properties: { apiVersion: TEXT, kind: TEXT },
};

/** The conditions of a status. */
const CONDITIONS: JsonObject = {
  type: "array",
  items: {
    type: "object",
    required: ["type", "status", "reason", "lastTransitionTime"],
    properties: {
      type: { type: "string", minLength: 1, maxLength: 316 },
      status: { type: "string", enum: ["True", "False", "Unknown"] },
      reason: { type: "string", maxLength: 1024 },
      message: TEXT,
      lastTransitionTime: { type: "string", format: "date-time" },
    },
  },
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["type"],
};

const DEFINITION_SCHEMA: JsonObject = {
  ...root(DEFINITION_SPEC_OPEN_API, {
    controllers: {
      type: "object",
      properties: { compositeResourceType: KIND_REFERENCE, compositeResourceClaimType: KIND_REFERENCE },
    },
  }),
  "x-kubernetes-validations": [
    {
      rule: "self.metadata.name == self.spec.names.plural + '.' + self.spec.group",
      message: "metadata.name must be <names.plural>.<group>",
    },
  ],
};

const COMPOSITION_SCHEMA = root(COMPOSITION_SPEC_OPEN_API);

const COMPOSITION_FIELDS = COMPOSITION_SPEC_OPEN_API.properties;

/** Only the number of a revision can change. */
const REVISION_SCHEMA = root({
  type: "object",
  required: ["revision"],
  properties: { ...COMPOSITION_FIELDS, revision: { type: "integer", format: "int64", minimum: 1 } },
  "x-kubernetes-validations": Object.keys(COMPOSITION_FIELDS).map((field) => ({
    rule: `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
    message: `${field}: a revision cannot be changed; change its Composition, which makes another one`,
  })),
});

/** The schema of an object with this spec; its status has conditions, and these fields. */
function root(spec: JsonObject, status: JsonObject = {}): JsonObject {
  return {
    type: "object",
    required: ["spec"],
    properties: {
      apiVersion: TEXT,
      kind: TEXT,
      metadata: { type: "object" },
      spec,
      status: { type: "object", properties: { conditions: CONDITIONS, ...status } },
    },
  };
}

function version(
  name: string,
  openAPIV3Schema: JsonObject,
  additionalPrinterColumns: readonly JsonObject[],
): JsonObject {
  return {
    name,
    served: true,
    storage: name === "v1",
    schema: { openAPIV3Schema },
    subresources: { status: {} },
    additionalPrinterColumns: [...additionalPrinterColumns],
  };
}

function crd(
  { group, kind, plural }: { group: string; kind: string; plural: string },
  shortNames: readonly string[],
  versions: readonly JsonObject[],
): KubernetesObject {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}`, labels: { [PART_OF_LABEL[0]]: PART_OF_LABEL[1] } },
    spec: {
      group,
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        shortNames: [...shortNames],
        categories: ["crossplane"],
      },
      scope: "Cluster",
      versions: [...versions],
    },
  };
}

function conditionColumn(name: string, type: string): JsonObject {
  return { name, type: "string", jsonPath: `.status.conditions[?(@.type=='${type}')].status` };
}
