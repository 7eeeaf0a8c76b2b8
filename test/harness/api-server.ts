import { spawn } from "node:child_process";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type ApiServer,
  type ApiServerOptions,
  explainMissing,
  findBinaries,
  startApiServer as start,
} from "@xfn/dev-cluster";
import type { JsonObject } from "@xfn/json";
import { printJson } from "@xfn/json/text";
import { kubectlInProcess } from "./kubectl/kubectl-in-process.ts";
import { NotImitated } from "./kubectl/not-imitated.ts";
import { SHORT_LIVED } from "./kubectl/short-lived.ts";
import { DISCOVERY_MS } from "./kubectl/writes.ts";

/** How kubectl ends if the server's discovery lacks the kind of an object. */
const UNKNOWN_KIND = "ensure CRDs are installed first";

// Rarer garbage collection saves a tenth of the API server's processor time, and takes 120 MB with the few objects of a
// test. Benchmarks measure a server as it is.
const ENVIRONMENT = process.env["VITEST"] === undefined ? {} : { GOGC: "400" };

/** A running API server, with helpers for tests. */
export interface TestApiServer extends ApiServer {
  /**
   * Runs kubectl as a user (default: admin) and returns its stdout. `kubectl apply` waits for kinds that are not served
   * yet. The admin's frequent commands run in this process: see `kubectlInProcess`.
   *
   * @throws {Error} with its stderr if it fails
   */
  kubectl(args: readonly string[], options?: KubectlOptions): Promise<string>;
  /** Runs `kubectl apply -f -` with these objects, in order. */
  apply(...objects: readonly JsonObject[]): Promise<void>;
}

/** Options of `TestApiServer.kubectl`. */
export interface KubectlOptions {
  readonly input?: string;
  /** One of the users that the server was started with. Default: the admin. */
  readonly as?: string;
}

/**
 * Starts etcd, kube-apiserver and kube-controller-manager on loopback, in some three seconds, and stops them at the
 * end:
 *
 *     describe("a composite", needs("api-server"), () => {
 *       let server: TestApiServer;
 *       beforeAll(async () => { server = await startApiServer({ users: ["ada"] }); });
 *       afterAll(() => server.stop());          // or, inside one test: await using server = await startApiServer();
 *
 *       test("...", async () => {
 *         // server.endpoint, server.ca (PEM), server.admin.{token,kubeconfig}: has all permissions
 *         // server.user("ada").{token,kubeconfig}: has the permissions that RBAC grants, at first almost none
 *         await server.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "default" } });
 *         await server.kubectl(["get", "configmap", "a", "-o", "json"]);
 *         await server.restart();                  // restarts the API server alone: watches break; same port and data
 *         await server.kill();                     // stops it as a crash would; restart() starts it again
 *         await server.restartControllerManager(); // after new CRDs, so that it collects their objects at once
 *       });
 *     });
 *
 * Start one per test file: it takes some 300 MB and a second of CPU. Logs are in `server.folder`.
 */
export async function startApiServer(
  options: Pick<ApiServerOptions, "arguments" | "users"> = {},
): Promise<TestApiServer> {
  const { binaries, missing } = findBinaries();
  if (binaries === undefined) throw new Error(`${explainMissing(missing)}: the test lacks needs("api-server")`);
  const server = await start({ ...options, binaries, environment: ENVIRONMENT });
  const inProcess = kubectlInProcess(server.admin.kubeconfig);
  const runOnce = async (args: readonly string[], input: string, as: string): Promise<string> => {
    if (as !== server.admin.name) return runKubectl(server, args, input, as);
    try {
      return await inProcess.run(args, input);
    } catch (error) {
      if (error instanceof NotImitated) return runKubectl(server, args, input, as);
      throw error;
    }
  };
  const kubectl = async (args: readonly string[], { input = "", as = server.admin.name }: KubectlOptions = {}) => {
    for (const end = Date.now() + DISCOVERY_MS; ; await sleep(500)) {
      try {
        return await runOnce(args, input, as);
      } catch (error) {
        if (args[0] !== "apply" || !String(error).includes(UNKNOWN_KIND) || Date.now() > end) throw error;
      }
    }
  };
  const stop = server.stop.bind(server);
  return Object.assign(server, {
    kubectl,
    async stop() {
      await inProcess.close();
      await stop();
    },
    apply: async (...objects: readonly JsonObject[]) => {
      await kubectl(["apply", "-f", "-"], { input: objects.map((object) => printJson(object)).join("\n") });
    },
  });
}

function runKubectl(server: ApiServer, args: readonly string[], input: string, as: string): Promise<string> {
  const child = spawn(server.binaries.kubectl, args, {
    // kubectl's discovery cache must not be shared between servers.
    env: { PATH: process.env["PATH"], HOME: server.folder, KUBECONFIG: server.user(as).kubeconfig, ...SHORT_LIVED },
    stdio: "pipe",
  });
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0) resolve(Buffer.concat(stdout).toString("utf8"));
      else reject(new Error(`kubectl ${args.join(" ")}: ${Buffer.concat(stderr).toString("utf8").trim()}`));
    });
  });
}
