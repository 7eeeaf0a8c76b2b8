import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { HostRequest, HostResponse, StartRequest } from "./host/protocol.ts";
import { RunnerError } from "./runner-error.ts";

/** A container that was started. */
export interface Started {
  /** Paths of our ends of its pipes; open them, then call `attached`. */
  stdio: { stdin: string; stdout: string; stderr: string };
  rootfs: "overlay" | "copy";
  /** Set when an overlay was wanted and refused: the kernel's reason. */
  notice?: string;
  exit: Promise<Exit>;
}

/** How a container ended. */
export interface Exit {
  /** The function's exit code as crun passes it on, or null when crun itself was killed. */
  code: number | null;
  runtimeError: string | null;
  /** Whether the writable part of its root filesystem had no room left. */
  diskFull: boolean;
}

interface Pending {
  started: PromiseWithResolvers<Started>;
  exit: PromiseWithResolvers<Exit>;
}

// Whatever a failing `unshare` says fits in this.
const MAX_STDERR_BYTES = 4096;

/** The runner's handle on the process that holds the namespaces (`host/main.ts`). */
export class SandboxHost {
  readonly scratch: string;
  readonly #child: ChildProcess;
  readonly #pending = new Map<string, Pending>();
  readonly #ready: PromiseWithResolvers<void> = Promise.withResolvers();
  #pid = 0;
  #stderr = "";
  #gone = false;

  /** Starts the process; {@link ready} tells whether the namespaces could be made. @param cache - the store's directory */
  constructor(cache: string) {
    const rootless = process.geteuid?.() !== 0;
    // Root's containers belong to an id that cannot pass a private directory such as /root; /run can always be passed.
    this.scratch = rootless ? join(cache, "sandboxes") : "/run/xfn";
    mkdirSync(this.scratch, { recursive: true });
    const namespaces = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
    if (rootless) namespaces.unshift("--user", "--map-root-user");
    const main = fileURLToPath(new URL(`./host/main${extname(import.meta.url)}`, import.meta.url));
    this.#child = spawn(
      "unshare",
      [...namespaces, process.execPath, "--max-old-space-size=128", "--disable-warning=ExperimentalWarning", main],
      // In a session of its own: Ctrl-C reaches the runner alone, which then ends its containers in order.
      {
        stdio: ["ignore", "ignore", "pipe", "ipc"],
        detached: true,
        serialization: "json",
        env: { PATH: process.env["PATH"] ?? "" },
      },
    );
    this.#child.on("message", (message) => this.#receive(message as HostResponse));
    this.#child.stderr?.on("data", (chunk: Buffer) => {
      if (this.#stderr.length < MAX_STDERR_BYTES) this.#stderr += chunk.toString("utf8");
    });
    this.#child.on("error", (error) => this.#end(error));
    this.#child.on("close", () => this.#end());
    this.#ready.promise.catch(() => undefined);
    this.#send({ type: "init", scratch: this.scratch });
  }

  /** Resolves when containers can be started. @throws RunnerError `NamespaceUnavailable` */
  ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Whether the process has ended, so that another one is needed. */
  get gone(): boolean {
    return this.#gone;
  }

  /** Starts one container. @throws RunnerError `RootFilesystemFailed`, `StartFailed`, `Closed` */
  async start(request: StartRequest): Promise<Started> {
    await this.#ready.promise;
    const pending: Pending = { started: Promise.withResolvers(), exit: Promise.withResolvers() };
    pending.exit.promise.catch(() => undefined);
    this.#pending.set(request.id, pending);
    this.#hold();
    this.#send(request);
    return pending.started.promise;
  }

  /** To be called once the paths of `stdio` were opened. */
  attached(id: string): void {
    this.#send({ type: "attached", id });
  }

  /** Kills a container; its `exit` then settles. */
  kill(id: string): void {
    this.#send({ type: "kill", id });
  }

  /** Ends the process and with it every container and mount. */
  async close(): Promise<void> {
    if (this.#gone) return;
    this.#hold();
    const exited = new Promise<void>((resolve) => this.#child.once("exit", () => resolve()));
    if (this.#child.connected) this.#child.disconnect();
    await exited;
    this.#end();
  }

  #send(request: HostRequest): void {
    if (this.#child.connected) this.#child.send(request, (error) => void error);
  }

  #receive(response: HostResponse): void {
    switch (response.type) {
      case "ready":
        this.#pid = childOf(this.#child.pid ?? 0);
        this.#ready.resolve();
        if (this.#pending.size === 0) this.#release();
        return;
      case "failed":
        this.#ready.reject(namespaceError(response.message));
        return;
      default:
        this.#settle(response);
    }
  }

  #settle(response: Extract<HostResponse, { id: string }>): void {
    const pending = this.#pending.get(response.id);
    if (pending === undefined) return;
    switch (response.type) {
      case "started": {
        const [stdin, stdout, stderr] = response.fds.map((fd) => `/proc/${this.#pid}/fd/${fd}`) as [
          string,
          string,
          string,
        ];
        pending.started.resolve({
          stdio: { stdin, stdout, stderr },
          rootfs: response.rootfs,
          ...(response.notice === undefined ? {} : { notice: response.notice }),
          exit: pending.exit.promise,
        });
        return;
      }
      case "startFailed":
        pending.started.reject(
          response.stage === "rootfs"
            ? new RunnerError("RootFilesystemFailed", `its root filesystem could not be made: ${response.message}`, {
                phase: "start",
              })
            : new RunnerError("StartFailed", `its container could not be started: ${response.message}`, {
                phase: "start",
              }),
        );
        break;
      case "exited":
        pending.exit.resolve({
          code: response.code,
          runtimeError: response.runtimeError,
          diskFull: response.diskFull,
        });
        break;
    }
    this.#pending.delete(response.id);
    if (this.#pending.size === 0) this.#release();
  }

  #end(cause?: Error): void {
    if (this.#gone) return;
    this.#gone = true;
    const said = this.#stderr.trim();
    this.#ready.reject(namespaceError(cause?.message ?? (said || "the sandbox host ended"), cause));
    const error = new RunnerError("Closed", `the sandbox host ended while a function ran${said ? `: ${said}` : ""}`, {
      phase: "run",
    });
    for (const { started, exit } of this.#pending.values()) {
      started.reject(error);
      exit.reject(error);
    }
    this.#pending.clear();
  }

  // A runner without calls keeps no Node process alive: a program that forgets close() still ends, and this process with it.
  #hold(): void {
    for (const handle of [this.#child, this.#child.channel, this.#child.stderr as Socket | null]) handle?.ref();
  }
  #release(): void {
    for (const handle of [this.#child, this.#child.channel, this.#child.stderr as Socket | null]) handle?.unref();
  }
}

function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ")[0]);
}

function namespaceError(reason: string, cause?: unknown): RunnerError {
  return new RunnerError(
    "NamespaceUnavailable",
    `this host does not let us make the namespaces that a sandbox needs: ${reason}. \`xfn doctor\` says what is missing and how to mend it`,
    { phase: "start", retryable: false, cause },
  );
}
