import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { needs } from "../harness/needs.ts";
import { CHECKOUT } from "../harness/paths.ts";

// The example provider, as its README runs it.

const FOLDER = join(CHECKOUT, "examples/provider-nop");

describe("provider-nop", needs("api-server"), () => {
  let server: TestApiServer;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    server = await startApiServer({ users: ["provider"] });
    await server.kubectl(["apply", "-f", join(FOLDER, "crd.yaml"), "-f", join(FOLDER, "rbac.yaml")]);
    await server.kubectl(["wait", "crd/nopresources.nop.crossplane.io", "--for", "condition=Established"]);
    await server.restartControllerManager();
    // It needs only what rbac.yaml grants.
    await server.kubectl(["create", "clusterrolebinding", "p", "--clusterrole", "provider-nop", "--user", "provider"]);
    const child = spawn(process.execPath, [join(FOLDER, "main.ts")], {
      env: { PATH: process.env["PATH"], KUBECONFIG: server.user("provider").kubeconfig },
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    stop = async () => {
      const ended = once(child, "exit");
      child.kill("SIGINT");
      expect(await ended).toEqual([0, null]);
    };
  });
  afterAll(async () => {
    await stop();
    await server.stop();
  });

  const nop = (name: string, forProvider: object, more: object = {}): Promise<void> =>
    server.apply({
      apiVersion: "nop.crossplane.io/v1alpha1",
      kind: "NopResource",
      metadata: { name },
      spec: { forProvider, ...more },
    } as never);
  const field = (resource: string, path: string): Promise<string> =>
    server.kubectl(["get", ...resource.split(" "), "-o", `jsonpath={${path}}`]);
  const ready = (name: string, value: string): Promise<string> =>
    server.kubectl(["wait", `nopresource/${name}`, "--for", `condition=Ready=${value}`, "--timeout", "60s"]);

  test("the resource of the README becomes ready, with its secret", async () => {
    const text = (await readFile(join(FOLDER, "resource.yaml"), "utf8")).replace("time: 5s", "time: 1s");
    await server.kubectl(["apply", "-f", "-"], { input: text });
    await ready("ready-in-five-seconds", "True");
    const secret = await field("secret ready-in-five-seconds", ".data.username");
    expect(Buffer.from(secret, "base64").toString()).toBe("ada");
    await server.kubectl(["delete", "nopresource", "ready-in-five-seconds", "--timeout", "60s"]);
    await server.kubectl(["wait", "secret/ready-in-five-seconds", "--for", "delete", "--timeout", "60s"]);
  });

  test("an existing resource is not written again", async () => {
    await nop("steady", { conditionAfter: [{ time: "0s", conditionType: "Ready", conditionStatus: "True" }] });
    await ready("steady", "True");
    const before = await field("nopresource steady", ".metadata.resourceVersion");
    // Another one is created and deleted meanwhile.
    await nop("other", { conditionAfter: [{ time: "500ms", conditionType: "Ready", conditionStatus: "True" }] });
    await ready("other", "True");
    expect(await field("nopresource steady", ".metadata.resourceVersion")).toBe(before);
  });

  test("a secret of another owner is left alone", async () => {
    await server.kubectl(["create", "secret", "generic", "theirs", "--from-literal", "a=b"]);
    const conditionAfter = [{ time: "0s", conditionType: "Ready", conditionStatus: "True" }];
    const connectionDetails = [{ name: "a", value: "ours" }];
    await nop(
      "thief",
      { conditionAfter, connectionDetails },
      { writeConnectionSecretToRef: { namespace: "default", name: "theirs" } },
    );
    await nop("after", { conditionAfter });
    await ready("after", "True");
    expect(await field("secret theirs", ".data.a")).toBe(Buffer.from("b").toString("base64"));
    expect(await field("nopresource thief", ".status.conditions")).toBe("");
  });

  test("a selector finds the resource with the same controller, as soon as it exists", async () => {
    await server.kubectl(["create", "namespace", "owner"]);
    const uid = await field("namespace owner", ".metadata.uid");
    const owned = { ownerReferences: [{ apiVersion: "v1", kind: "Namespace", name: "owner", uid, controller: true }] };
    const peer = (name: string, forProvider: object, metadata: object): Promise<void> =>
      server.apply({
        apiVersion: "nop.crossplane.io/v1alpha1",
        kind: "NopResource",
        metadata: { name, ...metadata },
        spec: { forProvider },
      } as never);
    const peerSelector = { matchControllerRef: true, matchLabels: { role: "network" } };
    await peer("selecting", { peerSelector }, owned);
    const synced = '.status.conditions[?(@.type=="Synced")].reason';
    await expect.poll(() => field("nopresource selecting", synced)).toBe("ReferenceNotResolved");
    await peer("a-of-another", {}, { labels: { role: "network" } });
    await peer("selected", {}, { ...owned, labels: { role: "network" } });
    await expect.poll(() => field("nopresource selecting", ".spec.forProvider.peer")).toBe("selected");
    expect(await field("nopresource selecting", ".spec.forProvider.peerRef.name")).toBe("selected");
    await expect.poll(() => field("nopresource selecting", synced)).toBe("ReconcileSuccess");
  });

  test("a resource with a deletion delay remains until the delay is over", async () => {
    await nop("slow", { deleteAfter: "5s" });
    await expect
      .poll(() => field("nopresource slow", ".metadata.finalizers"), { timeout: 20_000 })
      .toContain("finalizer");
    await server.kubectl(["delete", "nopresource", "slow", "--wait=false"]);
    expect(await field("nopresource slow", ".metadata.deletionTimestamp")).not.toBe("");
    await server.kubectl(["wait", "nopresource/slow", "--for", "delete", "--timeout", "60s"]);
  });
});
