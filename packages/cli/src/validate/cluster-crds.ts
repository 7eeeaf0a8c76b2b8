import type { ParsedDocument } from "@xfn/json/document";
import type { ResourceKind } from "@xfn/kubernetes";
import { type ClusterFlags, withCluster } from "../cluster/with-cluster.ts";
import { interruptible } from "../terminal/interrupt.ts";

const CRDS: ResourceKind = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};

/** All CRDs of the API server that the flags choose. They have no positions. */
export async function crdsOfCluster(flags: ClusterFlags): Promise<readonly ParsedDocument[]> {
  return await interruptible((signal) =>
    withCluster(flags, async (client) => {
      const { items } = await client.list(CRDS, { signal });
      return items.map((value) => ({
        value,
        source: `cluster:${value.metadata.name}`,
        positionOf: () => undefined,
      }));
    }),
  );
}
