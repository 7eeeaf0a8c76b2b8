import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { startController } from "../harness/controller-program.ts";
import { needs } from "../harness/needs.ts";
import { PATIENCE } from "../harness/patience.ts";
import { createThings, WIDGETS } from "../harness/things-cluster.ts";

// The commands of docs/get-started/install.md, "Uninstall".

describe("the controller is uninstalled", needs("api-server"), () => {
  let server: TestApiServer;

  beforeEach(async () => {
    server = await startApiServer();
  });
  afterEach(() => server?.stop());

  const get = async (...args: readonly string[]): Promise<string[]> => {
    const names = await server.kubectl(["get", ...args, "-o", "name"]);
    return names.split("\n").filter((name) => name !== "");
  };
  const deleteCrds = async (): Promise<void> => {
    await server.kubectl(["delete", "crds", "-l", "app.kubernetes.io/part-of=xfn", "--timeout=60s"]);
    expect(await get("crds")).toEqual(["customresourcedefinition.apiextensions.k8s.io/widgets.things.example.org"]);
  };

  test("and everything with it", async () => {
    {
      await using _ = await startController(server.admin.kubeconfig);
      await createThings(server);
      expect(await get("widgets")).toHaveLength(2 * WIDGETS);
      await server.kubectl(["delete", "xrd", "--all", "--timeout=60s"]);
      await expect.poll(() => get("widgets"), PATIENCE).toEqual([]);
    }
    await deleteCrds();
    expect(await get("secrets", "-A")).toEqual([]);
  });

  test("and leaves the composed resources without owners", async () => {
    {
      await using _ = await startController(server.admin.kubeconfig);
      await createThings(server);
      // The garbage collector, which sees new kinds late, removes the owners.
      await server.restartControllerManager();
      const before = await get("widgets");
      await server.kubectl(["annotate", "things", "--all", "-A", "crossplane.io/paused=true"]);
      await server.kubectl(["delete", "xthings", "--all", "--cascade=orphan", "--timeout=60s"]);
      await server.kubectl(["delete", "things", "--all", "-A", "--wait=false"]);
      await server.kubectl(["annotate", "things", "--all", "-A", "crossplane.io/paused-"]);
      await server.kubectl(["delete", "xrd", "--all", "--timeout=60s"]);
      expect(await get("widgets")).toEqual(before);
    }
    await deleteCrds();
    const owners = ["get", "widgets", "-o", "jsonpath={.items[*].metadata.ownerReferences}"];
    expect((await server.kubectl(owners)).trim()).toBe("");
    expect(await get("widgets")).toHaveLength(2 * WIDGETS);
  });

  test("and composes again after it is installed again", async () => {
    const uids = ["get", "widgets,xthings", "-o", "jsonpath={.items[*].metadata.uid}"];
    const versions = ["get", "widgets,xthings", "-o", "jsonpath={.items[*].metadata.resourceVersion}"];
    let before: string[];
    {
      await using _ = await startController(server.admin.kubeconfig);
      await createThings(server);
      before = [await server.kubectl(uids), await server.kubectl(versions)];
    }
    await using _ = await startController(server.admin.kubeconfig);
    await server.apply({ apiVersion: "example.org/v1", kind: "XThing", metadata: { name: "later" }, spec: {} });
    await server.kubectl(["wait", "xthing/later", "--for=condition=Ready", "--timeout=60s"]);
    await server.kubectl(["delete", "xthing/later", "--timeout=60s"]);
    await expect.poll(() => get("widgets"), PATIENCE).toHaveLength(2 * WIDGETS);
    expect([await server.kubectl(uids), await server.kubectl(versions)]).toEqual(before);
  });
});
