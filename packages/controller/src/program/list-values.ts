import { connect, kubeconfigContexts, loadKubeconfig, type ResourceKind } from "@xfn/kubernetes";
import { flagIn, type ListedValues } from "@xfn/program/completion";

// A person waits for it at the prompt.
const TIMEOUT_MS = 3_000;

const NAMESPACES: ResourceKind = {
  group: "",
  version: "v1",
  kind: "Namespace",
  plural: "namespaces",
  namespaced: false,
};

/** Lists what completes a value of xfn-controller. @param words the line */
export async function listValues(kind: ListedValues, words: readonly string[]): Promise<readonly string[]> {
  const path = flagIn(words, "--kubeconfig");
  if (kind === "contexts") return await kubeconfigContexts({ path });
  if (kind !== "namespaces") return [];
  const access = await loadKubeconfig({ path, context: flagIn(words, "--context") });
  const client = await connect({ access, fieldManager: "xfn-controller", userAgent: "xfn-controller" });
  try {
    const { items } = await client.list(NAMESPACES, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return items.map(({ metadata }) => metadata.name);
  } finally {
    await client.close();
  }
}
