import { type Client, kubeconfigContexts, type ResourceKind } from "@xfn/kubernetes";
import { flagIn, type ListedValues } from "@xfn/program/completion";
import { type ClusterFlags, withCluster } from "../cluster/with-cluster.ts";
import { openImageStore } from "../store/open-store.ts";

// A person waits for it at the prompt.
const TIMEOUT_MS = 3_000;

const NAMESPACES: ResourceKind = {
  group: "",
  version: "v1",
  kind: "Namespace",
  plural: "namespaces",
  namespaced: false,
};
const COMPOSITIONS: ResourceKind = {
  group: "apiextensions.crossplane.io",
  version: "v1",
  kind: "Composition",
  plural: "compositions",
  namespaced: false,
};

/** Lists what completes a value of xfn. @param words the line @param given the arguments in it */
export async function listValues(
  kind: ListedValues,
  words: readonly string[],
  given: readonly string[],
): Promise<readonly string[]> {
  const path = flagIn(words, "--kubeconfig");
  const context = flagIn(words, "--context");
  const flags = { ...(path !== undefined && { kubeconfig: path }), ...(context !== undefined && { context }) };
  if (kind === "contexts") return await kubeconfigContexts({ path });
  if (kind === "images") return await imageNames(flagIn(words, "--cache-dir"));
  if (kind === "namespaces") return await namesOf(flags, NAMESPACES);
  if (kind === "compositions") return await namesOf(flags, COMPOSITIONS);
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const { allKinds, findKind, listNames } = await import("../resource-tree/find-kind.ts");
  const { limitOf } = await import("../resource-tree/limit.ts");
  return await withCluster(flags, async (client, access) => {
    const limit = limitOf(REQUESTS);
    if (kind === "kinds") return await allKinds(client, limit, signal);
    const found = await findKind(client, given[0] ?? "", limit, signal);
    const namespace = flagIn(words, "--namespace", "-n") ?? access.namespace ?? "default";
    return await listNames(client, found, namespace, signal);
  });
}

const REQUESTS = 5;

async function imageNames(cacheDir: string | undefined): Promise<readonly string[]> {
  const store = await openImageStore(cacheDir);
  // Images without a name have a digest in its place.
  return store
    .images()
    .map(({ name }) => name)
    .filter((name) => !name.startsWith("sha256:"));
}

async function namesOf(flags: ClusterFlags, kind: ResourceKind): Promise<readonly string[]> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  return await withCluster(flags, async (client: Client) => {
    const { items } = await client.list(kind, { signal });
    return items.map(({ metadata }) => metadata.name);
  });
}
