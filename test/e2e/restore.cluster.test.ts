import type { JsonObject } from "@xfn/json";
import { type ConnectedClient, connect, isApiError, type LiveObject, loadKubeconfig } from "@xfn/kubernetes";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { startController } from "../harness/controller-program.ts";
import { needs } from "../harness/needs.ts";
import { PATIENCE } from "../harness/patience.ts";
import { createThings, WIDGETS } from "../harness/things-cluster.ts";

// A backup of one cluster is restored in a new one while its controller runs.

const KINDS = [
  ["apiextensions.crossplane.io/v1", "CompositeResourceDefinition"],
  ["apiextensions.crossplane.io/v1", "Composition"],
  ["apiextensions.crossplane.io/v1", "CompositionRevision"],
  ["apiextensions.k8s.io/v1", "CustomResourceDefinition"],
  ["rbac.authorization.k8s.io/v1", "ClusterRole"],
  ["example.org/v1", "XThing"],
  ["example.org/v1", "Thing"],
  ["things.example.org/v1", "Widget"],
  ["v1", "Secret"],
] as const;

/** The metadata that Velero removes from an object before it creates it. */
const REMOVED = ["uid", "resourceVersion", "generation", "creationTimestamp", "selfLink", "ownerReferences"];

/** Creates an object as Velero does: without status, and with its managed fields in a second request. */
async function restore(client: ConnectedClient, object: LiveObject): Promise<void> {
  const { status: _, ...rest } = object;
  const metadata = Object.fromEntries(Object.entries(object.metadata).filter(([key]) => !REMOVED.includes(key)));
  const { managedFields, ...others } = metadata;
  try {
    const created = await client.create({ ...rest, metadata: { ...others, name: object.metadata.name } });
    const { resourceVersion } = created.metadata;
    const reference = { ...object, name: object.metadata.name, namespace: object.metadata.namespace };
    await client
      .patch(reference, "merge", { metadata: { managedFields: managedFields ?? null, resourceVersion } })
      .catch(() => {});
  } catch (error) {
    if (!isApiError(error, "AlreadyExists")) throw error;
  }
}

/** Managed fields a day older: a backup is older than the objects that a restore creates. */
function aged(object: LiveObject): LiveObject {
  const entries = (object.metadata["managedFields"] ?? []) as JsonObject[];
  const managedFields = entries.map((entry) => ({ ...entry, time: "2026-01-01T00:00:00Z" }));
  return { ...object, metadata: { ...object.metadata, managedFields } };
}

describe("a backup", needs("api-server"), () => {
  let backup: readonly LiveObject[];

  const listAll = async (client: ConnectedClient): Promise<LiveObject[]> => {
    const objects: LiveObject[] = [];
    for (const [apiVersion, kind] of KINDS) {
      const { items } = await client.list(await client.kind(apiVersion, kind));
      objects.push(...items.map((one) => ({ ...one, apiVersion, kind })));
    }
    return objects.filter(isOurs);
  };
  const isOurs = ({ metadata }: LiveObject): boolean =>
    /thing|widget|claimed|standalone|copy|^[0-9a-f-]{36}$/.test(metadata.name);
  const started = async (server: TestApiServer): Promise<ConnectedClient> =>
    connect({ access: await loadKubeconfig({ path: server.admin.kubeconfig }), fieldManager: "velero-server" });

  beforeAll(async () => {
    await using server = await startApiServer();
    await using _ = await startController(server.admin.kubeconfig);
    await createThings(server);
    const client = await started(server);
    backup = (await listAll(client)).map(aged);
    await client.close();
  });

  const of = (kind: string): LiveObject[] => backup.filter((one) => one.kind === kind);

  test("holds two XRs with their resources", () => {
    expect(of("Widget")).toHaveLength(2 * WIDGETS);
    expect(of("XThing")).toHaveLength(2);
    expect(of("Secret").map(({ metadata }) => metadata.name)).toContain("copy");
  });

  const rank =
    (first: readonly string[]) =>
    (one: LiveObject): number => {
      const at = first.indexOf(one.kind);
      return at === -1 ? first.length : at;
    };

  describe.each<[order: string, kinds: readonly string[]]>([
    [
      "claims and XRs first",
      [
        "CustomResourceDefinition",
        "Thing",
        "XThing",
        "CompositeResourceDefinition",
        "Composition",
        "CompositionRevision",
        "ClusterRole",
        "Secret",
        "Widget",
      ],
    ],
    [
      "definitions first",
      [
        "CompositeResourceDefinition",
        "Composition",
        "CustomResourceDefinition",
        "XThing",
        "Widget",
        "Thing",
        "Secret",
        "CompositionRevision",
      ],
    ],
    [
      "XRs after their resources",
      ["CustomResourceDefinition", "Widget", "Secret", "CompositionRevision", "XThing", "Thing"],
    ],
    [
      "claims last",
      [
        "CustomResourceDefinition",
        "CompositionRevision",
        "CompositeResourceDefinition",
        "Composition",
        "XThing",
        "Widget",
        "Secret",
        "Thing",
      ],
    ],
  ])("restored with %s", (_, kinds) => {
    let server: TestApiServer;
    let client: ConnectedClient;
    beforeAll(async () => {
      server = await startApiServer();
      client = await started(server);
    });
    afterAll(async () => {
      await client?.close();
      await server?.stop();
    });

    test("is adopted: nothing is deleted, recreated or duplicated", async () => {
      await using controller = await startController(server.admin.kubeconfig);
      const created = new Map<string, string>();
      const ordered = backup.toSorted((a, b) => rank(kinds)(a) - rank(kinds)(b));
      for (const object of ordered) {
        await expect.poll(() => restore(client, object).then(() => "", String), PATIENCE).toBe("");
        const live = await client.get({ ...object, name: object.metadata.name, namespace: object.metadata.namespace });
        created.set(`${object.kind} ${object.metadata.name}`, live.metadata.uid);
      }
      const xrs = (): Promise<readonly LiveObject[]> =>
        client
          .list({ group: "example.org", version: "v1", kind: "XThing", plural: "xthings", namespaced: false })
          .then(({ items }) => items);
      const widgets = (): Promise<readonly LiveObject[]> =>
        client
          .list({ group: "things.example.org", version: "v1", kind: "Widget", plural: "widgets", namespaced: false })
          .then(({ items }) => items);
      await expect
        .poll(async () => {
          const uids = (await xrs()).map(({ metadata }) => metadata.uid);
          return (await widgets()).filter(({ metadata }) => {
            const [owner] = (metadata["ownerReferences"] ?? []) as { uid: string }[];
            return owner !== undefined && uids.includes(owner.uid);
          }).length;
        }, PATIENCE)
        .toBe(2 * WIDGETS);
      await server.kubectl(["wait", "thing/claimed", "--for=condition=Ready", "--timeout=60s"]);
      await server.kubectl(["wait", "xthing/standalone", "--for=condition=Ready", "--timeout=60s"]);
      const after = (await listAll(client)).map((one) => [`${one.kind} ${one.metadata.name}`, one.metadata.uid]);
      expect(Object.fromEntries(after)).toEqual(Object.fromEntries(created));
      expect(controller.log().filter(({ level }) => level === "error")).toEqual([]);
      // The claim still owns its composite.
      await server.kubectl(["delete", "thing/claimed", "--timeout=60s"]);
      await expect.poll(async () => (await widgets()).length, PATIENCE).toBe(WIDGETS);
    });
  });
});
