import { readdirSync, readFileSync } from "node:fs";
import { buildImage, openStore } from "@xfn/oci-rootfs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { type RunningController, startController } from "../harness/controller-program.ts";
import { definitionYaml } from "../harness/definition-yaml.ts";
import { addHostBases } from "../harness/host-bases.ts";
import { type Before, before, leftovers } from "../harness/leftovers.ts";
import { needs } from "../harness/needs.ts";
import { PATIENCE } from "../harness/patience.ts";
import { echoModule } from "../harness/wasm-modules.ts";
import { Workspace } from "../harness/workspace.ts";

// xfn-controller --runner in-process: functions in containers and WebAssembly modules, without an xfn-runner.

const definition = definitionYaml("XCache", { group: "cache.example.org", version: "v1alpha1" });

const cache = (name: string, spec: string): string => `
apiVersion: cache.example.org/v1alpha1
kind: XCache
metadata: { name: ${name} }
spec: ${spec}
`;

// Reports what it can read and reach of the controller, and sleeps on request.
const FUNCTION = `#!/bin/sh
input=$(cat)
case $input in *sleep*) sleep 86399;; esac
found=
for path in "$SECRET" /var/run/secrets/kubernetes.io; do [ -n "$path" ] && [ -e "$path" ] && found="$found $path"; done
env | grep -q KUBECONFIG && found="$found variable"
[ "$(ls -d /proc/[0-9]* | wc -l)" -gt 6 ] && found="$found processes"
[ "$(grep -c : /proc/net/dev)" -gt 1 ] && found="$found network"
cat <<END
{"apiVersion": "apiextensions.crossplane.io/v1alpha1", "kind": "FunctionIO",
 "desired": {"composite": {"resource": {"apiVersion": "cache.example.org/v1alpha1", "kind": "XCache",
 "status": {"found": "none$found"}}}}}
END
`;

const composition = (module: string): string => `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: cache }
spec:
  compositeTypeRef: { apiVersion: cache.example.org/v1alpha1, kind: XCache }
  functions:
    - name: container
      type: Container
      container: { image: test/cache, imagePullPolicy: Never, timeout: 5m }
    - name: module
      type: Wasm
      wasm: { image: "${module}" }
`;

const networked = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: networked }
spec:
  compositeTypeRef: { apiVersion: cache.example.org/v1alpha1, kind: XCache }
  functions:
    - name: networked
      type: Container
      container: { image: test/cache, imagePullPolicy: Never, network: Accessible }
`;

describe("a controller with a runner in its process", needs("api-server", "crun"), () => {
  let workspace: Workspace;
  let server: TestApiServer;
  let controller: RunningController;
  let state: Before;

  beforeAll(async () => {
    workspace = await Workspace.create();
    await addHostBases(workspace, "sh");
    await workspace.write("function/function", FUNCTION, { mode: 0o755 });
    const built = await workspace.xfn(["build", workspace.path("function"), "-t", "test/cache"]);
    if (built.code !== 0) throw new Error(`cannot build the function: ${built.stderr}`);
    state = await before(workspace.root);
    server = await startApiServer();
    await server.kubectl(["create", "namespace", "crossplane-system"]);
    controller = await start();
    await apply(definition);
    await server.kubectl(["wait", "xrd", "--all", "--for=condition=Established", "--timeout=60s"]);
    await apply(composition(await buildModule(workspace)));
    await apply(networked);
  });
  afterAll(async () => {
    await controller?.[Symbol.asyncDispose]();
    await server?.stop();
    await workspace?.[Symbol.asyncDispose]();
  });

  const start = (): Promise<RunningController> =>
    startController(server.admin.kubeconfig, {
      args: ["--enable-composition-functions", "--runner", "in-process", "--cache-dir", workspace.cache, ...ALLOWED],
      env: { SECRET: server.admin.kubeconfig },
    });
  const apply = (yaml: string): Promise<string> => server.kubectl(["apply", "-f", "-"], { input: yaml });
  const status = async (name: string, path: string): Promise<string> =>
    (await server.kubectl(["get", "xcache", name, "-o", `jsonpath={.status.${path}}`])).trim();
  const create = async (name: string, spec: string): Promise<void> => {
    await expect.poll(() => apply(cache(name, spec)).then(() => "", String), PATIENCE).toBe("");
  };
  const page = async (path: string): Promise<string> => (await fetch(`${controller.http}${path}`)).text();
  const sleeping = (): string[] =>
    readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && textOf(`/proc/${pid}/cmdline`) === "sleep\x0086399\x00");

  test("composes through a container and a module, which see nothing of the controller", async () => {
    await create("first", "{ compositionRef: { name: cache } }");
    await server.kubectl(["wait", "xcache/first", "--for=condition=Ready", "--timeout=120s"]);
    expect(await status("first", "found")).toBe("none");
    expect(sleeping()).toEqual([]);
  });

  test("is ready only if containers can run, and has the metrics of a runner in addition to its own", async () => {
    expect((await fetch(`${controller.http}/readyz`)).status).toBe(200);
    const metrics = await page("/metrics");
    expect(metrics).toMatch(/^xfn_runner_calls_total\{code="OK"\} [1-9]/m);
    expect(metrics).toMatch(/^xfn_runner_ready 1$/m);
    expect(metrics).toMatch(/^xfn_controller_reconciles_total\{/m);
    const names = metrics.match(/^# TYPE \S+/gm) ?? [];
    expect(new Set(names).size).toBe(names.length);
  });

  test("shares the controller's network with no function", async () => {
    await create("networked", "{ compositionRef: { name: networked } }");
    await server.kubectl(["wait", "xcache/networked", "--for=condition=Synced=False", "--timeout=60s"]);
    expect(await status("networked", "conditions[*].message")).toMatch(/shares its network with no function/);
  });

  test("a killed controller leaves no container and no lease on images, and the next one goes on", async () => {
    await create("slow", '{ compositionRef: { name: cache }, note: "sleep" }');
    await expect.poll(() => sleeping().length, PATIENCE).toBeGreaterThan(0);
    expect(await controller.end("SIGKILL")).toBe("SIGKILL");
    await expect.poll(sleeping, PATIENCE).toEqual([]);
    controller = await start();
    await create("second", "{ compositionRef: { name: cache } }");
    await server.kubectl(["wait", "xcache/second", "--for=condition=Ready", "--timeout=120s"]);
  });

  test("ends its containers at SIGTERM", async () => {
    await expect.poll(() => sleeping().length, PATIENCE).toBeGreaterThan(0);
    controller.end("SIGTERM").catch(() => undefined);
    await controller.logged(({ msg }) => msg === "stopping");
    // The second signal ends the grace of running reconciles.
    expect(await controller.end("SIGTERM")).toBe(0);
    expect(sleeping()).toEqual([]);
    await server.stop();
    expect(await leftovers(state)).toEqual([]);
  });
});

/** Images of folders need a flag: authors of Compositions could otherwise read any layout of the machine. */
const ALLOWED = ["--allow-oci-layouts"];

/** An image of a module that returns its input. */
async function buildModule(workspace: Workspace): Promise<string> {
  const name = `oci:${workspace.path("module")}`;
  await buildImage({
    store: await openStore({ dir: workspace.path("store") }),
    name,
    layers: [{ entries: [{ path: "fn.wasm", content: echoModule(), mode: 0o755 }] }],
    config: { entrypoint: ["/fn.wasm"] },
  });
  return name;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // It has ended.
    return "";
  }
}
