import { close, closeSync, fstatSync, openSync, rmSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { quietly } from "../base/quietly.ts";
import { processTree } from "../cgroup/process-tree.ts";
import { exists, killQuietly, processesWithStdout } from "./processes.ts";
import type { LoadRequest, StartRequest } from "./protocol.ts";
import { sandboxPaths } from "./protocol.ts";
import { barrierKind, type RuntimeRequest, runtimeCommand } from "./runtime-command.ts";
import { pidInFile } from "./runtime-log.ts";
import { StartBarrier } from "./start-barrier.ts";
import type { ExitStatus, Pipe } from "./syscalls.ts";
import { enlargePipe, pipe, spawn } from "./syscalls.ts";

/** The two ends of a container's stdin, stdout and stderr. A closed end is -1. */
interface PipeEnds {
  /** stdin (write), stdout (read), stderr (read), until the runner has opened its own. */
  runner: [number, number, number];
  /** stdin (read), stdout (write), stderr (write), until the container has inherited them. */
  container: [number, number, number];
}

type ContainerState =
  /** Has its bundle and pipes. No process runs. */
  | "prepared"
  /** Its OCI runtime runs and waits at the start barrier. */
  | "loaded"
  /** Its OCI runtime starts the function, or waits for the function's end. */
  | "running"
  /** Its OCI runtime has exited, and the function is a child of this process. */
  | "detached";

export interface ContainerEnd {
  /** Exit code of the function, or of its runtime; null if the runtime was killed. */
  readonly code: number | null;
  /** Whether processes of the container may still be running. */
  readonly strays: boolean;
}

/** The kernel takes long to destroy these. */
const RETAINED_NAMESPACES = ["mnt", "net", "ipc"];

/** Processes that start others faster than they can be moved stay in their cgroup. */
const MOVE_ROUNDS = 5;

/** One container, as the sandbox host sees it. */
export class Container {
  readonly id: string;
  readonly #scratch: string;
  readonly #ends: PipeEnds;
  /** The stdout of all its processes unless they close it, and of no other process: `pipe:[123]`. */
  readonly #stdout: string;
  #state: ContainerState = "prepared";
  #wasLoaded = false;
  /** Whether the runtime exits once the function runs. */
  #detaches = false;
  /** The OCI runtime, while it runs. */
  #runtime: number | undefined;
  /** The function's first process, once the runtime has written its id. */
  #init: number | undefined;
  /** Children without a known container that ended while this runtime worked: the function may be among them. */
  #unclaimedExits: ExitStatus[] = [];
  #namespaces: number[] = [];
  #barrier: StartBarrier | undefined;

  /** Writes the bundle on a prepared root filesystem, and creates the pipes. */
  constructor(scratch: string, id: string, config: string) {
    this.id = id;
    this.#scratch = scratch;
    writeFileSync(`${sandboxPaths(scratch, id).bundle}/config.json`, config);
    const [stdin, stdout, stderr] = threePipes();
    this.#stdout = `pipe:[${fstatSync(stdout.write).ino}]`;
    this.#ends = {
      runner: [stdin.write, stdout.read, stderr.read],
      container: [stdin.read, stdout.write, stderr.write],
    };
  }

  /** The runner's ends of the pipes, which the runner opens. */
  get pipes(): [number, number, number] {
    return this.#ends.runner;
  }

  /** Whether no process was started yet. */
  get isPrepared(): boolean {
    return this.#state === "prepared";
  }

  /** A process whose descendants belong to the container; undefined if none is known. */
  get root(): number | undefined {
    return this.#runtime ?? this.#init;
  }

  /** The function's first process; undefined before the OCI runtime has created it. */
  get init(): number | undefined {
    return this.#findInit();
  }

  /** Whether the function may have begun. */
  get mayHaveRun(): boolean {
    const started = this.#state === "running" || this.#state === "detached";
    return started && (!this.#wasLoaded || this.#findInit() !== undefined);
  }

  /** Starts the runtime, which waits for {@link start}. */
  load(request: LoadRequest): void {
    this.#barrier = this.#makeBarrier(request);
    this.#spawnRuntime({ ...request, detach: false });
    this.#state = "loaded";
    this.#wasLoaded = true;
  }

  /** Starts the function: starts the runtime, or opens the barrier of the loaded one. */
  async start(request: StartRequest): Promise<void> {
    closeAll(this.#ends.runner);
    if (request.largePipes) for (const fd of this.#ends.container.slice(0, 2)) enlargePipe(fd);
    this.#state = "running";
    try {
      const runtime = this.#runtime ?? this.#startRuntime(request);
      closeAll(this.#ends.container);
      if (request.detach) await this.#barrier?.openLater(runtime, request.cgroupProcs);
      else this.#barrier?.open(runtime, request.cgroupProcs);
    } catch (error) {
      this.killRuntime();
      throw error;
    } finally {
      closeAll(this.#ends.container);
    }
  }

  /** Moves all processes to other cgroups. */
  async move(cgroupProcs: readonly string[]): Promise<void> {
    const moved = new Set<number>();
    // A moved process starts others in its new group, so a few rounds find all processes.
    for (let round = 0; round < MOVE_ROUNDS; round++) {
      const { root } = this;
      const found = root === undefined ? [] : processTree(root).filter((pid) => !moved.has(pid));
      if (found.length === 0) return;
      for (const pid of found) {
        moved.add(pid);
        // A process may have ended. A process that cannot be moved stays limited.
        for (const file of cgroupProcs) await writeFile(file, String(pid)).catch(() => undefined);
      }
    }
  }

  /** Kills the first process, which ends its pid namespace. Kills the runtime if there is no first process yet. */
  kill(): void {
    const init = this.#findInit();
    if (init === undefined) this.killRuntime();
    else killQuietly(init);
  }

  /**
   * Kills a runtime that does not exit although its container has ended. {@link killStrays} kills its remaining
   * processes.
   */
  killRuntime(): void {
    if (this.#runtime !== undefined) killQuietly(-this.#runtime);
  }

  /**
   * Kills the remaining processes of a runtime that was killed half-way: parts of the runtime, and its container.
   * Repeat until it finds no process, because a process may just have started another.
   *
   * @returns the number of processes found; 1 if processes cannot be listed
   */
  killStrays(): number {
    const init = this.#findInit();
    if (init !== undefined) killQuietly(init);
    const strays = processesWithStdout(this.#stdout);
    for (const pid of strays ?? []) killQuietly(pid);
    return strays?.length ?? 1;
  }

  /** Whether a child of this process is the container's runtime or function. */
  owns(pid: number): boolean {
    return this.#runtime === pid || (this.#detaches && this.#init === pid);
  }

  /** Records the end of one of its processes. @returns the container's end, unless its function continues */
  childEnded(status: ExitStatus): ContainerEnd | undefined {
    return this.#runtime === status.pid ? this.#runtimeEnded(status) : this.#functionEnded(status);
  }

  /**
   * Records the end of an unclaimed child: a function may end before its runtime has written the function's process id.
   */
  mayClaim(status: ExitStatus): void {
    if (this.#detaches && this.#runtime !== undefined) this.#unclaimedExits.push(status);
  }

  close(): void {
    this.#barrier?.close();
    this.#barrier = undefined;
    closeAll(this.#ends.runner);
    closeAll(this.#ends.container);
  }

  /** Releases the namespaces on another thread, and removes the runtime's state. Call it when no process is left. */
  release(): void {
    for (const fd of this.#namespaces.splice(0)) close(fd);
    // Leftovers disappear with this process.
    quietly(() => rmSync(`${this.#scratch}/state/${this.id}`, { recursive: true, force: true }));
  }

  #startRuntime(request: StartRequest): number {
    if (request.cgroupProcs.length > 0) this.#barrier ??= this.#makeBarrier(request);
    this.#detaches = request.detach;
    return this.#spawnRuntime(request);
  }

  #makeBarrier({ runtimeFamily }: Pick<RuntimeRequest, "runtimeFamily">): StartBarrier {
    return new StartBarrier(sandboxPaths(this.#scratch, this.id).bundle, barrierKind(runtimeFamily));
  }

  #spawnRuntime(request: RuntimeRequest): number {
    const waits = barrierKind(request.runtimeFamily) === "shell" ? this.#barrier?.path : undefined;
    const { path, argv, env } = runtimeCommand(this.#scratch, request, waits);
    this.#runtime = spawn(path, argv, env, this.#ends.container);
    return this.#runtime;
  }

  #runtimeEnded({ code, signal }: ExitStatus): ContainerEnd | undefined {
    this.#runtime = undefined;
    const init = this.#findInit();
    // A killed runtime can leave its container running.
    if (!this.#detaches) return { code, strays: signal !== null };
    if (code !== 0 || init === undefined) return { code, strays: true };
    const status = this.#unclaimedExits.find(({ pid }) => pid === init);
    this.#unclaimedExits = [];
    if (status !== undefined) return this.#functionEnded(status);
    // A runtime that ignored `--detach` has waited for the function, and has exited with its code.
    if (!exists(init)) return { code, strays: false };
    this.#state = "detached";
    this.#retainNamespaces(init);
    return undefined;
  }

  #functionEnded({ code, signal }: ExitStatus): ContainerEnd {
    // 128 + N after signal N, as runtimes report it. If the runtime still runs, this process killed the function.
    return { code: signal === null ? code : 128 + signal, strays: this.#runtime !== undefined };
  }

  /**
   * Retains the namespaces of a waiting function until {@link release}. Otherwise the kernel destroys the mounts before
   * it reports the function's end. It would also destroy the network and queues then, on processors that the answer
   * needs.
   */
  #retainNamespaces(init: number): void {
    // Without the namespaces a call only takes a little longer. Opening them can fail when descriptors run out.
    quietly(() => {
      for (const name of RETAINED_NAMESPACES) this.#namespaces.push(openSync(`/proc/${init}/ns/${name}`, "r"));
    });
  }

  #findInit(): number | undefined {
    this.#init ??= pidInFile(this.#scratch, this.id);
    return this.#init;
  }
}

/** Creates three pipes or none: if descriptors run out, the first ones must not leak. */
function threePipes(): [Pipe, Pipe, Pipe] {
  const made: Pipe[] = [];
  const make = (): Pipe => {
    const next = pipe();
    made.push(next);
    return next;
  };
  try {
    return [make(), make(), make()];
  } catch (error) {
    closeAll(made.flatMap(({ read, write }) => [read, write]));
    throw error;
  }
}

function closeAll(fds: number[]): void {
  for (const fd of fds) if (fd !== -1) closeSync(fd);
  fds.fill(-1);
}
