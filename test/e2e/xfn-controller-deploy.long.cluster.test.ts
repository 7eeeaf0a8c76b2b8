import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import process from "node:process";
import { isObject, type JsonObject, type JsonValue, listAt, objectAt, objectsAt, textAt } from "@xfn/json";
import { readDocuments } from "@xfn/json/document";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { type RunningController, startController } from "../harness/controller-program.ts";
import { fencedBlocks } from "../harness/fenced-blocks.ts";
import { needs } from "../harness/needs.ts";
import { CHECKOUT, CONTROLLER_MAIN } from "../harness/paths.ts";
import { clientOf, startRunnerServer } from "../harness/runner-server.ts";
import { Workspace } from "../harness/workspace.ts";

// deploy/ on a real API server accepts it, and the controller works with no other roles than those.

const DEPLOY = join(CHECKOUT, "deploy");
const BASE = join(DEPLOY, "base");
const SIDECAR = join(DEPLOY, "sidecar");
const USER = "controller";
const CLAIMS = "postgresqlinstances.database.example.org";

test("examples/controller/roles.yaml is what xfn-controller roles prints", () => {
  const example = (name: string): string => join(CHECKOUT, "examples", name);
  const files = ["controller/definition.yaml", "controller/composition.yaml", "provider-nop/crd.yaml"].map(example);
  const printed = execFileSync(process.execPath, [CONTROLLER_MAIN, "roles", ...files], { encoding: "utf8" });
  const comment = /^(?:#.*\n)*/;
  expect(readFileSync(example("controller/roles.yaml"), "utf8").replace(comment, "")).toBe(printed);
});

interface Deployment {
  readonly kind: "Deployment";
  readonly spec: { readonly template: { readonly spec: JsonObject } };
}
const isDeployment = (value: unknown): value is Deployment =>
  isObject(value as JsonValue) && (value as JsonObject)["kind"] === "Deployment";

const textOf = (object: JsonObject, field: string): unknown =>
  isObject(object["metadata"]) ? object["metadata"][field] : undefined;

describe("deploy/", needs("api-server", "openssl"), () => {
  let server: TestApiServer;
  let controller: RunningController | undefined;

  beforeAll(async () => {
    server = await startApiServer({ users: [USER] });
    await server.kubectl(["apply", "--server-side", "-f", join(BASE, "namespace.yaml")]);
  });
  afterAll(async () => {
    await controller?.[Symbol.asyncDispose]();
    await server?.stop();
  });

  const get = async (...args: readonly string[]): Promise<string> => (await server.kubectl(["get", ...args])).trim();
  // kubectl reports "no" by its exit code.
  const may = async (user: string, verb: string, what: string): Promise<boolean> => {
    const asked = server.kubectl(["auth", "can-i", verb, what, "-n", "default", "--as", user]);
    return (await asked.catch(() => "no")).trim() === "yes";
  };
  const bind = async (role: string, kind: "ClusterRole" | "Role"): Promise<void> => {
    const scope = kind === "Role" ? ["rolebinding", "-n", "crossplane-system"] : ["clusterrolebinding"];
    const [type = "", ...more] = scope;
    await server.kubectl([
      "create",
      type,
      `test-${role}`,
      ...more,
      `--${kind.toLowerCase()}=${role}`,
      `--user=${USER}`,
    ]);
  };

  test("is accepted by the API server, pod security admission included", async () => {
    const dryRun = await server.kubectl(["apply", "--server-side", "--dry-run=server", "-k", SIDECAR]);
    for (const object of [
      "deployment.apps/xfn-controller",
      "clusterrole.rbac.authorization.k8s.io/xfn-controller",
      "namespace/",
    ])
      expect(dryRun).toContain(object);
    // The controller installs the CRDs.
    const files = ["rbac.yaml", "deployment.yaml"].flatMap((name) => ["-f", join(BASE, name)]);
    await server.kubectl(["apply", "--server-side", ...files]);
    // The server accepts a Deployment with invalid pods, so check the pod itself.
    const template = JSON.parse(
      await get("-n", "crossplane-system", "deployment", "xfn-controller", "-o", "jsonpath={.spec.template}"),
    ) as object;
    const pod = { apiVersion: "v1", kind: "Pod", ...template, metadata: { name: "x", namespace: "crossplane-system" } };
    await server.kubectl(["create", "--dry-run=server", "-f", "-"], { input: JSON.stringify(pod) });
  });

  test("without functions needs no runner, and runs in a restricted namespace", async () => {
    const folder = join(DEPLOY, "templates-only");
    // Also in place of deploy/, which was applied before.
    await server.kubectl(["apply", "--server-side", "--dry-run=server", "-k", folder]);
    const rendered = await server.kubectl(["kustomize", folder]);
    for (const part of ["xfn-runner", "hostUsers", "Unconfined", "enable-composition-functions", "/run/xfn"])
      expect(rendered).not.toContain(part);
    expect(rendered).toContain("PodDisruptionBudget");
    const [deployment] = readDocuments(rendered).flatMap(({ value }) => (isDeployment(value) ? [value] : []));
    await server.kubectl(["create", "namespace", "restricted"]);
    const level = "pod-security.kubernetes.io/enforce=restricted";
    await server.kubectl(["label", "namespace", "restricted", level]);
    const { spec } = deployment?.spec.template ?? { spec: {} };
    const template = { spec: { ...spec, serviceAccountName: "default" } };
    const pod = { apiVersion: "v1", kind: "Pod", ...template, metadata: { name: "x", namespace: "restricted" } };
    await server.kubectl(["create", "--dry-run=server", "-f", "-"], { input: JSON.stringify(pod) });
  });

  test("with the runner in the controller's process has one container, with the rights of a runner", async () => {
    const folder = join(DEPLOY, "in-process");
    await server.kubectl(["apply", "--server-side", "--dry-run=server", "-k", folder]);
    const rendered = await server.kubectl(["kustomize", folder]);
    for (const part of ["initContainers", "runner.sock", "name: socket"]) expect(rendered).not.toContain(part);
    const podOf = (text: string): JsonObject | undefined =>
      readDocuments(text).flatMap(({ value }) => (isDeployment(value) ? [value.spec.template.spec] : []))[0];
    const [own, base] = [podOf(rendered), podOf(await server.kubectl(["kustomize", SIDECAR]))];
    const securityOf = (pod: JsonObject | undefined, list: string): unknown => {
      const containers = pod?.[list];
      return Array.isArray(containers) && isObject(containers[0]) ? containers[0]["securityContext"] : undefined;
    };
    expect(securityOf(own, "containers")).toEqual(securityOf(base, "initContainers"));
    const template = { spec: { ...own, serviceAccountName: "default" } };
    const pod = { apiVersion: "v1", kind: "Pod", ...template, metadata: { name: "x", namespace: "crossplane-system" } };
    await server.kubectl(["create", "--dry-run=server", "-f", "-"], { input: JSON.stringify(pod) });
  });

  test("with runners of their own has pods for both, and certificates with which they know each other", async () => {
    const folder = join(DEPLOY, "runners");
    await server.kubectl(["apply", "--server-side", "--dry-run=server", "-k", folder]);
    const rendered = readDocuments(await server.kubectl(["kustomize", folder])).map(({ value }) => value);
    const podOf = (documents: readonly JsonValue[], name: string): JsonObject => {
      const deployment = documents.find((one) => isDeployment(one) && textAt(one, "metadata", "name") === name);
      return objectAt(deployment, "spec", "template", "spec");
    };
    const [own, runners] = [podOf(rendered, "xfn-controller"), podOf(rendered, "xfn-runner")];
    const plain = readDocuments(await server.kubectl(["kustomize", SIDECAR])).map(({ value }) => value);
    const containerOf = (pod: JsonObject, list = "containers"): JsonObject => objectsAt(pod, list)[0] ?? {};
    expect(own["initContainers"]).toBeUndefined();
    const sidecar = containerOf(podOf(plain, "xfn-controller"), "initContainers");
    expect(containerOf(runners)["securityContext"]).toEqual(sidecar["securityContext"]);
    for (const spec of [{ ...own, serviceAccountName: "default" }, runners]) {
      const metadata = { name: "x", namespace: "crossplane-system" };
      const pod = { apiVersion: "v1", kind: "Pod", metadata, spec };
      await server.kubectl(["create", "--dry-run=server", "-f", "-"], { input: JSON.stringify(pod) });
    }
    await using workspace = await Workspace.create();
    const overlay = await workspace.makeFolder("work/overlay");
    const [resource, component] = [folder, join(folder, "autoscaler")].map((path) => relative(overlay, path));
    await workspace.write("overlay/kustomization.yaml", `resources: [${resource}]\ncomponents: [${component}]\n`);
    await server.kubectl(["apply", "--server-side", "--dry-run=server", "-k", overlay]);
    const scaled = await server.kubectl(["kustomize", overlay]);
    expect(scaled).toContain("kind: HorizontalPodAutoscaler");
    expect(scaled.match(/^ {2}replicas:/gm)).toHaveLength(1);

    // The certificates are those of the page, and the programs have the arguments of the manifests.
    const page = readFileSync(join(CHECKOUT, "docs/tasks/controller.md"), "utf8");
    const commands = fencedBlocks(page).find(({ text }) => text.includes("secret generic xfn-runner-tls"))?.text ?? "";
    const { PATH = "" } = process.env;
    execFileSync("bash", ["-euc", commands], {
      cwd: workspace.root,
      env: {
        PATH: `${dirname(server.binaries.kubectl)}:${PATH}`,
        HOME: workspace.root,
        KUBECONFIG: server.admin.kubeconfig,
      },
      stdio: "pipe",
    });
    const mounted = async (pod: JsonObject): Promise<string> => {
      const secretName = objectsAt(pod, "volumes").flatMap((one) => textAt(one, "secret", "secretName") ?? [])[0] ?? "";
      const data = await get("-n", "crossplane-system", "secret", secretName, "-o", "jsonpath={.data}");
      for (const [name, value] of Object.entries(JSON.parse(data) as Record<string, string>))
        await workspace.write(`${secretName}/${name}`, Buffer.from(value, "base64"));
      return workspace.path(secretName);
    };
    const [clientFiles, runnerFiles] = [await mounted(own), await mounted(runners)];
    const flags = (container: JsonObject, files: string): string[] =>
      listAt(container, "args").map((arg) => String(arg).replace("/etc/xfn/runner", files));
    const serveFlags = flags(containerOf(runners), runnerFiles).filter((arg) => arg.startsWith("--tls-"));
    await using runner = await startRunnerServer(workspace, ["--address=127.0.0.1:0", ...serveFlags], { ready: false });
    const start = flags(containerOf(own), clientFiles);
    const valueOf = (flag: string): string =>
      start.find((arg) => arg.startsWith(`--${flag}=`))?.slice(flag.length + 3) ?? "";
    const endpoint = valueOf("runner");
    const service = rendered.find((one) => textAt(one, "kind") === "Service");
    expect(endpoint).toBe(`dns:///${textAt(service, "metadata", "name")}.crossplane-system.svc:7443`);
    const { hostname } = new URL(endpoint.replace("dns:///", "https://"));
    const tls = { caFile: valueOf("runner-tls-ca"), serverName: hostname };
    const [address = ""] = runner.addresses;
    using client = clientOf({
      endpoint: address,
      tls: { ...tls, certFile: valueOf("runner-tls-cert"), keyFile: valueOf("runner-tls-key") },
    });
    await expect(client.run("oci:relative", Buffer.from(""))).rejects.toMatchObject({ code: "InvalidRequest" });
    using anonymous = clientOf({ endpoint: address, tls });
    await expect(anonymous.run("x", Buffer.from(""))).rejects.toMatchObject({ code: "Unavailable" });
  });

  test("has monitors for the Prometheus operator as a component", async () => {
    const rendered = await server.kubectl(["kustomize", join(DEPLOY, "monitoring")]);
    for (const kind of ["PodMonitor", "PrometheusRule", "ConfigMap"]) expect(rendered).toContain(`kind: ${kind}\n`);
    expect(await server.kubectl(["kustomize", SIDECAR])).not.toContain("PodMonitor");
  });

  test("with packages starts with the flag, and grants what their kinds need", async () => {
    const folder = join(DEPLOY, "packages");
    await server.kubectl(["apply", "--server-side", "--dry-run=server", "-k", folder]);
    const rendered = await server.kubectl(["kustomize", folder]);
    expect(rendered).toContain("- --enable-packages");
    // Descriptions of fields mention packages.
    expect(await server.kubectl(["kustomize", SIDECAR])).not.toMatch(/--enable-packages|xfn-controller-packages/);
    const documents = readDocuments(rendered).map(({ value }) => value);
    const role = documents.find((value) => isObject(value) && textOf(value, "name") === "xfn-controller-packages");
    const granted = isObject(role) ? JSON.stringify(role["rules"]) : "";
    for (const part of ["functions", "configurations", "providerrevisions/status", "functions/finalizers", "locks"])
      expect(granted).toContain(`"${part}"`);
  });

  test("with usages starts with the flags, and serves the webhook through a Service", async () => {
    await using workspace = await Workspace.create();
    const overlay = await workspace.makeFolder("work/overlay");
    const [resource, component] = [DEPLOY, join(DEPLOY, "usages")].map((path) => relative(overlay, path));
    await workspace.write("overlay/kustomization.yaml", `resources: [${resource}]\ncomponents: [${component}]\n`);
    await server.kubectl(["apply", "--server-side", "--dry-run=server", "-k", overlay]);
    const rendered = await server.kubectl(["kustomize", overlay]);
    for (const part of ["- --admission-webhook=xfn-webhook", "name: xfn-webhook", "containerPort: 9443"])
      expect(rendered).toContain(part);
  });

  test("with providers lets the controller grant rights, and adds nothing else", async () => {
    const objects = async (folder: string): Promise<string[]> => {
      const rendered = await server.kubectl(["kustomize", join(DEPLOY, folder)]);
      return readDocuments(rendered).map(({ value }) => (isObject(value) ? String(textOf(value, "name")) : ""));
    };
    const packages = await objects("packages");
    expect((await objects("providers")).filter((one) => !packages.includes(one))).toEqual(["xfn-controller-providers"]);
    const path = join(DEPLOY, "providers");
    await server.kubectl(["apply", "--server-side", "--dry-run=server", "-k", path]);
    expect(await server.kubectl(["kustomize", path])).toContain("- escalate");
    expect(await server.kubectl(["kustomize", join(DEPLOY, "packages")])).not.toContain("escalate");
  });

  test("grants what the controller needs, with the roles of the example, and lets users claim", async () => {
    await bind("xfn-controller", "ClusterRole");
    await bind("xfn-controller", "Role");
    await server.kubectl(["apply", "-f", join(CHECKOUT, "examples/controller/roles.yaml")]);
    await server.kubectl(["apply", "-f", join(CHECKOUT, "examples/provider-nop/crd.yaml")]);
    // A controller of Kubernetes aggregates the roles with the label.
    await expect.poll(() => may(USER, "create", "nopresources.nop.crossplane.io"), { timeout: 30_000 }).toBe(true);
    controller = await startController(server.user(USER).kubeconfig, {
      args: ["--leader-election", "--namespace", "crossplane-system"],
    });
    for (const file of ["definition", "composition"])
      await server.kubectl(["apply", "-f", join(CHECKOUT, `examples/controller/${file}.yaml`)]);
    await server.kubectl(["wait", "xrd", "--all", "--for=condition=Offered", "--timeout=60s"]);
    await server.kubectl(["apply", "-f", join(CHECKOUT, "examples/controller/claims.yaml")]);
    // The test acts as the provider.
    await expect
      .poll(async () => (await get("nopresources", "-o", "name")).split("\n"), { timeout: 30_000 })
      .toHaveLength(2);
    const secret = await get("nopresources", "-o", "jsonpath={.items[*].spec.writeConnectionSecretToRef.name}");
    const literals = ["username=ada", "password=x"].map((pair) => `--from-literal=${pair}`);
    const type = "--type=connection.crossplane.io/v1alpha1";
    await server.kubectl(["create", "secret", "generic", secret, type, "-n", "crossplane-system", ...literals]);
    for (const name of (await get("nopresources", "-o", "name")).split("\n")) {
      const status = {
        status: {
          conditions: [
            { type: "Ready", status: "True", reason: "Available", lastTransitionTime: "2026-01-01T00:00:00Z" },
          ],
        },
      };
      await server.kubectl(["patch", name, "--subresource=status", "--type=merge", "-p", JSON.stringify(status)]);
    }
    await server.kubectl(["wait", "postgresqlinstance/shop", "--for=condition=Ready", "--timeout=60s"]);
    expect(await get("secret", "shop-database", "-o", "jsonpath={.data.username}")).not.toBe("");
    expect(await may("ada", "create", CLAIMS)).toBe(false);
    await server.kubectl(["create", "rolebinding", "ada", "-n", "default", "--clusterrole=edit", "--user=ada"]);
    await expect.poll(() => may("ada", "create", CLAIMS), { timeout: 30_000 }).toBe(true);
    await server.kubectl(["delete", "-f", join(CHECKOUT, "examples/controller/claims.yaml"), "--timeout=60s"]);
    await server.kubectl(["delete", "xrd", "--all", "--timeout=60s"]);
    expect(await get("nopresources", "-o", "name")).toBe("");
    // No request was forbidden.
    const refused = controller.log().filter(({ code }) => code === "Forbidden");
    expect(refused).toEqual([]);
  });

  test("grants no access to other kinds", async () => {
    for (const [verb, what] of [
      ["create", "pods"],
      ["list", "secrets"],
      ["get", "nodes"],
      ["escalate", "clusterroles"],
      ["bind", "clusterroles"],
      ["impersonate", "users"],
      ["create", "clusterrolebindings"],
      ["create", "validatingwebhookconfigurations"],
    ] as const)
      expect(await may(USER, verb, what), `${verb} ${what}`).toBe(false);
  });
});
