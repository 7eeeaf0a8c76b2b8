import { spawnSync } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { findBinaries } from "@xfn/dev-cluster";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { type RunningController, startController } from "../harness/controller-program.ts";
import { needs } from "../harness/needs.ts";
import { CHECKOUT, CONTROLLER_MAIN, XFN_MAIN } from "../harness/paths.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";

// The program as an operator runs it, and Compositions as a platform team and its developers use them, with kubectl on
// a real API server.

function xfnController(...args: readonly string[]): { code: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [CONTROLLER_MAIN, ...args], {
    encoding: "utf8",
    env: { PATH: process.env["PATH"] },
    maxBuffer: 16 * 1024 * 1024,
  });
  return { code: status, stdout, stderr };
}

describe("xfn-controller", () => {
  test("reports all invalid settings at once, before it does anything", () => {
    const { code, stdout, stderr } = xfnController(
      "start",
      "--poll-interval",
      "never",
      "--kubeconfig",
      "/missing",
      "--runner-tls-key",
      "x",
    );
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr.trimEnd().split("\n")).toEqual([
      expect.stringMatching(/^xfn-controller: --poll-interval: "never" is not a duration: /),
      expect.stringMatching(/^xfn-controller: --kubeconfig: there is no file \/missing$/),
      expect.stringMatching(/^xfn-controller: --runner-\* .*--enable-composition-functions$/),
    ]);
  });

  test("has help with an example for each command", () => {
    for (const command of ["start", "crds"]) {
      const { code, stdout } = xfnController(command, "--help");
      expect(code).toBe(0);
      expect(stdout).toContain(`$ xfn-controller ${command}`);
    }
    expect(xfnController("stop").code).toBe(2);
  });

  test("cannot start without an API server", () => {
    const { code, stderr } = xfnController("start", "--metrics-address", "off");
    expect(code).toBe(2);
    expect(stderr).toContain("--kubeconfig");
  });
});

const anything = "{ type: object, x-kubernetes-preserve-unknown-fields: true }";

const crd = (kind: string, plural: string, group: string, version: string): string => `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: ${plural}.${group} }
spec:
  group: ${group}
  scope: Cluster
  names: { kind: ${kind}, plural: ${plural} }
  versions:
    - name: ${version}
      served: true
      storage: true
      subresources: { status: {} }
      schema: { openAPIV3Schema: { type: object, properties: { spec: ${anything}, status: ${anything} } } }
---`;

const mysqlDefinition = `
apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: { name: mysqlinstances.database.example.org }
spec:
  group: database.example.org
  names: { kind: MySQLInstance, plural: mysqlinstances }
  claimNames: { kind: MySQLInstanceRequirement, plural: mysqlinstancerequirements }
  connectionSecretKeys: [username, password, endpoint]
  versions:
    - name: v1alpha1
      served: true
      referenceable: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                engineVersion: { type: string }
                storageGB: { type: integer }
                region: { type: string }
`;

// The example of Crossplane's design document "Resource Composition", in its version. The server's secret gets a
// suffix, because it would have the name of the XR's secret.
const mysqlComposition = `
apiVersion: apiextensions.crossplane.io/v1alpha1
kind: Composition
metadata:
  name: private-mysql-server
  labels: { connectivity: private }
spec:
  from: { apiVersion: database.example.org/v1alpha1, kind: MySQLInstance }
  writeConnectionSecretsToNamespace: crossplane-system
  to:
    - base:
        apiVersion: azure.example.org/v1alpha3
        kind: ResourceGroup
        spec: { location: West US, reclaimPolicy: Delete }
      patches:
        - fromFieldPath: spec.region
          toFieldPath: spec.forProvider.location
          transforms: [{ type: map, map: { us-west: West US, us-east: East US } }]
    - base:
        apiVersion: azure.example.org/v1alpha3
        kind: MySQLServer
        spec:
          forProvider: { administratorLogin: myadmin, storageProfile: { storageMB: 20480 } }
          writeConnectionSecretToRef: { namespace: crossplane-system }
      patches:
        - fromFieldPath: metadata.uid
          toFieldPath: spec.writeConnectionSecretToRef.name
          transforms: [{ type: string, string: { fmt: "%s-server" } }]
        - fromFieldPath: spec.engineVersion
          toFieldPath: spec.forProvider.version
        - fromFieldPath: spec.storageGB
          toFieldPath: spec.forProvider.storageMB
          transforms: [{ type: math, math: { multiply: 1024 } }]
        - fromFieldPath: metadata.labels[crossplane.io/claim-name]
          toFieldPath: metadata.annotations[example.org/server]
          transforms: [{ type: string, string: { fmt: "%s-mysqlserver" } }]
      connectionDetails:
        - { name: username, fromConnectionSecretKey: username }
        - { name: password, fromConnectionSecretKey: password }
        - { name: endpoint, fromConnectionSecretKey: endpoint }
`;

