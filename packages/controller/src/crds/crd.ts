import type { JsonObject, KubernetesObject } from "@xfn/json";
import type { ResourceKind } from "@xfn/kubernetes";
import { PART_OF_LABEL } from "../kinds/define-kind.ts";
import { CRDS, typeMeta } from "../objects/kinds.ts";

/** Whether an object is a CRD that the controller installed. */
export function isOwnCrd({ kind, metadata }: KubernetesObject): boolean {
  return kind === CRDS.kind && metadata?.labels?.[PART_OF_LABEL[0]] === PART_OF_LABEL[1];
}

export const TEXT: JsonObject = { type: "string" };

export const AGE: JsonObject = { name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp" };

export const KIND_REFERENCE: JsonObject = {
  type: "object",
  required: ["apiVersion", "kind"],
  properties: { apiVersion: TEXT, kind: TEXT },
};

/** A printer column with the status of a condition. */
export function conditionColumn(name: string, type: string): JsonObject {
  return { name, type: "string", jsonPath: `.status.conditions[?(@.type=='${type}')].status` };
}

/** The conditions of a status. */
export const CONDITIONS: JsonObject = {
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

/** The schema of an object with this spec. Its status has conditions and the given fields. */
export function root(spec: JsonObject, status: JsonObject = {}): JsonObject {
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

/**
 * A served version of a CRD. The server stores objects as v1.
 *
 * @param isOnly - whether the kind has no v1
 */
export function version(
  name: string,
  openAPIV3Schema: JsonObject,
  additionalPrinterColumns: readonly JsonObject[],
  isOnly = false,
): JsonObject {
  return {
    name,
    served: true,
    storage: isOnly || name === "v1",
    schema: { openAPIV3Schema },
    subresources: { status: {} },
    additionalPrinterColumns: [...additionalPrinterColumns],
  };
}

/** A CRD of a cluster-scoped kind. */
export function crd(
  { group, kind, plural }: ResourceKind,
  names: { readonly shortNames?: readonly string[]; readonly categories?: readonly string[] },
  versions: readonly JsonObject[],
): KubernetesObject {
  const { shortNames, categories = [] } = names;
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
        ...(shortNames && { shortNames: [...shortNames] }),
        categories: ["crossplane", ...categories],
      },
      scope: "Cluster",
      versions: [...versions],
    },
  };
}
