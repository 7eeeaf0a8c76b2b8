import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import type { Socket } from "node:net";
import { messageOf } from "@xfn/errors";
import { RunnerError } from "@xfn/runner-contract";
import type {
  ConnectRequest,
  HostRequest,
  HostResponse,
  LoadRequest,
  MoveRequest,
  PrepareRequest,
  StartRequest,
  Usage,
} from "../host/protocol.ts";
import { MAX_CONFIG_TEXT, MAX_CONFIGS } from "../host/protocol.ts";
import { type HostKind, hostCommand, hostError } from "./host-command.ts";
import { type Connection, HostConnections } from "./host-connections.ts";
import { childOf, hostExit } from "./host-exit.ts";

/** A prepared container, in which no process runs yet. */
export interface PreparedContainer {
  /** Paths of the runner's ends of its pipes, which must be opened before the start. */
  stdio: { stdin: string; stdout: string; stderr: string };
  rootfs: "overlay" | "copy";
  /** The kernel's reason, if it rejected the requested overlay. */
  notice?: string;
  /** Settles when the container has ended. @throws RunnerError `StartFailed`, `Closed` */
  exit: Promise<Exit>;
}

/** The end of a container. */
export interface Exit {
  /** Whether the function may have begun; false if a loaded runtime ended before it created a container. */
  mayHaveRun: boolean;
  /** The function's exit code as crun reports it; null if crun itself was killed. */
  code: number | null;
  runtimeError: string | null;
  /** Whether the writable part of its root filesystem was full. */
  diskFull: boolean;
  /** Time of the end, on the clock of `monotonicMs`. */
  at: number;
}

interface Pending {
  prepared: PromiseWithResolvers<PreparedContainer>;
  exit: PromiseWithResolvers<Exit>;
}

// Enough for the messages of a failed `unshare`.
const MAX_STDERR_BYTES = 4096;

/** The runner's handle on the sandbox host, the process that owns the namespaces (`host/main.ts`). */
export class SandboxHost {
  readonly scratch: string;
  readonly #child: ChildProcess;
  readonly #configs = new Map<string, number>();
  #configText = 0;
  readonly #pending = new Map<string, Pending>();
  readonly #ready: PromiseWithResolvers<void> = Promise.withResolvers();
  readonly #connections = new HostConnections();
  /** Pending measurements in the order of their requests. */
  readonly #measuring: ((usages: Usage[]) => void)[] = [];
  #pid = 0;
  #users = 0;
  #isReady = false;
  #stderr = "";
  #gone = false;
  #closing = false;

  readonly #kind: HostKind;
  readonly #onLost: (reason: string) => void;