const mysqlClaim = `
apiVersion: database.example.org/v1alpha1
kind: MySQLInstanceRequirement
metadata: { name: sql, namespace: team }
spec:
  engineVersion: "5.7"
  storageGB: 10
  region: us-east
  compositionSelector: { matchLabels: { connectivity: private } }
  writeConnectionSecretToRef: { name: sql }
`;

const group = (name: string): string => `
apiVersion: example.org/v1
kind: XGroup
metadata: { name: ${name} }
spec: { compositionRef: { name: groups } }
`;

describe("on an API server", needs("api-server"), () => {
  let server: TestApiServer;
  let controller: RunningController;

  beforeAll(async () => {
    server = await startApiServer();
    await server.kubectl(["create", "namespace", "crossplane-system"]);
    await server.kubectl(["create", "namespace", "team"]);
    await apply(crd("ResourceGroup", "resourcegroups", "azure.example.org", "v1alpha3"));
    await apply(crd("MySQLServer", "mysqlservers", "azure.example.org", "v1alpha3"));
    // No test waits for a poll.
    controller = await startController(server.admin.kubeconfig, { args: ["--poll-interval", "10m"] });
  });
  afterAll(async () => {
    await controller?.[Symbol.asyncDispose]();
    await server?.stop();
  });

  const apply = (yaml: string): Promise<string> => server.kubectl(["apply", "-f", "-"], { input: yaml });
  const wait = (what: string, condition: string, ...args: readonly string[]): Promise<string> =>
    server.kubectl(["wait", what, `--for=${condition}`, "--timeout=60s", ...args]);
  const get = async (...args: readonly string[]): Promise<string> => (await server.kubectl(["get", ...args])).trim();
  const applyWhenServed = async (yaml: string): Promise<void> => {
    await expect.poll(() => apply(yaml).then(() => "", String), { timeout: 30_000 }).toBe("");
  };

  test("installs its CRDs, becomes ready, and has the metrics of docs/reference/metrics.md", async () => {
    expect(await get("crds", "-o", "name", "-l", "app.kubernetes.io/part-of=xfn")).toContain("compositions");
    for (const probe of ["livez", "readyz"]) expect((await fetch(`${controller.http}/${probe}`)).status).toBe(200);
    const metrics = await (await fetch(`${controller.http}/metrics`)).text();
    expect(metrics).toMatch(/^xfn_controller_api_requests_total\{.*\} \d+$/m);
    expect(metrics).toContain("xfn_controller_leader 1");
    const page = readFileSync(join(CHECKOUT, "docs/reference/metrics.md"), "utf8");
    const promised = new Set([...page.matchAll(/`(xfn_controller_\w+)`/g)].map(([, name]) => name));
    const made = [...metrics.matchAll(/^# TYPE (xfn_controller_\w+) /gm)].map(([, name]) => name);
    expect(made.toSorted()).toEqual([...promised].toSorted());
  });

  test("xfn is a plugin of kubectl under the name that its package gives it", () => {
    const { bin } = JSON.parse(readFileSync(join(CHECKOUT, "packages/cli/package.json"), "utf8")) as {
      bin: Record<string, string>;
    };
    const folder = temporaryFolder();
    symlinkSync(join(CHECKOUT, "packages/cli", bin["kubectl-xfn"] ?? ""), join(folder, "kubectl-xfn"));
    const { binaries } = findBinaries();
    const env = { PATH: `${folder}:${dirname(process.execPath)}:${process.env["PATH"]}` };
    const args = ["xfn", "version", "--kubeconfig", server.admin.kubeconfig];
    const { status, stdout } = spawnSync(binaries?.kubectl ?? "", args, { encoding: "utf8", env });
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining("xfn-controller") as unknown });
  });

  test("xfn version has the versions of both programs and of the API server", async () => {
    const { version } = JSON.parse(readFileSync(join(CHECKOUT, "packages/cli/package.json"), "utf8")) as {
      version: string;
    };
    const flags = ["version", "-o", "json", "--kubeconfig", server.admin.kubeconfig];
    const { stdout, stderr } = spawnSync(process.execPath, [XFN_MAIN, ...flags], { encoding: "utf8" });
    expect({ ...(JSON.parse(stdout) as object), stderr }).toEqual({
      client: version,
      controller: version,
      kubernetes: expect.stringMatching(/^v1\.\d+\./) as unknown,
      stderr: "",
    });
    const without = spawnSync(process.execPath, [XFN_MAIN, "version", "--kubeconfig", "/missing"], {
      encoding: "utf8",
    });
    expect(without).toMatchObject({ status: 2, stdout: `xfn             ${version}\n` });
  });

  test("MySQL of Crossplane's design: map, math and string transforms, a claim with its secret, and a complete deletion", async () => {
    await apply(mysqlDefinition);
    await wait("xrd/mysqlinstances.database.example.org", "condition=Offered");
    await apply(mysqlComposition);
    await applyWhenServed(mysqlClaim);
    await expect.poll(() => get("mysqlservers", "-o", "name"), { timeout: 30_000 }).not.toBe("");
    const [row = ""] = (
      await get(
        "mysqlservers",
        "-o",
        'jsonpath={range .items[*]}{.metadata.name} {.spec.forProvider} {.metadata.annotations.example\\.org/server} {.spec.writeConnectionSecretToRef.name}{"\\n"}{end}',
      )
    ).split("\n");
    const [name = "", json = "", annotation, secret = ""] = row.split(" ");
    expect(JSON.parse(json)).toMatchObject({ storageMB: 10_240, version: "5.7" });
    expect(annotation).toBe("sql-mysqlserver");
    expect(await get("resourcegroups", "-o", "jsonpath={.items[*].spec.forProvider.location}")).toBe("East US");
    expect(
      await get(
        "-n",
        "team",
        "mysqlinstancerequirement",
        "sql",
        "-o",
        'jsonpath={.status.conditions[?(@.type=="Ready")].status}',
      ),
    ).toBe("False");

    // The test acts as the provider.
    await apply(`
apiVersion: v1
kind: Secret
metadata: { name: "${secret}", namespace: crossplane-system }
type: connection.crossplane.io/v1alpha1
stringData: { username: myadmin, password: secret-of-the-server, endpoint: mysql.example.org, other: "1" }
`);
    for (const object of [`mysqlserver/${name}`, await get("resourcegroups", "-o", "name")]) {
      const status = { status: { conditions: [{ type: "Ready", status: "True" }] } };
      await server.kubectl(["patch", object, "--subresource=status", "--type=merge", "-p", JSON.stringify(status)]);
    }
    await wait("mysqlinstancerequirement/sql", "condition=Ready", "-n", "team");
    const data = JSON.parse(await get("-n", "team", "secret", "sql", "-o", "jsonpath={.data}")) as Record<
      string,
      string
    >;
    expect(Object.keys(data).toSorted()).toEqual(["endpoint", "password", "username"]);
    expect(Buffer.from(data["password"] ?? "", "base64").toString()).toBe("secret-of-the-server");
    expect(JSON.stringify(controller.log())).not.toContain("secret-of-the-server");

    await server.kubectl(["delete", "-n", "team", "mysqlinstancerequirement/sql", "--timeout=60s"]);
    await expect
      .poll(() => get("mysqlservers,resourcegroups,mysqlinstances", "-o", "name"), { timeout: 30_000 })
      .toBe("");
    await server.kubectl([
      "delete",
      "composition/private-mysql-server",
      "xrd/mysqlinstances.database.example.org",
      "--timeout=60s",
    ]);
    expect(await get("crds", "-o", "name")).not.toContain("database.example.org");
    // The garbage collector, which sees new kinds late, deletes revisions.
    await server.restartControllerManager();
    await expect.poll(() => get("compositionrevisions", "-o", "name"), { timeout: 60_000 }).toBe("");
  });

  test("an XR reports why it is not composed, and is composed as soon as the cause is fixed", async () => {
    await apply(`
apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: { name: xgroups.example.org }
spec:
  group: example.org
  names: { kind: XGroup, plural: xgroups }
  versions:
    - { name: v1, served: true, referenceable: true, schema: { openAPIV3Schema: { type: object, properties: { spec: ${anything} } } } }
`);
    await wait("xrd/xgroups.example.org", "condition=Established");
    await applyWhenServed(group("late"));
    await wait("xgroup/late", "condition=Synced=False");
    expect(await get("xgroup", "late", "-o", "jsonpath={.status.conditions[*].message}")).toContain("groups");
    await apply(`
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: groups }
spec:
  compositeTypeRef: { apiVersion: example.org/v1, kind: XGroup }
  functions: [{ name: f, type: Container, container: { image: registry.example.org/f } }]
`);
    // Functions are disabled.
    await expect
      .poll(() => get("xgroup", "late", "-o", "jsonpath={.status.conditions[*].message}"), { timeout: 30_000 })
      .toContain("--enable-composition-functions");
    await apply(`
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: groups }
spec:
  compositeTypeRef: { apiVersion: example.org/v1, kind: XGroup }
  functions: null
  resources:
    - name: group
      base: { apiVersion: azure.example.org/v1alpha3, kind: ResourceGroup }
      readinessChecks: [{ type: None }]
`);
    await wait("xgroup/late", "condition=Ready");
    await server.kubectl(["delete", "xgroup/late", "--timeout=60s"]);
    await expect.poll(() => get("resourcegroups", "-o", "name"), { timeout: 30_000 }).toBe("");
  });

  test("a deleted CRD of a definition is created again at once, with new instances", async () => {
    await apply(group("lost"));
    await wait("xgroup/lost", "condition=Ready");
    const uid = await get("crd", "xgroups.example.org", "-o", "jsonpath={.metadata.uid}");
    // Its instances and their composed resources are deleted first.
    await server.kubectl(["delete", "crd/xgroups.example.org", "--timeout=60s"]);
    await applyWhenServed(group("found"));
    await wait("xgroup/found", "condition=Ready");
    expect(await get("crd", "xgroups.example.org", "-o", "jsonpath={.metadata.uid}")).not.toBe(uid);
    expect(await get("resourcegroups", "-l", "crossplane.io/composite=lost", "-o", "name")).toBe("");
    await server.kubectl(["delete", "xgroup/found", "--timeout=60s"]);
  });

  test("stops cleanly on SIGTERM, and another process continues", async () => {
    expect(await controller.end("SIGTERM")).toBe(0);
    expect(controller.log().at(-1)).toMatchObject({ msg: "stopped" });
    expect(controller.log().filter(({ level }) => level === "error")).toEqual([]);
    await apply(group("meanwhile"));
    controller = await startController(server.admin.kubeconfig);
    await wait("xgroup/meanwhile", "condition=Ready");
  });

  test("of two replicas one leads, and the other takes over when the first is killed", async () => {
    await controller.end("SIGTERM");
    const args = ["--leader-election", "--lease-duration", "3s"];
    controller = await startController(server.admin.kubeconfig, { args });
    await using second = await startController(server.admin.kubeconfig, { args, until: "waiting for the lease" });
    // It is ready once it has seen the lease.
    await expect.poll(async () => (await fetch(`${second.http}/readyz`)).status).toBe(200);
    expect(await (await fetch(`${second.http}/metrics`)).text()).toContain("xfn_controller_leader 0");
    expect(await controller.end("SIGKILL")).toBe("SIGKILL");
    await second.logged(({ msg }) => msg === "ready");
    await apply(group("handed-over"));
    await wait("xgroup/handed-over", "condition=Ready");
    expect(await second.end("SIGTERM")).toBe(0);
    // The lease was released: no replica has to wait for it.
    controller = await startController(server.admin.kubeconfig, { args: ["--leader-election"] });
  });
});
