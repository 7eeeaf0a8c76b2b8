import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { RunnerError } from "@xfn/runner-contract";
import type { HostRequest, HostResponse, LoadRequest, PrepareRequest, StartRequest, Usage } from "../host/protocol.ts";
import { MAX_SPECS } from "../host/protocol.ts";

/** A container that was prepared: nothing of it runs yet. */
export interface PreparedContainer {
  /** Paths of our ends of its pipes; to be opened before it is started. */
  stdio: { stdin: string; stdout: string; stderr: string };
  rootfs: "overlay" | "copy";
  /** Set when an overlay was wanted and refused: the kernel's reason. */
  notice?: string;
  /** Settles when it has ended. @throws RunnerError `StartFailed`, `Closed` */
  exit: Promise<Exit>;
}

/** How a container ended. */
export interface Exit {
  /** Whether its function may have begun; not where its runtime was loaded ahead, and has made no container. */
  seen: boolean;
  /** The function's exit code as crun passes it on, or null when crun itself was killed. */
  code: number | null;
  runtimeError: string | null;
  /** Whether the writable part of its root filesystem had no room left. */
  diskFull: boolean;
  /** When, on the clock of `monotonicMs`. */
  at: number;
}

interface Pending {
  prepared: PromiseWithResolvers<PreparedContainer>;
  exit: PromiseWithResolvers<Exit>;
}

// Whatever a failing `unshare` says fits in this.
const MAX_STDERR_BYTES = 4096;

// It stays, and stays small: a young generation of 16 MB would be filled with messages before it is looked at, and what one of
// V8's compilers takes for its work is never given back.
const hostFlags = [
  "--max-old-space-size=128",
  "--max-semi-space-size=1",
  "--no-maglev",
  "--disable-warning=ExperimentalWarning",
];

