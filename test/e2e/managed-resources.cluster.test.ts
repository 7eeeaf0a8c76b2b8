import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { type RunningController, startController } from "../harness/controller-program.ts";
import { freePort } from "../harness/free-port.ts";
import { needs } from "../harness/needs.ts";

// ManagedResourceDefinitions and their activation as users see them: the assertions of Crossplane's own tests.

const definition = (plural: string, spec = "", more = ""): string => `
apiVersion: apiextensions.crossplane.io/v1alpha1
kind: ManagedResourceDefinition
metadata: { name: ${plural}.mrd.example.org }
spec:
  group: mrd.example.org
  scope: Namespaced
  names: { kind: ${plural}, plural: ${plural}, singular: ${plural} }
  versions:
    - name: v1alpha1
      served: true
      storage: true
      subresources: { status: {} }
      schema:
        openAPIV3Schema:
          type: object
          properties: { spec: { type: object, properties: { coolField: { type: string } ${more} }, required: [coolField] } }
${spec}---
`;
const policy = (name: string, ...activate: readonly string[]): string => `
apiVersion: apiextensions.crossplane.io/v1alpha1
kind: ManagedResourceActivationPolicy
metadata: { name: ${name} }
spec: { activate: ${JSON.stringify(activate)} }
---
`;

