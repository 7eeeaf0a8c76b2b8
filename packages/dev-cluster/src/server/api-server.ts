import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import type { ServerBinaries } from "../binaries/server-binaries.ts";
import { ApiServerError } from "./api-server-error.ts";
import { freePort } from "./free-port.ts";
import { apiServerArguments, ETCD_SOCKET, etcdArguments, managerArguments } from "./program-arguments.ts";
import { answersReady, exitedUnexpectedly, readCertificate, waitUntilReady } from "./readiness.ts";
import { ADMIN, type ServerUser, writeKubeconfig, writeServerFiles } from "./server-files.ts";
import { type ServerProcess, startProcess } from "./server-process.ts";

// Another process may take a port between our look-up and its use.
const TRIES = 4;
// The API server would wait longer for watches to end.
const STOP_MS = 2_000;

/** A Kubernetes API server with its etcd and garbage collector, on loopback. */
export interface ApiServer extends AsyncDisposable {
  /** `https://127.0.0.1:PORT` */
  readonly endpoint: string;
  /** The authority of its certificate, in PEM. */
  readonly ca: string;
  /** All its files, with `etcd.log`, `kube-apiserver.log` and `kube-controller-manager.log`. */
  readonly folder: string;
  readonly binaries: ServerBinaries;
  /** The user with all permissions. */
  readonly admin: ServerUser;
  /**
   * One of the requested users, which has the permissions that RBAC grants: few at first.
   *
   * @throws TypeError for another name
   */
  user(name: string): ServerUser;
  /** Restarts the API server alone, at the same port, and waits until it is ready. */
  restart(options?: { readonly downMs?: number }): Promise<void>;
  /** Kills the API server, but not etcd, as a crash would. `restart` starts it again. */
  kill(): Promise<void>;
  /**
   * Restarts the controller manager. Its garbage collector takes up to 40 s to notice a new CRD, but some 50 ms when it
   * starts.
   */
  restartControllerManager(): Promise<void>;
  /** Rejects with an ApiServerError if a program exits unexpectedly. Never resolves. */
  readonly failure: Promise<never>;
  /** Stops all programs, and removes a temporary folder. */
  stop(): Promise<void>;
}