/** The runner's handle on the process that holds the namespaces (`host/main.ts`). */
export class SandboxHost {
  readonly scratch: string;
  readonly #child: ChildProcess;
  readonly #specs = new Map<string, number>();
  readonly #pending = new Map<string, Pending>();
  readonly #ready: PromiseWithResolvers<void> = Promise.withResolvers();
  #measuring: PromiseWithResolvers<Usage[]> | undefined;
  #pid = 0;
  #holders = 0;
  #isReady = false;
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
    const main = fileURLToPath(new URL(`../host/main${extname(import.meta.url)}`, import.meta.url));
    this.#child = spawn(
      "unshare",
      [...namespaces, process.execPath, ...hostFlags, main],
      // In a session of its own: Ctrl-C reaches the runner alone, which then ends its containers in order.
      {
        stdio: ["ignore", "ignore", "pipe", "ipc"],
        detached: true,
        serialization: "json",
        // One thread besides the main one unmounts what calls leave.
        env: { PATH: process.env["PATH"] ?? "", UV_THREADPOOL_SIZE: "1" },
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

  /** The scratch directory as this process sees it. Only once it is ready. */
  get scratchFromOutside(): string {
    return `/proc/${this.#pid}/root${this.scratch}`;
  }

  /** Whether the process has ended, so that another one is needed. */
  get gone(): boolean {
    return this.#gone;
  }

  /** Makes what one container needs. @throws RunnerError `RootFilesystemFailed`, `NamespaceUnavailable`, `Closed` */
  async prepare(container: Omit<PrepareRequest, "type" | "spec">, spec: string): Promise<PreparedContainer> {
    await this.#ready.promise;
    if (this.#gone) throw this.#lost();
    const request: PrepareRequest = { type: "prepare", ...container, spec: this.#specNumber(spec) };
    const pending: Pending = { prepared: Promise.withResolvers(), exit: Promise.withResolvers() };
    pending.exit.promise.catch(() => undefined);
    this.#pending.set(request.id, pending);
    this.#send(request);
    return await pending.prepared.promise;
  }

  /** Loads the runtime of a container whose pipes were opened: it waits for {@link start}. */
  load(request: LoadRequest): void {
    this.#send(request);
  }

  /** Starts a container whose pipes were opened; its `exit` says what became of it. */
  start(request: StartRequest): void {
    this.#send(request);
  }

  /** Kills a container; its `exit` then settles. One that was not started is forgotten. */
  kill(id: string, started: boolean): void {
    this.#send({ type: "kill", id });
    if (!started) this.#pending.delete(id);
  }

  /** What containers take that were started and have not ended. Nothing where that cannot be asked. */
  async measure(ids: string[]): Promise<Usage[]> {
    if (this.#gone || ids.length === 0) return [];
    this.#measuring ??= Promise.withResolvers();
    this.#send({ type: "measure", ids });
    return await this.#measuring.promise;
  }

  /** While one holds it, this process does not end by itself for lack of work; released as often as held. */
  hold(): void {
    if (++this.#holders === 1) this.#ref();
  }
  release(): void {
    if (--this.#holders === 0 && this.#isReady) this.#unref();
  }

  /** Ends the process and with it every container and mount. */
  async close(): Promise<void> {
    if (this.#gone) return;
    this.hold();
    const exited = new Promise<void>((resolve) => this.#child.once("exit", () => resolve()));
    if (this.#child.connected) this.#child.disconnect();
    await exited;
    this.#end();
  }

  #specNumber(text: string): number {
    const known = this.#specs.get(text);
    if (known !== undefined) return known;
    if (this.#specs.size === MAX_SPECS) this.#specs.clear();
    const number = this.#specs.size;
    this.#specs.set(text, number);
    this.#send({ type: "spec", number, text });
    return number;
  }

  #send(request: HostRequest): void {
    if (this.#child.connected) this.#child.send(request, (error) => void error);
  }

  #receive(response: HostResponse): void {
    switch (response.type) {
      case "ready":
        try {
          this.#pid = childOf(this.#child.pid ?? 0);
        } catch (error) {
          this.#giveUp(error instanceof Error ? error.message : String(error));
          return;
        }
        this.#isReady = true;
        this.#ready.resolve();
        if (this.#holders === 0) this.#unref();
        return;
      case "failed":
        this.#giveUp(response.message);
        return;
      case "measured":
        this.#measuring?.resolve(response.usages);
        this.#measuring = undefined;
        return;
      default:
        this.#settle(response);
    }
  }

  #settle(response: Extract<HostResponse, { id: string }>): void {
    const pending = this.#pending.get(response.id);
    if (pending === undefined) return;
    switch (response.type) {
      case "prepared": {
        const [stdin, stdout, stderr] = response.fds.map((fd) => `/proc/${this.#pid}/fd/${fd}`) as [
          string,
          string,
          string,
        ];
        pending.prepared.resolve({
          stdio: { stdin, stdout, stderr },
          rootfs: response.rootfs,
          ...(response.notice === undefined ? {} : { notice: response.notice }),
          exit: pending.exit.promise,
        });
        return;
      }
      case "prepareFailed":
        pending.prepared.reject(
          new RunnerError("RootFilesystemFailed", `its root filesystem could not be made: ${response.message}`, {
            phase: "start",
          }),
        );
        break;
      case "startFailed":
        pending.exit.reject(
          new RunnerError("StartFailed", `its container could not be started: ${response.message}`, {
            phase: "start",
          }),
        );
        break;
      case "exited": {
        const { seen, code, runtimeError, diskFull, at } = response;
        pending.exit.resolve({ seen, code, runtimeError, diskFull, at });
        break;
      }
    }
    this.#pending.delete(response.id);
  }

  // It has made nothing yet. The next call gets another one: what this one lacked may have been lacking for a moment.
  #giveUp(reason: string): void {
    if (this.#child.connected) this.#child.disconnect();
    this.#end(new Error(reason));
  }

  #end(cause?: Error): void {
    if (this.#gone) return;
    this.#gone = true;
    const said = this.#stderr.trim();
    this.#ready.reject(namespaceError(cause?.message ?? (said || "the sandbox host ended"), cause));
    const error = this.#lost();
    for (const { prepared, exit } of this.#pending.values()) {
      prepared.reject(error);
      exit.reject(error);
    }
    this.#pending.clear();
    this.#measuring?.resolve([]);
  }

  #lost(): RunnerError {
    const said = this.#stderr.trim();
    return new RunnerError("Closed", `the sandbox host ended while a function ran${said ? `: ${said}` : ""}`, {
      phase: "run",
    });
  }

  // A runner without calls keeps no Node process alive: a program that forgets close() still ends, and this process with it.
  #ref(): void {
    for (const handle of [this.#child, this.#child.channel, this.#child.stderr as Socket | null]) handle?.ref();
  }
  #unref(): void {
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
