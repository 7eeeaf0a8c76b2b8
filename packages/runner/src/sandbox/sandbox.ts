import { messageOf } from "@xfn/errors";
import { onAbort } from "@xfn/lifetime";
import { DEFAULT_TIMEOUT_MS, RunnerError, type RunOptions } from "@xfn/runner-contract";
import type { LimitCgroup } from "../cgroup/limit-cgroup.ts";
import { NO_HITS } from "../cgroup/limit-cgroup.ts";
import type { SharedGroup } from "../cgroup/shared-group.ts";
import type { WaitingGroup, WaitingPlace } from "../cgroup/waiting-group.ts";
import { type ContainerRuntime, monotonicMs } from "../host/protocol.ts";
import { classifyExit, Ending, wasKilled } from "./classify-exit.ts";
import type { ContainerIo, Stdio } from "./container-io.ts";
import { closeStdio, openContainerIo, openStdio } from "./container-io.ts";
import type { Connection } from "./host-connections.ts";
import type { Exit, PreparedContainer, SandboxHost } from "./sandbox-host.ts";
import type { SandboxSpec } from "./sandbox-spec.ts";
import { ServerOutput } from "./server-output.ts";

/** The result of a call in a sandbox. */
export type Outcome =
  | { output: Uint8Array; stderr: string }
  /** `inputUndelivered`: the sandbox ended before its input arrived, or so soon after that this is possible. */
  | { output: undefined; stderr: string; failure: RunnerError; inputUndelivered: boolean };

/** A sandbox that runs a server. */
export interface Serving {
  readonly output: ServerOutput;
  /** Settles when the container has ended and its output is read. */
  readonly end: Promise<ServerEnd>;
}

/** The end of a server: an exit with this code, which no failure explains, or a failure. */
export type ServerEnd = { exitCode: number; failure?: undefined } | { failure: RunnerError };

interface StartOptions {
  preStarted?: boolean;
  waiting?: WaitingPlace | undefined;
  inputBytes?: number;
}

// Larger inputs justify larger pipes. An ordinary pipe holds smaller inputs whole.
const LARGE_INPUT_BYTES = 64 * 1024;

/**
 * On a busy machine the sandbox host notices the end of a process late. If a pre-started sandbox ends within this time
 * after its input, it may have ended before the input.
 */
const UNCERTAIN_MS = 50;

/**
 * A call whose function takes longer leaves the cgroup of waiting sandboxes. Moving a process delays others for a
 * moment, which short calls must not do. A function that is killed earlier is run again: see {@link UNCERTAIN_MS}.
 */
const LEAVE_AFTER_MS = 25;

/**
 * One container, used for at most one call. It is prepared, then started, then given its input. Any time may pass
 * between these steps.
 */
export class Sandbox {
  readonly spec: SandboxSpec;
  readonly id: string;
  readonly notice: string | undefined;
  /** Settles when the container has ended, or was discarded. */
  readonly exit: Promise<Exit>;
  readonly #host: SandboxHost;
  readonly #cgroup: LimitCgroup | undefined;
  readonly #stdio: Stdio;
  #state: "prepared" | "started" | "used" | "over" = "prepared";
  #started = false;
  #preStarted = false;
  #waiting: WaitingPlace | undefined;

  private constructor(
    host: SandboxHost,
    spec: SandboxSpec,
    id: string,
    cgroup: LimitCgroup | undefined,
    prepared: PreparedContainer,
    stdio: Stdio,
  ) {
    this.#host = host;
    this.spec = spec;
    this.id = id;
    this.notice = prepared.notice;
    this.exit = prepared.exit;
    this.#cgroup = cgroup;
    this.#stdio = stdio;
  }

  /** Creates the resources of a container. No process runs yet. @throws RunnerError */
  static async prepare(
    host: SandboxHost,
    spec: SandboxSpec,
    id: string,
    cgroup: LimitCgroup | undefined,
  ): Promise<Sandbox> {
    try {
      const prepared = await host.prepare(spec.container(id), spec.config(host.scratch, cgroup));
      return new Sandbox(host, spec, id, cgroup, prepared, openPipes(host, id, prepared));
    } catch (error) {
      cgroup?.remove();
      throw error;
    }
  }

  /** Loads the OCI runtime, which waits for {@link start}. Starting then takes less time. */
  load(): void {
    this.#host.request({ type: "load", ...this.#runtime });
  }

  /**
   * Starts the function, which then waits for its input.
   *
   * @param options `preStarted`: there is no call yet, so the runtime may take a millisecond longer to start but must
   *   exit once the function runs; `waiting`: the cgroups in which it then waits; `inputBytes`: size of the input
   */
  start({ preStarted = false, waiting, inputBytes = 0 }: StartOptions = {}): void {
    this.#state = "started";
    this.#started = true;
    this.#preStarted = preStarted;
    this.#waiting = waiting;
    this.#host.request({
      type: "start",
      ...this.#runtime,
      cgroupProcs: [...(this.#cgroup?.procs ?? []), ...(waiting?.procs ?? [])],
      detach: preStarted,
      largePipes: inputBytes > LARGE_INPUT_BYTES,
    });
    // A cgroup outlives its processes.
    const over = (): void => this.#end();
    this.exit.then(over, over);
  }

