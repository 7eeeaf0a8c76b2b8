import type { JsonObject } from "@xfn/json";
import type { ResourceKind } from "@xfn/kubernetes";
import { apiOf } from "./controller-objects.ts";

const GROUP = "scopes.example.org";
const NAMESPACE = "default";
const ACCOUNT = "composer";
const kind = (name: string, plural: string, namespaced: boolean): ResourceKind => ({
  group: GROUP,
  version: "v1",
  kind: name,
  plural,
  namespaced,
});

/** Cluster-scoped composites, which compose ConfigMaps. */
export const WIDES: ResourceKind = kind("Wide", "wides", false);
/** The same, in a namespace. */
export const LOCALS: ResourceKind = kind("Local", "locals", true);
/** The same, composed with the rights of a service account. */
export const GUARDED: ResourceKind = kind("Guarded", "guardeds", true);
const SCOPED: readonly ResourceKind[] = [WIDES, LOCALS, GUARDED];
export const SCOPED_PLURALS: readonly string[] = SCOPED.map(({ plural }) => plural);

const SIZE: JsonObject = { type: "object", properties: { size: { type: "string" }, namespace: { type: "string" } } };

/** A CompositeResourceDefinition of Crossplane 2. */
export function definitionOf(
  { group, kind: name, plural, namespaced }: ResourceKind,
  more: JsonObject = {},
): JsonObject {
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: SIZE } } };
  return {
    ...apiOf("apiextensions.crossplane.io/v2", "CompositeResourceDefinition"),
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: { kind: name, plural },
      scope: namespaced ? "Namespaced" : "Cluster",
      versions: [{ name: "v1", served: true, referenceable: true, schema }],
      ...more,
    },
  };
}

/** The definitions of the three kinds, their Compositions of three ConfigMaps, and the service account. */
export function scopedObjects(): JsonObject[] {
  const rbac = "rbac.authorization.k8s.io";
  const subject = { kind: "ServiceAccount", name: ACCOUNT, namespace: NAMESPACE };
  return [
    { ...apiOf("v1", "ServiceAccount"), metadata: { name: ACCOUNT, namespace: NAMESPACE } },
    {
      ...apiOf(`${rbac}/v1`, "ClusterRoleBinding"),
      metadata: { name: ACCOUNT },
      roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "cluster-admin" },
      subjects: [subject],
    },
    definitionOf(WIDES),
    definitionOf(LOCALS),
    definitionOf(GUARDED, { serviceAccountRef: { namespace: NAMESPACE, name: ACCOUNT } }),
    ...SCOPED.map(compositionOf),
  ];
}

function compositionOf({ kind: name, plural, namespaced }: ResourceKind): JsonObject {
  const place = { fromFieldPath: "spec.namespace", toFieldPath: "metadata.namespace" };
  const template = (entry: string): JsonObject => ({
    name: entry,
    base: { ...apiOf("v1", "ConfigMap"), data: { entry } },
    patches: [{ fromFieldPath: "spec.size", toFieldPath: "data.size" }, ...(namespaced ? [] : [place])],
    readinessChecks: [{ type: "None" }],
  });
  return {
    ...apiOf("apiextensions.crossplane.io/v1", "Composition"),
    metadata: { name: plural },
    spec: {
      compositeTypeRef: apiOf(`${GROUP}/v1`, name),
      resources: ["first", "second", "third"].map(template),
    },
  };
}

/** A composite of one of the three kinds. */
export function scoped({ kind: name, plural, namespaced }: ResourceKind, title: string): JsonObject {
  return {
    ...apiOf(`${GROUP}/v1`, name),
    metadata: { name: title, ...(namespaced && { namespace: NAMESPACE }) },
    spec: {
      size: "3",
      ...(!namespaced && { namespace: NAMESPACE }),
      crossplane: { compositionRef: { name: plural } },
    },
  };
}
