import { once } from "node:events";
import { join } from "node:path";
import type { JsonObject } from "@xfn/json";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { startController } from "../harness/controller-program.ts";
import { CHART, type HelmResult, helm, startHelm, valueArguments } from "../harness/helm.ts";
import { needs } from "../harness/needs.ts";
import { CHECKOUT } from "../harness/paths.ts";

// A release of deploy/chart on a real API server. It has no nodes, so Helm does not wait for pods.

const NAMESPACE = "crossplane-system";
const FUNCTION = "r.example.org/acme/function:v1";
const AGGREGATING = ["xfn-admin", "xfn-browse", "xfn-controller", "xfn-edit", "xfn-view"];
/** The largest Secret that Kubernetes accepts, in bytes. */
const MAX_SECRET = 1024 * 1024;

describe("a release of deploy/chart", needs("api-server", "helm"), () => {
  let server: TestApiServer;

  beforeAll(async () => {
    server = await startApiServer();
  });
  afterAll(() => server?.stop());

  const run = (...args: readonly string[]): HelmResult =>
    helm([...args, "-n", NAMESPACE], { home: server.folder, kubeconfig: server.admin.kubeconfig });
  const release = (...args: readonly string[]): string => {
    const { status, stdout, stderr } = run(...args);
    expect(stderr).toBe("");
    expect(status).toBe(0);
    return stdout;
  };
  const install = (values: JsonObject, ...more: readonly string[]): string =>
    release("upgrade", "--install", "xfn", CHART, "--create-namespace", ...valueArguments(values), ...more);
  const get = async (...args: readonly string[]): Promise<string> =>
    (await server.kubectl(["get", ...args, "-n", NAMESPACE])).trim();
  const replicas = (): Promise<string> => get("deployment", "xfn-controller", "-o", "jsonpath={.spec.replicas}");

  test("starts with all CRDs, and fits into its Secret", async () => {
    expect(install({ "packages.functions": [FUNCTION] })).toContain("kubectl rollout status deployment/xfn-controller");
    expect(await get("function.pkg.crossplane.io", "-o", "name")).toBe("function.pkg.crossplane.io/acme-function");
    expect(await replicas()).toBe("2");
    const stored = await get("secret", "sh.helm.release.v1.xfn.v1", "-o", "jsonpath={.data.release}");
    // With room for longer descriptions of fields.
    expect(Buffer.from(stored, "base64").length).toBeLessThan(MAX_SECRET / 2);
  });

  test("has roles for people, which aggregate what each of them may do", async () => {
    const may = async (role: string, verb: string, what: string): Promise<string> => {
      const asked = server.kubectl(["auth", "can-i", verb, what, "--as", role]);
      return (await asked.catch(() => "no")).trim();
    };
    const roles = ["xfn-admin", "xfn-edit", "xfn-view", "xfn-browse"];
    for (const role of roles)
      await server.kubectl(["create", "clusterrolebinding", role, `--clusterrole=${role}`, `--user=${role}`]);
    const rights = {
      "list compositions": ["yes", "yes", "yes", "yes"],
      "list functions.pkg.crossplane.io": ["yes", "yes", "yes", "no"],
      "create compositions": ["yes", "yes", "no", "no"],
      "create deploymentruntimeconfigs": ["yes", "no", "no", "no"],
      "create clusterrolebindings": ["yes", "no", "no", "no"],
      "get secrets": ["no", "no", "no", "no"],
    };
    // A controller of Kubernetes aggregates the roles.
    const ask = async (): Promise<unknown> => {
      const answers = Object.keys(rights).map(async (right) => {
        const [verb = "", what = ""] = right.split(" ");
        return [right, await Promise.all(roles.map((role) => may(role, verb, what)))];
      });
      return Object.fromEntries(await Promise.all(answers));
    };
    await expect.poll(ask).toEqual(rights);
  });

  test("is upgraded and rolled back", async () => {
    install({ replicas: 3, "packages.functions": [FUNCTION] });
    expect(await replicas()).toBe("3");
    release("rollback", "xfn", "1");
    expect(await replicas()).toBe("2");
  });

  test("keeps a package that its values no longer have, and takes it back", async () => {
    install({ profile: "templates" });
    const args = ["deployment", "xfn-controller", "-o", "jsonpath={.spec.template.spec.containers[0].args}"];
    expect(await get(...args)).not.toContain("--enable-packages");
    expect(await get("function.pkg.crossplane.io", "-o", "name")).toContain("acme-function");
    install({ "packages.functions": [FUNCTION] });
    expect(await get(...args)).toContain("--enable-packages");
  });

  test("changes nothing if values are refused", async () => {
    const { status, stderr } = run("upgrade", "xfn", CHART, ...valueArguments({ replicas: "many" }));
    expect(stderr).toContain("at '/replicas'");
    expect(status).not.toBe(0);
    expect(await replicas()).toBe("2");
  });

  test("leaves CRDs with their objects, and packages, and is installed again", async () => {
    await server.kubectl(["apply", "-f", join(CHECKOUT, "examples/controller/definition.yaml")]);
    const kept = ["xrd,functions.pkg.crossplane.io", "-o", "name"];
    const before = await get(...kept);
    expect(release("uninstall", "xfn")).toContain('release "xfn" uninstalled');
    expect(await get("deployments,serviceaccounts,rolebindings", "-o", "name")).not.toContain("xfn-controller");
    const roles = (await get("clusterroles", "-o", "name")).split("\n").map((name) => name.split("/")[1] ?? "");
    // Without rules: the roles that they aggregated are gone.
    expect(roles.filter((name) => name.startsWith("xfn-"))).toEqual(AGGREGATING);
    expect(await get(...kept)).toBe(before);
    install({ "packages.functions": [FUNCTION] });
    expect(await get(...kept)).toBe(before);
    release("uninstall", "xfn");
  });

  test("has the CRDs of the controller's version, once that has started", async () => {
    install({});
    const crd = "environmentconfigs.apiextensions.crossplane.io";
    const earlier = "/spec/versions/0/schema/openAPIV3Schema/properties/earlier";
    const patch = JSON.stringify([{ op: "add", path: earlier, value: { type: "string" } }]);
    // As Helm writes the CRDs of an earlier version: without server-side apply.
    await server.kubectl(["patch", "crd", crd, "--type=json", "-p", patch]);
    const controller = await startController(server.admin.kubeconfig);
    await controller.end("SIGTERM");
    expect(await get("crd", crd, "-o", "json")).not.toContain('"earlier"');
    release("uninstall", "xfn");
  });

  /** Kills Helm while it waits for pods, which it does until its timeout without nodes. */
  const interrupt = async (command: string, until: () => Promise<boolean>): Promise<void> => {
    const options = { home: server.folder, kubeconfig: server.admin.kubeconfig };
    const values = valueArguments({ replicas: 4 });
    const child = startHelm([command, "xfn", CHART, "-n", NAMESPACE, "--wait", ...values], options);
    await expect.poll(until).toBe(true);
    child.kill("SIGKILL");
    await once(child, "close");
    expect(run("upgrade", "--install", "xfn", CHART).stderr).toContain("another operation");
  };

  test("whose installation was interrupted is uninstalled, and installed again", async () => {
    await interrupt("install", async () => (await get("deployments", "-o", "name")).includes("xfn-controller"));
    release("uninstall", "xfn");
    install({});
  });

  test("whose upgrade was interrupted is rolled back, and upgraded again", async () => {
    await interrupt("upgrade", async () => (await replicas()) === "4");
    release("rollback", "xfn");
    expect(await replicas()).toBe("2");
    install({});
    release("uninstall", "xfn");
  });

  test("takes over from kubectl apply -k, if Helm is allowed to", async () => {
    const overlay = join(CHECKOUT, "deploy");
    await server.kubectl(["apply", "--server-side", "--force-conflicts", "-k", overlay]);
    expect(run("install", "xfn", CHART).stderr).toContain("invalid ownership metadata");
    install({ replicas: 1 }, "--take-ownership");
    expect(await replicas()).toBe("1");
    release("uninstall", "xfn");
    expect(await get("deployments", "-o", "name")).toBe("");
  });
});