export interface ApiServerOptions {
  readonly binaries: ServerBinaries;
  /** Keeps the state between starts. Default: a temporary folder, removed at the end. */
  readonly dataDir?: string | undefined;
  /** Names of users to make besides `admin`. */
  readonly users?: readonly string[] | undefined;
  /** Arguments of kube-apiserver besides our own, such as `--audit-log-path`. */
  readonly arguments?: readonly string[] | undefined;
  /** Variables of kube-apiserver besides PATH and HOME, such as GOGC. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Starts etcd, kube-apiserver (RBAC, token authentication) and kube-controller-manager (garbage collector, namespaces,
 * service accounts). Resolves when the API server is ready.
 *
 * @throws ApiServerError with the last lines of the log, if a program exits or is not ready after two minutes
 */
export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const isTemporary = options.dataDir === undefined;
  const folder = options.dataDir ?? mkdtempSync(join(tmpdir(), "xfn-api-server-"));
  try {
    for (let tries = 1; ; tries++) {
      try {
        return await RunningServer.start(folder, isTemporary, options);
      } catch (error) {
        options.signal?.throwIfAborted();
        if (tries === TRIES || !(error instanceof ApiServerError && /address already in use/.test(error.message)))
          throw error;
      }
    }
  } catch (error) {
    if (isTemporary) rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

class RunningServer implements ApiServer {
  readonly folder: string;
  readonly binaries: ServerBinaries;
  readonly failure: Promise<never>;
  readonly #isTemporary: boolean;
  readonly #arguments: readonly string[];
  readonly #environment: Readonly<Record<string, string>>;
  readonly #port: number;
  readonly #tokens: ReadonlyMap<string, string>;
  readonly #fail: (error: ApiServerError) => void;
  readonly #running = new Set<ServerProcess>();
  #ca = "";
  #users: ReadonlyMap<string, ServerUser> = new Map();
  #server: ServerProcess | undefined;
  #manager: ServerProcess | undefined;

  private constructor(folder: string, isTemporary: boolean, port: number, options: ApiServerOptions) {
    this.folder = folder;
    this.binaries = options.binaries;
    this.#arguments = options.arguments ?? [];
    this.#environment = options.environment ?? {};
    this.#isTemporary = isTemporary;
    this.#port = port;
    this.#tokens = writeServerFiles(folder, options.users ?? []);
    const { promise, reject } = Promise.withResolvers<never>();
    // Callers that do not wait for it get the error from their own requests.
    promise.catch(() => undefined);
    this.failure = promise;
    this.#fail = reject;
  }

  static async start(folder: string, isTemporary: boolean, options: ApiServerOptions): Promise<RunningServer> {
    const server = new RunningServer(folder, isTemporary, await freePort(), options);
    try {
      await server.#startPrograms(options.signal);
      return server;
    } catch (error) {
      await server.#end(server.#running, 0);
      throw error;
    }
  }

  get endpoint(): string {
    return `https://127.0.0.1:${this.#port}`;
  }

  get ca(): string {
    return this.#ca;
  }

  get admin(): ServerUser {
    return this.user(ADMIN);
  }

  user(name: string): ServerUser {
    const found = this.#users.get(name);
    if (found === undefined) throw new TypeError(`the server was started without a user ${JSON.stringify(name)}`);
    return found;
  }

  async restart({ downMs = 0 }: { readonly downMs?: number } = {}): Promise<void> {
    await this.#end([this.#server], STOP_MS);
    if (downMs > 0) await sleep(downMs);
    await this.#startServer(undefined);
  }

  async kill(): Promise<void> {
    await this.#end([this.#server], 0);
  }

  async restartControllerManager(): Promise<void> {
    await this.#end([this.#manager], 0);
    this.#startManager();
  }

  async stop(): Promise<void> {
    process.off("exit", this.#onExit);
    // A temporary server has no state to save, so its programs need not stop in order.
    if (this.#isTemporary) await this.#end(this.#running, 0);
    else for (const program of [...this.#running].toReversed()) await this.#end([program], STOP_MS);
    this.#removeFolder();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #startPrograms(signal: AbortSignal | undefined): Promise<void> {
    const socket = join(this.folder, ETCD_SOCKET);
    // A killed etcd leaves its socket.
    rmSync(socket, { force: true });
    const database = this.#start(this.binaries.etcd, etcdArguments(this.folder, this.#isTemporary));
    await waitUntilReady(database, signal, async () => existsSync(socket));
    await this.#startServer(signal);
    this.#ca = readCertificate(this.folder);
    const { endpoint, ca } = this;
    this.#users = new Map(
      [...this.#tokens].map(([name, token]) => [name, writeKubeconfig(this.folder, endpoint, ca, name, token)]),
    );
    process.once("exit", this.#onExit);
    this.#startManager();
  }

  async #startServer(signal: AbortSignal | undefined): Promise<void> {
    const api = this.#port;
    const token = this.#tokens.get(ADMIN) ?? "";
    const args = [...apiServerArguments(this.folder, api), ...this.#arguments];
    this.#server = this.#start(this.binaries["kube-apiserver"], args, this.#environment);
    await waitUntilReady(this.#server, signal, () => answersReady(api, readCertificate(this.folder), token));
  }

  #startManager(): void {
    const args = managerArguments(this.folder, this.admin.kubeconfig);
    this.#manager = this.#start(this.binaries["kube-controller-manager"], args);
  }

  #start(binary: string, args: readonly string[], environment?: NodeJS.ProcessEnv): ServerProcess {
    const program = startProcess(binary, args, this.folder, environment);
    this.#running.add(program);
    void (async () => {
      await program.whenExited;
      if (this.#running.delete(program)) this.#fail(exitedUnexpectedly(program));
    })();
    return program;
  }

  async #end(programs: Iterable<ServerProcess | undefined>, graceMs: number): Promise<void> {
    await Promise.all(
      [...programs].map(async (program) => {
        if (program === undefined) return;
        this.#running.delete(program);
        await program.stop(graceMs);
      }),
    );
  }

  // Cleans up after a process that exits without a call of `stop`, because of an error elsewhere.
  readonly #onExit = (): void => {
    for (const program of this.#running) program.kill();
    this.#removeFolder();
  };

  #removeFolder(): void {
    if (this.#isTemporary) rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }
}
