import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@xfn/json";
import { copyImage } from "@xfn/oci-rootfs/registry";
import { startApiServer, type TestApiServer } from "./api-server.ts";
import {
  type ControllerLogLine,
  type ControllerOptions,
  type RunningController,
  startController,
} from "./controller-program.ts";
import { CHECKOUT } from "./paths.ts";
import { startRegistry, type TestRegistry } from "./registry.ts";
import { startRunnerServer } from "./runner-server.ts";
import { storeOf } from "./shell-function.ts";
import { Workspace } from "./workspace.ts";

/**
 * An API server with a controller that installs packages from a registry, and a runner that serves them. The controller
 * has the rights of `deploy/packages`, and those on the groups of the test.
 */
export interface PackageCluster extends AsyncDisposable {
  readonly workspace: Workspace;
  readonly registry: TestRegistry;
  readonly server: TestApiServer;
  /** The runner's address. */
  readonly runner: string;
  /** Copies an image of the workspace to the registry. @param to such as `fns/greeting:v1` */
  publish(from: string, to: string): Promise<void>;
  apply(yaml: string): Promise<string>;
  /** The output of `kubectl get ARGS`, trimmed. */
  get(...args: readonly string[]): Promise<string>;
  /** Starts another controller with the same flags, and further ones. */
  another(flags: readonly string[], options?: Pick<ControllerOptions, "until">): Promise<RunningController>;
  /** Stops the first controller. */
  stopController(): Promise<void>;
  /** The process id of the controller. */
  readonly controllerPid: number;
  /** `http://127.0.0.1:PORT` of the controller's metrics and probes. */
  readonly controllerUrl: string;
  /** The controller's log lines about forbidden requests. */
  forbidden(): ControllerLogLine[];
}

/** Flags of the controller alone, and of the controller and the runner for access to the registry at a host. */
interface PackageClusterFlags {
  readonly controller: readonly string[];
  readonly access: (host: string) => readonly string[];
  /** The API groups of the test's definitions. */
  readonly groups: readonly string[];
  /** Environment of the controller. */
  readonly env?: Readonly<Record<string, string>>;
}

// All tests of a file use one runner, on a machine that may be busy.
const RUNNER_LIFE_MS = 1_800_000;

/** Starts all of them. Disposing stops them in the opposite order. */
export async function startPackageCluster(flags: PackageClusterFlags): Promise<PackageCluster> {
  await using started = new AsyncDisposableStack();
  const workspace = started.use(await Workspace.create());
  const registry = started.use(await startRegistry());
  const store = await storeOf(workspace);
  const runner = `unix:${workspace.path("runner.sock")}`;
  const access = ["--insecure-registry", registry.host, ...flags.access(registry.host)];
  const killAfterMs = RUNNER_LIFE_MS;
  started.use(await startRunnerServer(workspace, ["--address", runner, ...access], { killAfterMs }));
  const server = await startApiServer();
  started.defer(() => server.stop());
  const kubeconfig = await deployedAccount(server, flags.groups);
  const own = ["--enable-composition-functions", "--enable-packages", "--runner", runner, ...access];
  const args = [...own, ...flags.controller];
  const controller = started.use(await startController(kubeconfig, { args, ...(flags.env && { env: flags.env }) }));
  const all = started.move();
  return {
    workspace,
    registry,
    server,
    runner,
    async publish(from, to) {
      await copyImage({ from, to: `${registry.host}/${to}`, store, insecureRegistries: [registry.host] });
    },
    apply: (yaml) => server.kubectl(["apply", "-f", "-"], { input: yaml }),
    get: async (...what) => (await server.kubectl(["get", ...what])).trim(),
    another: (more, options) => startController(kubeconfig, { args: [...args, ...more], ...options }),
    stopController: async () => void (await controller.end("SIGTERM")),
    controllerPid: controller.pid,
    controllerUrl: controller.http,
    forbidden: () => controller.log().filter((line) => /forbidden/i.test(JSON.stringify(line))),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

const ACCOUNT = "system:serviceaccount:crossplane-system:xfn-controller";

/**
 * Creates the service account of `deploy/packages` with its roles, and one for the kinds of the test.
 *
 * @returns the path of its kubeconfig
 */
async function deployedAccount(server: TestApiServer, groups: readonly string[]): Promise<string> {
  const deploy = join(CHECKOUT, "deploy");
  await server.kubectl(["create", "namespace", "crossplane-system"]);
  const files = ["base/rbac.yaml", "packages/rbac.yaml"].flatMap((file) => ["-f", join(deploy, file)]);
  await server.kubectl(["apply", "--server-side", ...files]);
  const verbs = ["get", "list", "watch", "create", "update", "patch", "delete"];
  const of = (apiGroups: string[], resources: string[]): JsonObject => ({ apiGroups, resources, verbs });
  const labels = { "rbac.crossplane.io/aggregate-to-crossplane": "true" };
  await server.apply({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "test-kinds", labels },
    // A rule must have a group.
    rules: [of([""], ["configmaps"]), ...(groups.length === 0 ? [] : [of([...groups], ["*"])])],
  });
  // A controller of Kubernetes aggregates the roles with the label.
  const may = (): Promise<string> =>
    server.kubectl(["auth", "can-i", "list", "configmaps", "--as", ACCOUNT]).catch(() => "no");
  while ((await may()).trim() !== "yes") await sleep(100);
  const create = ["create", "token", "xfn-controller", "-n", "crossplane-system", "--duration", "12h"];
  const token = (await server.kubectl(create)).trim();
  const path = join(server.folder, "xfn-controller.kubeconfig");
  const name = "xfn-controller";
  const cluster = { server: server.endpoint, "certificate-authority-data": Buffer.from(server.ca).toString("base64") };
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    "current-context": name,
  };
  await writeFile(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}
