import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { type RunningController, startController } from "../harness/controller-program.ts";
import { ANYTHING, definitionYaml } from "../harness/definition-yaml.ts";
import { addHostBases } from "../harness/host-bases.ts";
import { needs } from "../harness/needs.ts";
import { type RunningServer, startRunnerServer } from "../harness/runner-server.ts";
import { Workspace } from "../harness/workspace.ts";

// The PostgreSQL instance of Crossplane's design document "Composition Functions", on a server: the controller, its
// runner on a socket, and functions in containers.

const POSTGRESQL = definitionYaml("XPostgreSQLInstance", {
  group: "database.example.org",
  version: "v1alpha1",
  more: "connectionSecretKeys: [uri]",
});
const definitions = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: cloudsqlinstances.database.gcp.example.org }
spec:
  group: database.gcp.example.org
  scope: Cluster
  names: { kind: CloudSQLInstance, plural: cloudsqlinstances }
  versions:
    - name: v1beta1
      served: true
      storage: true
      subresources: { status: {} }
      schema: { openAPIV3Schema: { type: object, properties: { spec: ${ANYTHING}, status: ${ANYTHING} } } }
---${POSTGRESQL}`;

const instance = `
apiVersion: database.example.org/v1alpha1
kind: XPostgreSQLInstance
metadata: { name: my-db }
spec:
  parameters: { storageGB: 20 }
  compositionRef: { name: cloudsql }
  writeConnectionSecretToRef: { namespace: crossplane-system, name: my-db }
`;

const FUNCTION = `
const io = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const { resource } = io.observed.composite;
const { version } = io.config.spec;
io.desired = io.desired ?? {};
io.desired.composite = {
  resource: { apiVersion: resource.apiVersion, kind: resource.kind, status: { version } },
  connectionDetails: [{ name: "uri", value: "postgresql://secret@db.example.org:5432" }],
};
io.desired.resources = [...(io.desired.resources ?? []), {
  name: "replica",
  resource: {
    apiVersion: "database.gcp.example.org/v1beta1", kind: "CloudSQLInstance",
    spec: { forProvider: { databaseVersion: version, settings: { dataDiskSizeGb: resource.spec.parameters.storageGB } } },
  },
  readinessChecks: [{ type: "None" }],
}];
io.results = [{ severity: "Normal", message: "chose " + version }];
process.stdout.write(JSON.stringify(io));
`;

const CONTAINER = { name: "cloudsql", type: "Container", network: "Isolated" };
const CHROOT = { name: "in-chroot", type: "Chroot", network: "Accessible" };

const composition = (image: string, version: string, { name, type, network } = CONTAINER): string => `
apiVersion: apiextensions.crossplane.io/v2alpha1
kind: Composition
metadata: { name: ${name} }
spec:
  compositeTypeRef: { apiVersion: database.example.org/v1alpha1, kind: XPostgreSQLInstance }
  resources:
    - name: primary
      base: { apiVersion: database.gcp.example.org/v1beta1, kind: CloudSQLInstance, spec: { forProvider: { tier: small } } }
      patches:
        - { fromFieldPath: spec.parameters.storageGB, toFieldPath: spec.forProvider.settings.dataDiskSizeGb }
      readinessChecks: [{ type: None }]
  functions:
    - name: my-cool-function
      type: ${type}
      container:
        image: "${image}"
        imagePullPolicy: Never
        timeout: 30s
        network: ${network}
        runner: { endpoint: "unix:///@crossplane/fn/default.sock" }
      config:
        apiVersion: database.example.org/v1alpha1
        kind: Config
        metadata: { name: cloudsql }
        spec: { version: ${version} }