  /**
   * Starts the process; {@link ready} reports whether the namespaces could be created.
   *
   * @param cache the store's directory
   * @param kind selects the program; that of chroots is `chroot-host/main.ts`
   * @param onLost called with the end of its stderr if it ends on its own. Only the operator may read that text.
   */
  constructor(cache: string, onLost: (reason: string) => void = () => undefined, kind: HostKind = "containers") {
    this.#onLost = onLost;
    this.#kind = kind;
    const { command, args, scratch } = hostCommand(kind, cache);
    this.scratch = scratch;
    this.#child = spawn(
      command,
      args,
      // `detached` creates a new session: Ctrl-C reaches only the runner, which then ends its containers in order.
      {
        stdio: ["ignore", "ignore", "pipe", "ipc"],
        detached: true,
        serialization: "json",
        // One thread in addition to the main one unmounts the root filesystems of ended calls, and creates sockets in
        // the network namespaces of containers. Creating such a socket takes several calls on the same thread.
        env: { PATH: process.env["PATH"] ?? "", UV_THREADPOOL_SIZE: "1" },
      },
    );
    this.#child.on("message", (message, handle) =>
      this.#receive(message as HostResponse, handle as Socket | undefined),
    );
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

  /** The scratch directory as this process sees it. Valid once the host is ready. */
  get scratchFromOutside(): string {
    return `/proc/${this.#pid}/root${this.scratch}`;
  }

  /** The process that starts containers. Valid once the host is ready. */
  get pid(): number {
    return this.#pid;
  }

  /** Whether the process has ended and must be replaced. */
  get gone(): boolean {
    return this.#gone;
  }

  /** Prepares one container. @throws RunnerError `RootFilesystemFailed`, `NamespaceUnavailable`, `Closed` */
  async prepare(container: Omit<PrepareRequest, "type" | "config">, config: string): Promise<PreparedContainer> {
    await this.#ready.promise;
    if (this.#gone) throw this.#lost();
    const request: PrepareRequest = { type: "prepare", ...container, config: this.#configNumber(config) };
    const pending: Pending = { prepared: Promise.withResolvers(), exit: Promise.withResolvers() };
    pending.exit.promise.catch(() => undefined);
    this.#pending.set(request.id, pending);
    this.#send(request);
    return await pending.prepared.promise;
  }

  /** Loads, starts or moves a container whose pipes are open. Its `exit` reports the result of a start. */
  request(message: LoadRequest | StartRequest | MoveRequest): void {
    this.#send(message);
  }

  /** Kills a container; its `exit` then settles, unless it was not started. */
  kill(id: string, started: boolean): void {
    this.#send({ type: "kill", id });
    if (!started) this.#pending.delete(id);
  }

  /** Resource usage of running containers; empty if the process has ended. */
  async measure(ids: string[]): Promise<Usage[]> {
    if (this.#gone || ids.length === 0) return [];
    const { promise, resolve } = Promise.withResolvers<Usage[]>();
    this.#measuring.push(resolve);
    this.#send({ type: "measure", ids });
    return await promise;
  }

  /** Connects to a port of a running container. */
  async connect(request: Omit<ConnectRequest, "type" | "number">): Promise<Connection> {
    if (this.#gone) return { reason: "ended" };
    return await this.#connections.open(request, (message) => this.#send(message));
  }

  /** Keeps this Node process running until `release` was called as often. */
  acquire(): void {
    if (++this.#users === 1) this.#ref();
  }

  release(): void {
    if (--this.#users === 0 && this.#isReady) this.#unref();
  }

  /** Ends the process and with it every container and mount. Kills a process that does not exit within some seconds. */
  async close(): Promise<void> {
    if (this.#gone) return;
    this.#closing = true;
    this.acquire();
    if (this.#child.connected) this.#child.disconnect();
    await hostExit(this.#child);
    this.#end();
  }

  #configNumber(text: string): number {
    const known = this.#configs.get(text);
    if (known !== undefined) return known;
    if (this.#configs.size === MAX_CONFIGS || this.#configText + text.length > MAX_CONFIG_TEXT) {
      this.#configs.clear();
      this.#configText = 0;
    }
    this.#configText += text.length;
    const number = this.#configs.size;
    this.#configs.set(text, number);
    this.#send({ type: "config", number, text });
    return number;
  }

  #send(request: HostRequest): void {
    if (this.#child.connected) this.#child.send(request, (error) => void error);
  }

  #receive(response: HostResponse, socket: Socket | undefined): void {
    switch (response.type) {
      case "ready":
        try {
          const { pid = 0 } = this.#child;
          this.#pid = this.#kind === "chroots" ? pid : childOf(pid);
        } catch (error) {
          this.#giveUp(messageOf(error));
          return;
        }
        this.#isReady = true;
        this.#ready.resolve();
        if (this.#users === 0) this.#unref();
        return;
      case "failed":
        this.#giveUp(response.message);
        return;
      case "measured":
        this.#measuring.shift()?.(response.usages);
        return;
      case "connection":
        this.#connections.settle(response, socket);
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
        const { mayHaveRun, code, runtimeError, diskFull, at } = response;
        pending.exit.resolve({ mayHaveRun, code, runtimeError, diskFull, at });
        break;
      }
    }
    this.#pending.delete(response.id);
  }

  // No container exists yet. The next call starts another process, because the cause may be gone by then.
  #giveUp(reason: string): void {
    if (this.#child.connected) this.#child.disconnect();
    void hostExit(this.#child);
    this.#end(new Error(reason));
  }

  #end(cause?: Error): void {
    if (this.#gone) return;
    this.#gone = true;
    const said = this.#stderr.trim();
    const reason = cause?.message ?? (said || "the sandbox host ended");
    this.#ready.reject(hostError(this.#kind, reason, cause));
    if (this.#isReady && !this.#closing && said !== "") this.#onLost(said);
    const error = this.#lost();
    for (const { prepared, exit } of this.#pending.values()) {
      prepared.reject(error);
      exit.reject(error);
    }
    this.#pending.clear();
    this.#connections.end();
    for (const resolve of this.#measuring.splice(0)) resolve([]);
  }

  #lost(): RunnerError {
    return new RunnerError("Closed", "the sandbox host ended while a function ran", { phase: "run" });
  }

  // An idle runner does not keep Node running: a program that forgets close() still exits, and its sandbox host too.
  #ref(): void {
    for (const handle of [this.#child, this.#child.channel, this.#child.stderr as Socket | null]) handle?.ref();
  }
  #unref(): void {
    for (const handle of [this.#child, this.#child.channel, this.#child.stderr as Socket | null]) handle?.unref();
  }
}
