import { type JsonObject, textOrEmpty, valueAt } from "@xfn/json";
import { type Client, isApiError, type LiveObject, type ObjectReference, type ResourceKind } from "@xfn/kubernetes";

/** The label of an object that a usage protects from deletion. */
const LABEL_IN_USE = "crossplane.io/in-use";
/** The propagation policy of a deletion that was denied because of it. */
const ANNOTATION_ATTEMPT = "usage.crossplane.io/deletion-attempt-with-policy";

const protection = { group: "protection.crossplane.io", version: "v1beta1" };
const USAGE_KINDS: readonly ResourceKind[] = [
  { ...protection, kind: "Usage", plural: "usages", namespaced: true },
  { ...protection, kind: "ClusterUsage", plural: "clusterusages", namespaced: false },
  { group: "apiextensions.crossplane.io", version: "v1beta1", kind: "Usage", plural: "usages", namespaced: false },
];

/** Whether a usage protects an object from deletion. */
export function isInUse(object: JsonObject): boolean {
  return textOrEmpty(object, "metadata", "labels", LABEL_IN_USE) === "true";
}

/** Whether a deletion of an object in use was denied, and waits for the end of its usages. */
export function awaitsDeletion(object: JsonObject): boolean {
  return isInUse(object) && textOrEmpty(object, "metadata", "annotations", ANNOTATION_ATTEMPT) !== "";
}

/** The cause of a usage in words: `Release/web uses Cluster/main`, or a reason. Empty for other kinds than usages. */
export function causeOf(usage: JsonObject): string {
  const group = groupOf(textOrEmpty(usage, "apiVersion"));
  const isUsage = USAGE_KINDS.some((kind) => kind.group === group && kind.kind === usage["kind"]);
  return isUsage ? textOrEmpty(usage, "metadata", "annotations", "crossplane.io/usage-details") : "";
}

/**
 * The usages that protect an object, in any version of its kind.
 *
 * @throws {ApiError} if usages cannot be listed
 */
export async function usagesOf(client: Client, object: LiveObject, signal: AbortSignal): Promise<LiveObject[]> {
  const { apiVersion, kind, metadata } = object;
  const isNamespaced = metadata.namespace !== undefined;
  const usages = await listUsages(client, ({ namespaced }) => namespaced === isNamespaced, signal);
  return (usages ?? []).filter((usage) => {
    const used = usedBy(usage);
    const isSameKind = groupOf(used.apiVersion) === groupOf(apiVersion) && used.kind === kind;
    return isSameKind && used.name === metadata.name && used.namespace === metadata.namespace;
  });
}

/**
 * The usages of some kinds; undefined if the cluster serves none of the kinds.
 *
 * @throws {ApiError} if they cannot be listed
 */
export async function listUsages(
  client: Client,
  concerns: (kind: ResourceKind) => boolean,
  signal?: AbortSignal,
): Promise<LiveObject[] | undefined> {
  const lists = await Promise.all(
    USAGE_KINDS.filter(concerns).map((kind) =>
      client.list(kind, { signal }).catch((error: unknown) => {
        // A cluster can serve some of the kinds only.
        if (isApiError(error, "KindNotServed", "NotFound")) return undefined;
        throw error;
      }),
    ),
  );
  const served = lists.filter((list) => list !== undefined);
  return served.length === 0 ? undefined : served.flatMap(({ items }) => items);
}

/** The object that a usage protects. Its name is empty until a selector has chosen it. */
export function usedBy(usage: LiveObject): ObjectReference {
  const of = valueAt(usage, "spec", "of");
  const namespace =
    textOrEmpty(of, "resourceRef", "namespace") ||
    textOrEmpty(of, "resourceSelector", "namespace") ||
    usage.metadata.namespace;
  return {
    apiVersion: textOrEmpty(of, "apiVersion"),
    kind: textOrEmpty(of, "kind"),
    name: textOrEmpty(of, "resourceRef", "name"),
    ...(namespace !== undefined && { namespace }),
  };
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes("/") ? apiVersion.replace(/\/.*/, "") : "";
}
