import { type ChildProcess, spawn } from "node:child_process";
import { copyFileSync, mkdirSync } from "node:fs";

import process from "node:process";
import { copyImage } from "@xfn/oci-rootfs/registry";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { makeCertificates } from "../harness/certificates.ts";
import { buildGrpcImage } from "../harness/grpc-function.ts";
import { startRegistry, type TestRegistry } from "../harness/registry.ts";
import { storeOf } from "../harness/shell-function.ts";
import { Workspace } from "../harness/workspace.ts";
import { freePort, stop } from "./controller-replicas.ts";
import { until } from "./controller-world.ts";

/** A program with the command line of Crossplane's core v2.3, and the folder of its CRDs. */
export interface CoreProgram {
  readonly command: string;
  readonly crds: string;
}

/** The program `XFN_BENCH_FUNCTIONS_PEER` with its CRDs in `XFN_BENCH_FUNCTIONS_PEER_CRDS`; undefined without both. */
export function corePeer(): CoreProgram | undefined {
  const { XFN_BENCH_FUNCTIONS_PEER: command = "", XFN_BENCH_FUNCTIONS_PEER_CRDS: crds = "" } = process.env;
  return command === "" || crds === "" ? undefined : { command, crds };
}

/** An API server with Crossplane's core, which calls functions that run as processes. */
export interface CoreCluster extends AsyncDisposable {
  readonly server: TestApiServer;
  readonly controllerPid: number;
}

/**
 * Starts core, and installs Functions from a registry. Core starts no pods (`--package-runtime=External`), so this
 * function runs their programs, and writes the endpoints where core's package manager would.
 *
 * @param program of each function
 * @param functions the variables of each function, by its name
 */
export async function startCore(
  core: CoreProgram,
  program: string,
  functions: Readonly<Record<string, Readonly<Record<string, string>>>>,
): Promise<CoreCluster> {
  await using started = new AsyncDisposableStack();
  const workspace = started.use(await Workspace.create());
  const registry = started.use(await startRegistry());
  const server = await startApiServer();
  started.defer(() => server.stop());
  await server.kubectl(["apply", "--server-side", "-f", core.crds]);
  // A CRD has no conditions at first, which kubectl reports as an error.
  const established = ["wait", "crd", "--all", "--for=condition=Established", "--timeout=120s"];
  await until(async () => (await server.kubectl(established)) !== "");
  await server.kubectl(["create", "namespace", "crossplane-system"]);
  await server.kubectl(["create", "serviceaccount", "crossplane", "-n", "crossplane-system"]);
  await server.apply({ apiVersion: "pkg.crossplane.io/v1beta1", kind: "Lock", metadata: { name: "lock" } });
  const certificates = await certificateFolder(workspace);
  // Core does not create the folder of its cache, and then reports a closed pipe.
  mkdirSync(workspace.path("xpkg"));
  const flags = ["--package-runtime=External", "--poll-interval=1h", "--metrics-port=0", "--health-probe-port=0"];
  const controller = startProgram([core.command, "core", "start", ...flags], {
    KUBECONFIG: server.admin.kubeconfig,
    POD_NAMESPACE: "crossplane-system",
    POD_SERVICE_ACCOUNT: "crossplane",
    TLS_CLIENT_CERTS_DIR: certificates,
    TLS_SERVER_CERTS_DIR: certificates,
    ENABLE_WEBHOOKS: "false",
    XPKG_CACHE_DIR: workspace.path("xpkg"),
    HOME: workspace.path(),
  });
  started.defer(() => stop(controller));
  for (const [name, env] of Object.entries(functions)) {
    await publish(workspace, registry, name, program, env);
    const address = `localhost:${await freePort()}`;
    const child = startProgram([program, "--address", address], { ...env, TLS_SERVER_CERTS_DIR: certificates });
    started.defer(() => stop(child));
    await install(server, name, `${registry.host}/fns/${name}:v1`, `dns:///${address}`);
  }
  const all = started.move();
  return { server, controllerPid: controller.pid ?? 0, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

/** A folder with a certificate for localhost, which core and the functions share. */
async function certificateFolder(workspace: Workspace): Promise<string> {
  const { ca, cert, key } = await makeCertificates(workspace);
  const folder = workspace.path("certificates");
  mkdirSync(folder);
  copyFileSync(ca, `${folder}/ca.crt`);
  copyFileSync(cert, `${folder}/tls.crt`);
  copyFileSync(key, `${folder}/tls.key`);
  return folder;
}

async function publish(
  workspace: Workspace,
  registry: TestRegistry,
  name: string,
  program: string,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  await buildGrpcImage(workspace, { name, program, env });
  const to = `${registry.host}/fns/${name}:v1`;
  await copyImage({ from: name, to, store: await storeOf(workspace), insecureRegistries: [registry.host] });
}

/**
 * Waits until the Function has an active revision, and tells core where its server listens. The revision stays
 * unhealthy, because no package manager made its certificates. Core calls it anyway.
 */
async function install(server: TestApiServer, name: string, image: string, endpoint: string): Promise<void> {
  await server.apply({
    apiVersion: "pkg.crossplane.io/v1",
    kind: "Function",
    metadata: { name },
    spec: { package: image },
  });
  const ofFunction = ["-l", `pkg.crossplane.io/package=${name}`];
  await until(async () => {
    const revision = (await server.kubectl(["get", "functionrevisions", ...ofFunction, "-o", "name"])).trim();
    const patch = JSON.stringify({ status: { endpoint } });
    await server.kubectl(["patch", revision, "--subresource=status", "--type=merge", "-p", patch]);
    return true;
  });
}

function startProgram([command = "", ...args]: readonly string[], env: Readonly<Record<string, string>>): ChildProcess {
  // The kernel kills the program when the benchmark ends in any way.
  return spawn("setpriv", ["--pdeathsig", "KILL", "--", command, ...args], {
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "ignore", process.env["XFN_BENCH_VERBOSE"] === undefined ? "ignore" : "inherit"],
  });
}