  /** Delivers the input and waits for the function's end. The clock of the call's timeout starts here. */
  async use(input: Uint8Array, options: RunOptions & { maxOutputBytes?: number | undefined }): Promise<Outcome> {
    const usable = this.#state === "started";
    this.#state = "used";
    if (!usable) return { output: undefined, stderr: "", failure: endedBeforeInput(), inputUndelivered: true };
    const deliveredAt = monotonicMs();
    const ending = new Ending(() => this.kill());
    const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const timer = setTimeout(() => ending.end("Timeout"), timeoutMs);
    const forget = onAbort(options.signal, () => ending.end("Aborted"));
    let io: ContainerIo | undefined;
    let leaving: NodeJS.Timeout | undefined;
    try {
      io = openContainerIo(this.#stdio, input, () => ending.end("OutputTooLarge"), options);
      leaving = this.#leaveLater();
      const exit = await this.exit;
      const { stdout, stderr } = await io.drain(() => ending.reason !== undefined);
      const { writableBytes } = this.spec;
      const hits = this.#cgroup?.hits() ?? NO_HITS;
      const failure = classifyExit(exit, ending.reason, hits, stderr, { ...options, timeoutMs, writableBytes });
      if (failure === undefined) return { output: stdout, stderr };
      // A killed process has not read its input if its stdin was closed before.
      const killedEarly = wasKilled(exit) && io.inputRefused;
      const endedEarly = this.#preStarted && (killedEarly || exit.at < deliveredAt + UNCERTAIN_MS);
      const inputUndelivered = ending.reason === undefined && (!exit.mayHaveRun || endedEarly);
      return { output: undefined, stderr, failure, inputUndelivered };
    } finally {
      clearTimeout(timer);
      clearTimeout(leaving);
      forget();
      if (io === undefined) this.kill();
      io?.abandon();
      this.#cgroup?.remove();
    }
  }

  /**
   * Starts the container as a server, which runs until {@link kill}.
   *
   * @param group the cgroup that it shares with other servers
   */
  serve(group?: SharedGroup): Serving {
    const killsBefore = group?.memoryKills() ?? 0;
    const waiting = group && { procs: group.procs(this.#cgroup), home: [] };
    this.start({ preStarted: true, waiting });
    this.#state = "used";
    const output = new ServerOutput(this.#stdio);
    const end = async (): Promise<ServerEnd> => {
      try {
        const exit = await this.exit;
        await output.drain();
        const { limits, writableBytes } = this.spec;
        const options = { ...limits, timeoutMs: 0, writableBytes, sharedMemoryBytes: group?.memoryBytes };
        const hits = this.#cgroup?.hits() ?? NO_HITS;
        // The kernel does not report which server of the group it killed.
        const outOfMemory = hits.outOfMemory || (wasKilled(exit) && (group?.memoryKills() ?? 0) > killsBefore);
        const failure = classifyExit(exit, undefined, { ...hits, outOfMemory }, output.text(), options);
        return failure === undefined ? { exitCode: exit.code ?? 0 } : { failure };
      } catch (error) {
        await output.drain();
        if (!(error instanceof RunnerError)) throw error;
        return { failure: error };
      } finally {
        this.#cgroup?.remove();
      }
    };
    return { output, end: end() };
  }

  /** Connects to a TCP port of a server as soon as the server listens on it. */
  async connect(port: number, timeoutMs: number): Promise<Connection> {
    return await this.#host.connect({ id: this.id, port, isolated: this.spec.isolated, timeoutMs });
  }

  /** The cgroups in which the sandbox waits for a call. */
  placeIn(group: WaitingGroup): WaitingPlace {
    return group.place(this.#cgroup);
  }

  #leaveLater(): NodeJS.Timeout | undefined {
    const home = this.#waiting?.home ?? [];
    if (home.length === 0) return undefined;
    return setTimeout(() => this.#host.request({ type: "move", id: this.id, cgroupProcs: home }), LEAVE_AFTER_MS);
  }

  /** Paths of its cgroups, relative to their mounts. */
  get groups(): readonly string[] {
    return (this.#cgroup?.procs ?? []).map((path) => path.slice(path.lastIndexOf("/xfn-"), path.lastIndexOf("/")));
  }

  /** Whether the container was started, even if it has ended since. */
  get wasStarted(): boolean {
    return this.#started;
  }

  /** Removes an unused sandbox. */
  discard(): void {
    if (this.#state === "used" || this.#state === "over") return;
    const started = this.#state === "started";
    this.kill();
    if (!started) this.#end();
  }

  /** Kills all processes of the container. */
  kill(): void {
    this.#host.kill(this.id, this.#state !== "prepared");
    this.#cgroup?.kill();
  }

  get #runtime(): ContainerRuntime {
    const { runtime, isolated } = this.spec;
    return { id: this.id, runtime: runtime.path, runtimeFamily: runtime.family, isolated };
  }

  // Cleans up after an unused sandbox; `use` cleans up after itself.
  #end(): void {
    if (this.#state === "used" || this.#state === "over") return;
    this.#state = "over";
    closeStdio(this.#stdio);
    this.#cgroup?.remove();
  }
}

function endedBeforeInput(): RunnerError {
  return new RunnerError("Killed", "it ended before its input was delivered", { phase: "run" });
}

function openPipes(host: SandboxHost, id: string, { stdio }: PreparedContainer): Stdio {
  try {
    return openStdio(stdio);
  } catch (error) {
    host.kill(id, false);
    const message = `its pipes could not be opened: ${messageOf(error)}`;
    throw new RunnerError("StartFailed", message, { phase: "start", cause: error });
  }
}
