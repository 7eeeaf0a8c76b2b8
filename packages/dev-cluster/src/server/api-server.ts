import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:https";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import type { ServerBinaries } from "../binaries/server-binaries.ts";
import { freePort } from "./free-port.ts";
import { ADMIN, type ServerUser, writeKubeconfig, writeServerFiles } from "./server-files.ts";
import { type ServerProcess, startProcess } from "./server-process.ts";

// All is ready in some three seconds on two cores; a machine that is busy may need a minute.
const START_MS = 120_000;
const POLL_MS = 40;
// A port may be taken between our look and its use.
const TRIES = 4;
// What clients still watch is not waited for.
const STOP_MS = 2_000;

/** A Kubernetes API server with its etcd and garbage collector, on loopback. */
export interface ApiServer extends AsyncDisposable {
  /** `https://127.0.0.1:PORT` */
  readonly endpoint: string;
  /** What its certificate is checked with, in PEM. */
  readonly ca: string;
  /** Everything that belongs to it, logs included: `etcd.log`, `kube-apiserver.log`, `kube-controller-manager.log`. */
  readonly folder: string;
  readonly binaries: ServerBinaries;
  /** The user that may do everything. */
  readonly admin: ServerUser;
  /** One of the users that were asked for: it may do what RBAC grants to it, at first next to nothing. @throws {TypeError} */
  user(name: string): ServerUser;
  /** Stops the API server alone, starts it again at the same port, and waits until it is ready. */
  restart(options?: { readonly downMs?: number }): Promise<void>;
  /** Kills the API server (not etcd) as a crash would; `restart` brings it back. */
  kill(): Promise<void>;
  /** Starts the controller manager again: its garbage collector takes up to 40 s to notice a CRD, and some 50 ms when it starts. */
  restartControllerManager(): Promise<void>;
  /** Rejects, saying why, if one of the programs ends by itself. Never resolves. */
  readonly failure: Promise<never>;
  /** Ends all programs; removes the folder unless it was given. */
  stop(): Promise<void>;
}

