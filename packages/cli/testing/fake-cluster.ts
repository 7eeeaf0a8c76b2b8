import { ApiError, type Client, type LiveObject } from "@xfn/kubernetes";

/** The requests of a {@link fakeCluster} that a test replaces. */
export type FakeRequests = Partial<Pick<Client, "list" | "delete">>;

/** A client of a cluster with these objects, which can be read, and whose deletion is allowed as a dry run. */
export function fakeCluster(objects: readonly LiveObject[], requests: FakeRequests = {}): Client {
  const client: Pick<Client, "get" | "list" | "delete"> = {
    get: async ({ kind, name, namespace }) => {
      const found = objects.find(
        (one) => one.kind === kind && one.metadata.name === name && one.metadata.namespace === namespace,
      );
      return found ?? (await Promise.reject(new ApiError("NotFound", `${kind} ${name} not found`, { status: 404 })));
    },
    list: async ({ group, kind }) => ({
      items: objects.filter((one) => one.kind === kind && one.apiVersion.startsWith(group)),
      resourceVersion: "1",
    }),
    delete: async (_, { dryRun } = {}) =>
      dryRun === true ? undefined : await Promise.reject(new TypeError("a test deletes nothing")),
    ...requests,
  };
  return client as Client;
}
