import { execFile } from "node:child_process";
import { request } from "node:https";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { type RunningController, startController } from "../harness/controller-program.ts";
import { freePort } from "../harness/free-port.ts";
import { needs } from "../harness/needs.ts";
import { XFN_MAIN } from "../harness/paths.ts";

// Usages as users see them: the API server asks the controller's webhook before it deletes an object in use.

const DENIED = /admission webhook "nousages\.protection\.crossplane\.io" denied the request: the object is in use/;

const configMap = (name: string, labels = ""): string => `
apiVersion: v1
kind: ConfigMap
metadata: { name: ${name}, namespace: default, labels: { ${labels} } }
---`;

describe("usages", needs("api-server"), () => {
  let server: TestApiServer;
  let controller: RunningController;
  let port: number;
  const start = (): Promise<RunningController> =>
    startController(server.admin.kubeconfig, {
      args: [
        "--enable-usages",
        `--admission-webhook=https://127.0.0.1:${port}`,
        `--admission-address=127.0.0.1:${port}`,
        "--namespace=default",
      ],
    });

  beforeAll(async () => {
    server = await startApiServer();
    port = await freePort();
    controller = await start();
    // The garbage collector sees new kinds late.
    await server.restartControllerManager();
  });
  afterAll(async () => {
    await controller?.end("SIGTERM");
    await server?.stop();
  });

  const apply = (input: string): Promise<string> => server.kubectl(["apply", "-f", "-"], { input });
  const get = (...args: readonly string[]): Promise<string> => server.kubectl(["get", ...args]);
  const wait = (object: string, condition: string): Promise<string> =>
    server.kubectl(["wait", object, `--for=${condition}`, "--timeout=60s"]);
  const remove = (object: string): Promise<string> => server.kubectl(["delete", object, "--wait=false"]);
  const exists = async (object: string): Promise<boolean> =>
    (await get(object, "-o", "name", "--ignore-not-found")) !== "";

  const xfn = (...args: readonly string[]): Promise<string> =>
    new Promise((resolve) => {
      const options = { env: { ...process.env, KUBECONFIG: server.admin.kubeconfig } };
      execFile(process.execPath, [XFN_MAIN, ...args], options, (_, stdout) => resolve(stdout));
    });

  test("an object in use cannot be deleted until the object that uses it is gone, and is deleted then", async () => {
    await apply(`${configMap("used")}${configMap("using")}
apiVersion: protection.crossplane.io/v1beta1
kind: Usage
metadata: { name: pair, namespace: default }
spec:
  of: { apiVersion: v1, kind: ConfigMap, resourceRef: { name: used } }
  by: { apiVersion: v1, kind: ConfigMap, resourceRef: { name: using } }
  replayDeletion: true
`);
    await wait("usage.protection.crossplane.io/pair", "condition=Ready");
    expect(await get("usage.protection.crossplane.io/pair", "-o", "jsonpath={.metadata.annotations}")).toContain(
      "ConfigMap/using uses ConfigMap/used",
    );
    await expect(server.kubectl(["delete", "configmap/used", "--dry-run=server"])).rejects.toThrow(DENIED);
    expect(await get("configmap/used", "-o", "jsonpath={.metadata.annotations}")).toBe("");
    await expect(remove("configmap/used")).rejects.toThrow(/including Usage default\/pair by ConfigMap\/using/);
    const tree = await xfn("trace", "configmap", "used", "-n", "default", "-o", "wide");
    expect(tree).toContain("InUse: its deletion was denied, and waits for these usages");
    expect(tree).toMatch(/└─ Usage\/pair \(default\) .* ConfigMap\/using uses ConfigMap\/used$/m);
    expect(await xfn("doctor", "--cluster")).toMatch(
      /ok +admission webhook +denies the deletion of ConfigMap default\/used$/m,
    );
    expect(await exists("configmap/used")).toBe(true);
    const metrics = await (await fetch(`${controller.http}/metrics`)).text();
    expect(metrics).toMatch(/^xfn_controller_deletion_reviews_total\{answer="denied"\} [1-9]/m);
    await remove("configmap/using");
    await expect.poll(() => exists("usage.protection.crossplane.io/pair"), { timeout: 60_000 }).toBe(false);
    await expect.poll(() => exists("configmap/used"), { timeout: 30_000 }).toBe(false);
  });

  test("selectors choose once; without replayDeletion the object stays when the usage ends", async () => {
    await apply(`${configMap("chosen", "role: database")}
apiVersion: protection.crossplane.io/v1beta1
kind: Usage
metadata: { name: chosen, namespace: default }
spec:
  of: { apiVersion: v1, kind: ConfigMap, resourceSelector: { matchLabels: { role: database } } }
  reason: audit
`);
    await wait("usage.protection.crossplane.io/chosen", "condition=Ready");
    expect(await get("usage.protection.crossplane.io/chosen", "-o", "jsonpath={.spec.of.resourceRef.name}")).toBe(
      "chosen",
    );
    await expect(remove("configmap/chosen")).rejects.toThrow('with reason: "audit"');
    await remove("usage.protection.crossplane.io/chosen");
    await expect.poll(() => exists("usage.protection.crossplane.io/chosen"), { timeout: 30_000 }).toBe(false);
    const { labels, annotations } = JSON.parse(await get("configmap/chosen", "-o", "jsonpath={.metadata}")) as {
      labels: Record<string, string>;
      annotations?: Record<string, string>;
    };
    expect(labels).toEqual({ role: "database" });
    expect(Object.keys(annotations ?? {})).not.toContain("usage.crossplane.io/deletion-attempt-with-policy");
    await remove("configmap/chosen");
  });

  test("cluster-scoped objects are protected by ClusterUsages and by the legacy kind, and each says what it lacks", async () => {
    await apply(`
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: { name: shared }
value: 1
---
apiVersion: protection.crossplane.io/v1beta1
kind: ClusterUsage
metadata: { name: shared }
spec:
  of: { apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, resourceRef: { name: shared } }
  reason: everybody needs it
---
apiVersion: apiextensions.crossplane.io/v1beta1
kind: Usage
metadata: { name: legacy }
spec:
  of: { apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, resourceRef: { name: shared } }
  reason: old
---
apiVersion: protection.crossplane.io/v1beta1
kind: Usage
metadata: { name: wrong, namespace: default }
spec:
  of: { apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, resourceRef: { name: shared } }
  reason: a user of one namespace
---
apiVersion: protection.crossplane.io/v1beta1
kind: ClusterUsage
metadata: { name: missing }
spec:
  of: { apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, resourceRef: { name: missing } }
  reason: too early
`);
    await wait("clusterusage/shared", "condition=Ready");
    await wait("usage.apiextensions.crossplane.io/legacy", "condition=Ready");
    await expect(remove("priorityclass/shared")).rejects.toThrow("in use by 2 usages");
    const reason = (object: string): Promise<string> => get(object, "-o", "jsonpath={.status.conditions[0].reason}");
    await expect.poll(() => reason("usage.protection.crossplane.io/wrong")).toBe("WrongScope");
    await expect.poll(() => reason("clusterusage/missing")).toBe("NotFound");
    await remove("clusterusage/shared");
    await expect.poll(() => exists("clusterusage/shared"), { timeout: 30_000 }).toBe(false);
    await expect(remove("priorityclass/shared")).rejects.toThrow("in use by 1 usage,");
    await remove("usage.apiextensions.crossplane.io/legacy");
    await expect.poll(() => exists("usage.apiextensions.crossplane.io/legacy"), { timeout: 30_000 }).toBe(false);
    await remove("priorityclass/shared");
  });

  test.each([
    ["neither a cause nor a reason", "of: { apiVersion: v1, kind: ConfigMap, resourceRef: { name: a } }"],
    ["neither a name nor a selector", "of: { apiVersion: v1, kind: ConfigMap }, reason: r"],
    [
      "another namespace without a using object",
      "of: { apiVersion: v1, kind: ConfigMap, resourceRef: { name: a, namespace: b } }, reason: r",
    ],
  ])("the API server refuses a Usage with %s", async (_, spec) => {
    const usage = `
apiVersion: protection.crossplane.io/v1beta1
kind: Usage
metadata: { name: x, namespace: default }
spec: { ${spec} }`;
    await expect(apply(usage)).rejects.toThrow(/spec.*(must be specified|should be set)/);
  });

  test("an XR's resource in use is deleted after the resource that uses it, and the XR says who uses it", async () => {
    const named = (suffix: string): string =>
      `name: ${suffix}, patches: [{ fromFieldPath: metadata.name, toFieldPath: metadata.name, transforms: [{ type: string, string: { fmt: "%s-${suffix}" } }] }]`;
    await apply(`
apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: { name: xpairs.example.org }
spec:
  scope: Namespaced
  group: example.org
  names: { kind: XPair, plural: xpairs }
  versions:
    - { name: v1, served: true, referenceable: true, schema: { openAPIV3Schema: { type: object } } }
---
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: pairs }
spec:
  compositeTypeRef: { apiVersion: example.org/v1, kind: XPair }
  resources:
    - { ${named("used")}, base: { apiVersion: v1, kind: ConfigMap } }
    - { ${named("using")}, base: { apiVersion: v1, kind: ConfigMap } }
    - ${named("usage").replace(", ", "\n      ")}
      base:
        apiVersion: protection.crossplane.io/v1beta1
        kind: Usage
        spec:
          of: { apiVersion: v1, kind: ConfigMap, resourceRef: { name: xr-used } }
          by: { apiVersion: v1, kind: ConfigMap, resourceRef: { name: xr-using } }
`);
    await wait("xrd/xpairs.example.org", "condition=Established");
    await apply("apiVersion: example.org/v1\nkind: XPair\nmetadata: { name: xr, namespace: default }\nspec: {}");
    await expect.poll(() => exists("usage.protection.crossplane.io/xr-usage"), { timeout: 30_000 }).toBe(true);
    await wait("usage.protection.crossplane.io/xr-usage", "condition=Ready");
    const provider = (finalizers: string): Promise<string> =>
      server.kubectl([
        "patch",
        "configmap/xr-using",
        "--type=merge",
        "-p",
        `{"metadata":{"finalizers":${finalizers}}}`,
      ]);
    await provider('["example.org/provider"]');
    await remove("xpair/xr");
    const deleted = (object: string): Promise<string> =>
      get(object, "-o", "jsonpath={.metadata.deletionTimestamp}", "--ignore-not-found");
    await expect.poll(() => deleted("configmap/xr-using"), { timeout: 30_000 }).not.toBe("");
    await expect
      .poll(() => get("xpair/xr", "-o", "jsonpath={.status.conditions[*].message}"), { timeout: 30_000 })
      .toContain("Usage default/xr-usage by ConfigMap/xr-using");
    expect(await deleted("configmap/xr-used")).toBe("");
    expect(await deleted("usage.protection.crossplane.io/xr-usage")).toBe("");
    await provider("null");
    for (const object of [
      "configmap/xr-using",
      "usage.protection.crossplane.io/xr-usage",
      "configmap/xr-used",
      "xpair/xr",
    ])
      await expect.poll(() => exists(object), { timeout: 120_000 }).toBe(false);
  });

  test("the deletion of a namespace ends its usages; a usage from another namespace delays it, which its condition explains", async () => {
    const inNamespace = (namespace: string, text: string): string =>
      text.replaceAll("namespace: default", `namespace: ${namespace}`);
    await apply(`
apiVersion: v1
kind: Namespace
metadata: { name: going }
---${inNamespace("going", configMap("used") + configMap("using"))}
apiVersion: protection.crossplane.io/v1beta1
kind: Usage
metadata: { name: inner, namespace: going }
spec:
  of: { apiVersion: v1, kind: ConfigMap, resourceRef: { name: used } }
  by: { apiVersion: v1, kind: ConfigMap, resourceRef: { name: using } }
---${configMap("elsewhere")}
apiVersion: protection.crossplane.io/v1beta1
kind: Usage
metadata: { name: outer, namespace: default }
spec:
  of: { apiVersion: v1, kind: ConfigMap, resourceRef: { name: used, namespace: going } }
  by: { apiVersion: v1, kind: ConfigMap, resourceRef: { name: elsewhere } }
`);
    await server.kubectl([
      "wait",
      "usage.protection.crossplane.io/inner",
      "-n",
      "going",
      "--for=condition=Ready",
      "--timeout=60s",
    ]);
    await wait("usage.protection.crossplane.io/outer", "condition=Ready");
    await remove("namespace/going");
    const why = (): Promise<string> =>
      get("namespace/going", "-o", 'jsonpath={.status.conditions[?(@.status=="True")].message}');
    await expect.poll(why, { timeout: 60_000 }).toContain("Usage default/outer by ConfigMap/elsewhere");
    await expect
      .poll(() => get("usage.protection.crossplane.io", "-n", "going", "-o", "name"), { timeout: 60_000 })
      .toBe("");
    await remove("configmap/elsewhere");
    await expect.poll(() => exists("namespace/going"), { timeout: 120_000 }).toBe(false);
  });

  test("only the API server knows the path of the webhook", async () => {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const call = request(
        { host: "127.0.0.1", port, path: "/validate-no-usages", method: "POST", rejectUnauthorized: false },
        (response) => resolve(response.resume().statusCode),
      );
      call.once("error", reject).end("{}");
    });
    expect(status).toBe(404);
  });

  test("the object stays protected while the controller is down; without a webhook, usages say that nothing is denied", async () => {
    await apply(`${configMap("kept")}
apiVersion: protection.crossplane.io/v1beta1
kind: Usage
metadata: { name: kept, namespace: default }
spec: { of: { apiVersion: v1, kind: ConfigMap, resourceRef: { name: kept } }, reason: r }
`);
    await wait("usage.protection.crossplane.io/kept", "condition=Ready");
    await controller.end("SIGKILL");
    await expect(remove("configmap/kept")).rejects.toThrow("failed calling webhook");
    expect(await xfn("doctor", "--cluster")).toMatch(/FAIL +admission webhook .*failed calling webhook/);
    await using without = await startController(server.admin.kubeconfig, {
      args: ["--enable-usages", "--namespace=default"],
    });
    await expect
      .poll(() => get("usage.protection.crossplane.io/kept", "-o", "jsonpath={.status.conditions[0].reason}"), {
        timeout: 30_000,
      })
      .toBe("NoWebhook");
    await without.end("SIGTERM");
    controller = await start();
    await wait("usage.protection.crossplane.io/kept", "condition=Ready");
    await remove("usage.protection.crossplane.io/kept");
    await expect.poll(() => exists("usage.protection.crossplane.io/kept"), { timeout: 30_000 }).toBe(false);
    await remove("configmap/kept");
  });
});