export interface ApiServerOptions {
  readonly binaries: ServerBinaries;
  /** Where state is kept between starts. Default: a temporary folder that goes at the end. */
  readonly dataDir?: string | undefined;
  /** Names of users to make besides `admin`. */
  readonly users?: readonly string[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The API server could not be started, or ended by itself. */
export class ApiServerError extends Error {
  override readonly name = "ApiServerError";
  readonly code = "ApiServerFailed";
  readonly retryable = true;
}

/**
 * Starts etcd, kube-apiserver (RBAC, token authentication) and kube-controller-manager (garbage collector, namespaces, service
 * accounts). Resolves when the API server is ready.
 *
 * @throws {ApiServerError} with the last lines of the log of the program that ended, or was not ready in two minutes
 */
export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const folder = options.dataDir ?? mkdtempSync(join(tmpdir(), "xfn-api-server-"));
  const removed = options.dataDir === undefined;
  try {
    for (let tries = 1; ; tries++) {
      try {
        return await tryToStart(folder, removed, options);
      } catch (error) {
        options.signal?.throwIfAborted();
        if (tries === TRIES || !(error instanceof ApiServerError && /address already in use/.test(error.message)))
          throw error;
      }
    }
  } catch (error) {
    if (removed) rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

async function tryToStart(folder: string, removed: boolean, options: ApiServerOptions): Promise<ApiServer> {
  const { binaries, users = [], signal } = options;
  const [port, client, peer] = [await freePort(), await freePort(), await freePort()];
  const tokens = writeServerFiles(folder, users);
  const endpoint = `https://127.0.0.1:${port}`;
  const running = new Set<ServerProcess>();
  const failed = Promise.withResolvers<never>();
  // Whoever waits for nothing has been told by what they asked the server.
  failed.promise.catch(() => undefined);
  const start = (binary: string, args: readonly string[]): ServerProcess => {
    const started = startProcess(binary, args, folder);
    running.add(started);
    void (async () => {
      await started.whenEnded;
      if (running.delete(started)) failed.reject(endedByItself(started));
    })();
    return started;
  };
  const end = async (ended: ServerProcess, graceMs: number): Promise<void> => {
    running.delete(ended);
    await ended.stop(graceMs);
  };
  // What is thrown away need not end in order.
  const endAll = async (): Promise<void> => {
    if (removed) await Promise.all([...running].map((one) => end(one, 0)));
    else for (const one of [...running].toReversed()) await end(one, STOP_MS);
  };

  try {
    const etcd = start(binaries.etcd, etcdArgs(folder, client, peer, removed));
    await until(etcd, signal, () => isListening(client));
    const apiArgs = apiServerArgs(folder, port, client);
    let server = start(binaries["kube-apiserver"], apiArgs);
    const token = tokens.get(ADMIN) ?? "";
    const isReady = async (): Promise<boolean> => answersReady(port, readCa(folder), token);
    await until(server, signal, isReady);
    const ca = readCa(folder);
    const people = new Map(
      [...tokens].map(([name, own]) => [name, writeKubeconfig(folder, endpoint, ca, name, own)] as const),
    );
    const user = (name: string): ServerUser => {
      const found = people.get(name);
      if (found === undefined) throw new TypeError(`the server was started without a user ${JSON.stringify(name)}`);
      return found;
    };
    // A process that ends without stopping the server, by an error of its own, leaves nothing either.
    const onExit = (): void => {
      for (const one of running) one.kill();
      if (removed) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    };
    process.once("exit", onExit);
    let manager = start(binaries["kube-controller-manager"], managerArgs(folder, user(ADMIN).kubeconfig));
    const stop = async (): Promise<void> => {
      process.off("exit", onExit);
      await endAll();
      if (removed) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    };
    return {
      endpoint,
      ca,
      folder,
      binaries,
      admin: user(ADMIN),
      user,
      failure: failed.promise,
      restart: async ({ downMs = 0 } = {}) => {
        await end(server, STOP_MS);
        if (downMs > 0) await sleep(downMs);
        server = start(binaries["kube-apiserver"], apiArgs);
        await until(server, undefined, isReady);
      },
      kill: async () => {
        await end(server, 0);
      },
      restartControllerManager: async () => {
        await end(manager, 0);
        manager = start(binaries["kube-controller-manager"], managerArgs(folder, user(ADMIN).kubeconfig));
      },
      stop,
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await Promise.all([...running].map((one) => end(one, 0)));
    throw error;
  }
}

async function until(
  program: ServerProcess,
  signal: AbortSignal | undefined,
  ready: () => Promise<boolean>,
): Promise<void> {
  const end = Date.now() + START_MS;
  while (!(await ready())) {
    signal?.throwIfAborted();
    if (program.ended) throw endedByItself(program);
    if (Date.now() > end)
      throw new ApiServerError(`${program.program} was not ready after ${START_MS / 1000} s:\n${program.log()}`);
    await sleep(POLL_MS);
  }
}

function endedByItself(program: ServerProcess): ApiServerError {
  return new ApiServerError(`${program.program} has ended:\n${program.log()}`);
}

function readCa(folder: string): string {
  try {
    return readFileSync(join(folder, "certs/apiserver.crt"), "utf8");
  } catch {
    // It makes its certificate when it starts.
    return "";
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true));
    socket.once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}

function answersReady(port: number, ca: string, token: string): Promise<boolean> {
  if (ca === "") return Promise.resolve(false);
  return new Promise((resolve) => {
    const asked = request(
      {
        host: "127.0.0.1",
        port,
        path: "/readyz",
        ca,
        agent: false,
        timeout: 5_000,
        headers: { authorization: `Bearer ${token}` },
      },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode === 200);
      },
    );
    asked.once("timeout", () => asked.destroy());
    asked.once("error", () => resolve(false));
    asked.end();
  });
}

function etcdArgs(folder: string, client: number, peer: number, thrownAway: boolean): readonly string[] {
  const clientUrl = `http://127.0.0.1:${client}`;
  const peerUrl = `http://127.0.0.1:${peer}`;
  return [
    `--data-dir=${join(folder, "etcd")}`,
    `--listen-client-urls=${clientUrl}`,
    `--advertise-client-urls=${clientUrl}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
    "--log-level=warn",
    ...(thrownAway ? ["--unsafe-no-fsync"] : []),
  ];
}

function apiServerArgs(folder: string, port: number, etcd: number): readonly string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${etcd}`,
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    `--secure-port=${port}`,
    `--cert-dir=${join(folder, "certs")}`,
    `--token-auth-file=${join(folder, "tokens.csv")}`,
    "--anonymous-auth=false",
    "--authorization-mode=RBAC",
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${join(folder, "sa.pub")}`,
    `--service-account-signing-key-file=${join(folder, "sa.key")}`,
    "--service-cluster-ip-range=10.0.0.0/24",
    "--allow-privileged=true",
    // Pods are never run here; without it they need no service account to be accepted.
    "--disable-admission-plugins=ServiceAccount",
    "--endpoint-reconciler-type=none",
    "--profiling=false",
    "--shutdown-delay-duration=0s",
    "--v=0",
  ];
}

function managerArgs(folder: string, kubeconfig: string): readonly string[] {
  const controllers = [
    "garbage-collector-controller",
    "namespace-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "clusterrole-aggregation-controller",
    "resourcequota-controller",
  ];
  return [
    `--kubeconfig=${kubeconfig}`,
    `--controllers=${controllers.join(",")}`,
    "--leader-elect=false",
    "--secure-port=0",
    `--service-account-private-key-file=${join(folder, "sa.key")}`,
    "--use-service-account-credentials=false",
    "--kube-api-qps=500",
    "--kube-api-burst=1000",
  ];
}