describe("managed resources", needs("api-server"), () => {
  let server: TestApiServer;
  let controller: RunningController;
  const flags = ["--enable-composition-functions", "--enable-packages", "--runner", "unix:/nonexistent.sock"];
  const start = (...more: readonly string[]): Promise<RunningController> =>
    startController(server.admin.kubeconfig, { args: [...flags, ...more, "--namespace=default"] });

  beforeAll(async () => {
    server = await startApiServer();
    controller = await start("--activation=none");
  });
  afterAll(async () => {
    await controller?.end("SIGTERM");
    await server?.stop();
  });

  const apply = (...documents: readonly string[]): Promise<string> =>
    server.kubectl(["apply", "-f", "-"], { input: documents.join("") });
  const get = (...args: readonly string[]): Promise<string> => server.kubectl(["get", ...args]);
  const wait = (object: string, condition: string): Promise<string> =>
    server.kubectl(["wait", object, `--for=${condition}`, "--timeout=60s"]);
  const isReason = (reason: string): string =>
    `jsonpath={.status.conditions[?(@.type=="Established")].reason}=${reason}`;
  const field = (object: string, path: string): Promise<string> => get(object, "-o", `jsonpath={${path}}`);

  test("a definition is inactive by default, and its changes are checked", async () => {
    const nop = "mrd/nops.mrd.example.org";
    await apply(definition("nops"));
    await wait(nop, isReason("InactiveManagedResource"));
    expect(await field(nop, ".spec.state")).toBe("Inactive");
    expect(await get("crd", "nops.mrd.example.org", "--ignore-not-found")).toBe("");
    await apply(definition("nops", "  state: Active\n"));
    await wait(nop, "condition=Established");
    expect(await field("crd/nops.mrd.example.org", ".metadata.ownerReferences[*].kind")).toBe(
      "ManagedResourceDefinition",
    );
    await apply(definition("nops", "  state: Active\n", ", size: { type: integer }"));
    const size = ".spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.size.type";
    await expect.poll(() => field("crd/nops.mrd.example.org", size), { timeout: 30_000 }).toBe("integer");
    for (const [invalid, problem] of [
      [definition("nops", "  state: Inactive\n"), "state cannot change once it is Active"],
      [definition("nops", "  state: Active\n").replace("group: mrd", "group: other"), "must not change"],
      [definition("nops", "  state: Active\n").replace("scope: Namespaced", "scope: Cluster"), "must not change"],
      [definition("nops").replace("plural: nops", "plural: Nops"), "plural must be lower case"],
      [policy("bad", "[a-"), "must be a pattern"],
    ] as const)
      await expect(apply(invalid)).rejects.toThrow(problem);
    const uid = (): Promise<string> => field("crd/nops.mrd.example.org", ".metadata.uid").catch(() => "");
    const deleted = await uid();
    await server.kubectl(["delete", "crd/nops.mrd.example.org", "--wait=false"]);
    await expect.poll(async () => !["", deleted].includes(await uid()), { timeout: 30_000 }).toBe(true);
  });

  test("policies activate what matches, also later, and their deletion deactivates nothing", async () => {
    await apply(definition("buckets"), definition("databases"), definition("queues"));
    await wait("mrd/buckets.mrd.example.org", isReason("InactiveManagedResource"));
    await apply(policy("exact", "buckets.mrd.example.org"), policy("glob", "b*.example.org", "[d-e]?tabases.*"));
    await wait("mrd/buckets.mrd.example.org", "condition=Established");
    await wait("mrd/databases.mrd.example.org", "condition=Established");
    await wait("mrap/glob", "condition=Healthy");
    const activated = (name: string): Promise<string> => field(`mrap/${name}`, ".status.activated");
    await expect.poll(() => activated("exact")).toBe('["buckets.mrd.example.org"]');
    await expect.poll(() => activated("glob")).toBe('["buckets.mrd.example.org","databases.mrd.example.org"]');
    expect(await field("mrd/queues.mrd.example.org", ".spec.state")).toBe("Inactive");
    await apply(definition("backups"));
    await wait("mrd/backups.mrd.example.org", "condition=Established");
    await server.kubectl(["delete", "mrap", "exact", "glob"]);
    expect(await field("mrd/buckets.mrd.example.org", ".spec.state")).toBe("Active");
  });

  test("the first start creates the policy default, and later ones do not", async () => {
    expect(await get("mrap", "-o", "name")).toBe("");
    await controller.end("SIGTERM");
    controller = await start();
    expect(await field("mrap/default", ".spec.activate")).toBe('["*"]');
    await wait("mrd/queues.mrd.example.org", "condition=Established");
    await server.kubectl(["delete", "mrap", "default"]);
    await controller.end("SIGTERM");
    controller = await start();
    expect(await get("mrap", "-o", "name")).toBe("");
  });

  test("a Provider cannot be deleted while one of its kinds has objects", async () => {
    await controller.end("SIGTERM");
    const port = await freePort();
    const webhook = [`--admission-webhook=https://127.0.0.1:${port}`, `--admission-address=127.0.0.1:${port}`];
    controller = await start("--enable-usages", ...webhook, "--enable-provider-deletion-protection");
    const owned = async (kind: string, name: string, spec: string, by?: string): Promise<string> => {
      const [owner = "", uid = ""] = by === undefined ? [] : [by, await field(by, ".metadata.uid")];
      const [ownerKind, ownerName] = owner.split("/");
      const reference = `{ apiVersion: pkg.crossplane.io/v1, kind: ${ownerKind}, name: ${ownerName}, uid: ${uid}, controller: true }`;
      const owners = by === undefined ? "" : `, ownerReferences: [${reference}]`;
      return `apiVersion: pkg.crossplane.io/v1\nkind: ${kind}\nmetadata: { name: ${name}${owners} }\nspec: ${spec}\n---\n`;
    };
    await apply(await owned("Provider", "nop", "{ package: registry.invalid/nop:v1 }"));
    const revision = "{ image: registry.invalid/nop:v1, desiredState: Inactive, revision: 1 }";
    await apply(await owned("ProviderRevision", "nop-1", revision, "Provider/nop"));
    const owner = { apiVersion: "pkg.crossplane.io/v1", kind: "ProviderRevision", name: "nop-1", controller: true };
    const uid = await field("providerrevision/nop-1", ".metadata.uid");
    const patch = JSON.stringify({ metadata: { ownerReferences: [{ ...owner, uid }] } });
    await server.kubectl(["patch", "mrd", "queues.mrd.example.org", "--type=merge", "-p", patch]);
    await apply(
      "apiVersion: mrd.example.org/v1alpha1\nkind: queues\nmetadata: { name: a, namespace: default }\nspec: { coolField: a }\n",
    );
    const protections = (): Promise<string> => get("clusterusages", "-l", "crossplane.io/provider-protection=true");
    await expect.poll(protections, { timeout: 30_000 }).toContain("provider-protection-");
    const removal = (): Promise<string> => server.kubectl(["delete", "provider", "nop", "--dry-run=server"]);
    await expect
      .poll(() => removal().catch(String), { timeout: 30_000 })
      .toContain("nousages.protection.crossplane.io");
    await server.kubectl(["delete", "queues.mrd.example.org", "a"]);
    await expect.poll(protections, { timeout: 30_000 }).not.toContain("provider-protection-");
    await server.kubectl(["delete", "provider", "nop", "--wait=false"]);
  });
});