`;

describe("an XR that is composed by templates and a function", needs("api-server", "crun"), () => {
  let workspace: Workspace;
  let runner: RunningServer;
  let server: TestApiServer;
  let controller: RunningController;
  let image: string;

  beforeAll(async () => {
    workspace = await Workspace.create();
    await addHostBases(workspace, "node");
    image = await buildFunction(workspace);
    const socket = `unix:${workspace.path("runner.sock")}`;
    // Only root can run functions in chroots.
    const args = process.getuid?.() === 0 ? ["--allow-chroot", "--allow-network"] : [];
    runner = await startRunnerServer(workspace, ["--address", socket, ...args]);
    server = await startApiServer();
    await server.kubectl(["create", "namespace", "crossplane-system"]);
    await apply(definitionsOf(0));
    controller = await startController(server.admin.kubeconfig, {
      args: ["--enable-composition-functions", "--runner", socket],
    });
    await apply(definitionsOf(1));
    await server.kubectl(["wait", "xrd", "--all", "--for=condition=Established", "--timeout=60s"]);
    await apply(composition(image, "POSTGRES_9_6"));
  });
  afterAll(async () => {
    await controller?.[Symbol.asyncDispose]();
    await server?.stop();
    await runner?.[Symbol.asyncDispose]();
    await workspace?.[Symbol.asyncDispose]();
  });

  const apply = (yaml: string): Promise<string> => server.kubectl(["apply", "-f", "-"], { input: yaml });
  const get = async (...args: readonly string[]): Promise<string> => (await server.kubectl(["get", ...args])).trim();
  const message = (): Promise<string> =>
    get("xpostgresqlinstance", "my-db", "-o", "jsonpath={.status.conditions[*].message}");

  test("has the fields of both, the function's status and secret, and its results as events", async () => {
    await expect.poll(() => apply(instance).then(() => "", String), { timeout: 30_000 }).toBe("");
    await server.kubectl(["wait", "xpostgresqlinstance/my-db", "--for=condition=Ready", "--timeout=60s"]);
    const path = "jsonpath={.items[*].spec.forProvider}";
    const rows = (await get("cloudsqlinstances", "-o", path)).split(" ").map((row) => JSON.parse(row) as object);
    expect(rows).toHaveLength(2);
    expect(rows).toContainEqual({ tier: "small", settings: { dataDiskSizeGb: 20 } });
    expect(rows).toContainEqual({ databaseVersion: "POSTGRES_9_6", settings: { dataDiskSizeGb: 20 } });
    expect(await get("xpostgresqlinstance", "my-db", "-o", "jsonpath={.status.version}")).toBe("POSTGRES_9_6");
    const secret = await get("-n", "crossplane-system", "secret", "my-db", "-o", "jsonpath={.data.uri}");
    expect(Buffer.from(secret, "base64").toString()).toBe("postgresql://secret@db.example.org:5432");
    await expect
      .poll(() => get("events", "-A", "-o", "jsonpath={.items[*].message}"), { timeout: 30_000 })
      .toContain("chose POSTGRES_9_6");
    const everything = JSON.stringify(controller.log()) + (await get("events", "-A", "-o", "json"));
    expect(everything).not.toContain("secret@db");
  });

  test("has the same fields through a function in a chroot, where the runner allows it", needs("root"), async () => {
    await apply(composition(image, "POSTGRES_9_6", CHROOT));
    const other = instance.replaceAll("my-db", "in-chroot").replace("{ name: cloudsql }", "{ name: in-chroot }");
    await apply(other);
    await server.kubectl(["wait", "xpostgresqlinstance/in-chroot", "--for=condition=Ready", "--timeout=60s"]);
    const label = "crossplane.io/composite=in-chroot";
    const versions = await get(
      "cloudsqlinstances",
      "-l",
      label,
      "-o",
      "jsonpath={.items[*].spec.forProvider.databaseVersion}",
    );
    expect(versions).toBe("POSTGRES_9_6");
    expect(await get("xpostgresqlinstance", "in-chroot", "-o", "jsonpath={.status.version}")).toBe("POSTGRES_9_6");
    await server.kubectl(["delete", "xpostgresqlinstance/in-chroot", "--timeout=60s"]);
    expect(await get("cloudsqlinstances", "-l", label, "-o", "name")).toBe("");
  });

  test("retains its resources while the runner is down, reports it, and recovers when it is back", async () => {
    const before = await get("cloudsqlinstances", "-o", "name");
    await runner[Symbol.asyncDispose]();
    await apply(composition(image, "POSTGRES_11"));
    await server.kubectl(["wait", "xpostgresqlinstance/my-db", "--for=condition=Synced=False", "--timeout=60s"]);
    expect(await message()).toContain("my-cool-function");
    expect(await get("cloudsqlinstances", "-o", "name")).toBe(before);
    runner = await startRunnerServer(workspace, ["--address", `unix:${workspace.path("runner.sock")}`]);
    await server.kubectl([
      "wait",
      "xpostgresqlinstance/my-db",
      "--for=jsonpath={.status.version}=POSTGRES_11",
      "--timeout=60s",
    ]);
    await server.kubectl(["wait", "xpostgresqlinstance/my-db", "--for=condition=Synced", "--timeout=60s"]);
    expect(await get("cloudsqlinstances", "-o", "name")).toBe(before);
  });

  test("is deleted with its resources, without a runner", async () => {
    await runner[Symbol.asyncDispose]();
    await server.kubectl(["delete", "xpostgresqlinstance/my-db", "--timeout=60s"]);
    expect(await get("cloudsqlinstances", "-o", "name")).toBe("");
    expect(await get("-n", "crossplane-system", "secrets", "-o", "name")).toBe("");
  });
});

function definitionsOf(index: number): string {
  return definitions.split("\n---\n")[index] ?? "";
}

async function buildFunction(workspace: Workspace): Promise<string> {
  await workspace.write("function/function", `#!/usr/bin/env node\n${FUNCTION}`, { mode: 0o755 });
  const built = await workspace.xfn(["build", workspace.path("function"), "-t", "test/cloudsql"]);
  if (built.code !== 0) throw new Error(`cannot build the function: ${built.stderr}`);
  return "test/cloudsql";
}
