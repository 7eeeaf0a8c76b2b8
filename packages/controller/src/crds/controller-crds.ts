import { COMPOSITION_API_VERSIONS, COMPOSITION_SPEC_OPEN_API } from "@xfn/composition";
import { DEFINITION_SPEC_OPEN_API } from "@xfn/composition/definition";
import type { JsonObject, KubernetesObject } from "@xfn/functionio";
import type { ResourceKind } from "@xfn/kubernetes";
import { COMPOSITIONS, CRDS, DEFINITIONS, REVISIONS, typeMeta } from "../objects/kinds.ts";

/** Identifies the CRDs that the controller installed. Those of other programs lack it. */
export const PART_OF_LABEL: readonly [key: string, value: string] = ["app.kubernetes.io/part-of", "xfn"];

/**
 * The CustomResourceDefinitions of the controller's own kinds. The API server checks objects by their schemas and CEL
 * rules, the controllers check the rest.
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
      observedGeneration: { type: "integer", format: "int64", minimum: 0 },
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
  { group, kind, plural }: ResourceKind,
  shortNames: readonly string[],
  versions: readonly JsonObject[],
): KubernetesObject {
  return {
    ...typeMeta(CRDS),
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
