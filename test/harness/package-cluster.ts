import { copyImage } from "@xfn/oci-rootfs/registry";
import { startApiServer, type TestApiServer } from "./api-server.ts";
import { startController } from "./controller-program.ts";
import { startRegistry, type TestRegistry } from "./registry.ts";
import { startRunnerServer } from "./runner-server.ts";
import { storeOf } from "./shell-function.ts";
import { Workspace } from "./workspace.ts";

/** An API server with a controller that installs packages from a registry, and a runner that serves them. */
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
}

/** Flags of the controller alone, and of the controller and the runner for access to the registry at a host. */
interface PackageClusterFlags {
  readonly controller: readonly string[];
  readonly access: (host: string) => readonly string[];
  /** Of the controller. */
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
  await server.kubectl(["create", "namespace", "crossplane-system"]);
  const args = ["--enable-composition-functions", "--enable-packages", "--runner", runner, ...access];
  started.use(
    await startController(server.admin.kubeconfig, {
      args: [...args, ...flags.controller],
      ...(flags.env && { env: flags.env }),
    }),
  );
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
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
