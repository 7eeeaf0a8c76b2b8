import { DEFAULT_TIMEOUT_MS, RunnerError, type RunOptions } from "@xfn/runner-contract";
import type { LimitCgroup } from "../cgroup/limit-cgroup.ts";
import { NO_HITS } from "../cgroup/limit-cgroup.ts";
import { monotonicMs } from "../host/protocol.ts";
import { Ending, judge } from "./classify-exit.ts";
import type { ContainerIo, Stdio } from "./container-io.ts";
import { closeStdio, openContainerIo, openStdio } from "./container-io.ts";
import type { Exit, PreparedContainer, SandboxHost } from "./sandbox-host.ts";
import type { Recipe } from "./sandbox-spec.ts";

/** What a call that used a sandbox gave. */
export type Outcome =
  | { output: Uint8Array; stderr: string }
  /** `unseen`: it had ended when its input came, or - started early - so soon after that nobody can tell. */
  | { output: undefined; stderr: string; failure: RunnerError; unseen: boolean };

// Inputs above this are worth larger pipes; below it an ordinary pipe holds them whole.
const LARGE_INPUT_BYTES = 64 * 1024;

/**
 * On a busy machine the sandbox host sees that a process has ended some time after it did. A sandbox that is seen to end within
 * this of its input may have ended before it.
 */
const UNCERTAIN_MS = 50;

/**
 * One container, used for one call at most: it is prepared, then started, then given its input. Whether time passes between
 * these steps makes no difference to it.
 */
export class Sandbox {
  readonly recipe: Recipe;
  readonly id: string;
  readonly notice: string | undefined;
  /** Settles when it has ended, or was thrown away. */
  readonly exit: Promise<Exit>;
  readonly #host: SandboxHost;
  readonly #cgroup: LimitCgroup | undefined;
  readonly #stdio: Stdio;
  #state: "prepared" | "started" | "used" | "over" = "prepared";
  #started = false;
  #early = false;

  private constructor(
    host: SandboxHost,
    recipe: Recipe,
    id: string,
    cgroup: LimitCgroup | undefined,
    prepared: PreparedContainer,
    stdio: Stdio,
  ) {
    this.#host = host;
    this.recipe = recipe;
    this.id = id;
    this.notice = prepared.notice;
    this.exit = prepared.exit;
    this.#cgroup = cgroup;
    this.#stdio = stdio;
  }

  /** Makes everything that a container needs. Nothing runs yet. @throws RunnerError */
  static async prepare(
    host: SandboxHost,
    recipe: Recipe,
    id: string,
    cgroup: LimitCgroup | undefined,
  ): Promise<Sandbox> {
    try {
      const prepared = await host.prepare(recipe.container(id), recipe.spec(host.scratch, cgroup));
      return new Sandbox(host, recipe, id, cgroup, prepared, openPipes(host, id, prepared));
    } catch (error) {
      cgroup?.remove();
      throw error;
    }
  }

  /** Has its runtime begin, and wait for {@link start}: that then takes less. */
  load(): void {
    const { path, family } = this.recipe.runtime;
    this.#host.load({ type: "load", id: this.id, runtime: path, runtimeFamily: family });
  }

  /**
   * Starts the function, which then waits for its input.
   *
   * @param options - `early`: there is no input yet, so its runtime may take a millisecond longer, but is to be gone when it answers;
   * `inputBytes`: how large the input will be
   */
  start({ early = false, inputBytes = 0 }: { early?: boolean; inputBytes?: number } = {}): void {
    const { runtime } = this.recipe;
    this.#state = "started";
    this.#started = true;
    this.#early = early;
    this.#host.start({
      type: "start",
      id: this.id,
      runtime: runtime.path,
      runtimeFamily: runtime.family,
      cgroupProcs: this.#cgroup?.procs ?? [],
      detach: early,
      largePipes: inputBytes > LARGE_INPUT_BYTES,
    });
    // A cgroup outlives its processes.
    const over = (): void => this.#end();
    this.exit.then(over, over);
  }

  /** Gives it its input and waits for its end. The clock of the call's timeout starts here. */
  async use(input: Uint8Array, options: RunOptions): Promise<Outcome> {
    const usable = this.#state === "started";
    this.#state = "used";
    if (!usable) return { output: undefined, stderr: "", failure: this.#tooLate(), unseen: true };
    const given = monotonicMs();
    const ending = new Ending(() => this.#kill());
    const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const timer = setTimeout(() => ending.end("Timeout"), timeoutMs);
    const abort = (): void => ending.end("Aborted");
    options.signal?.addEventListener("abort", abort, { once: true });
    if (options.signal?.aborted) abort();
    let io: ContainerIo | undefined;
    try {
      io = openContainerIo(this.#stdio, input, () => ending.end("OutputTooLarge"));
      const exit = await this.exit;
      // Its first process has ended and the kernel has killed the rest, so both outputs end now.
      const { stdout, stderr } = await io.output;
      const { writableBytes } = this.recipe;
      const hits = this.#cgroup?.hits() ?? NO_HITS;
      const failure = judge(exit, ending.reason, hits, stderr, { ...options, timeoutMs, writableBytes });
      if (failure === undefined) return { output: stdout, stderr };
      return {
        output: undefined,
        stderr,
        failure,
        unseen: ending.reason === undefined && (!exit.seen || (this.#early && exit.at < given + UNCERTAIN_MS)),
      };
    } finally {
      clearTimeout(timer);
      options.signal?.removeEventListener("abort", abort);
      if (io === undefined) this.#kill();
      io?.abandon();
      this.#cgroup?.remove();
    }
  }

  /** Whether it was started, be it that it has ended. */
  get wasStarted(): boolean {
    return this.#started;
  }

  /** Throws it away unused. */
  discard(): void {
    if (this.#state === "used" || this.#state === "over") return;
    const started = this.#state === "started";
    this.#kill();
    if (!started) this.#end();
  }

  #kill(): void {
    this.#host.kill(this.id, this.#state !== "prepared");
    this.#cgroup?.kill();
  }

  // The end of one that nobody used; `use` cleans up after itself.
  #end(): void {
    if (this.#state === "used" || this.#state === "over") return;
    this.#state = "over";
    closeStdio(this.#stdio);
    this.#cgroup?.remove();
  }

  #tooLate(): RunnerError {
    return new RunnerError("Killed", "it ended before it was given its input", { phase: "run" });
  }
}

function openPipes(host: SandboxHost, id: string, { stdio }: PreparedContainer): Stdio {
  try {
    return openStdio(stdio);
  } catch (error) {
    host.kill(id, false);
    const reason = error instanceof Error ? error.message : String(error);
    throw new RunnerError("StartFailed", `its pipes could not be opened: ${reason}`, { phase: "start", cause: error });
  }
}
