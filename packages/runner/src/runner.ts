import type { ImageOptions, Store } from "@xfn/oci-rootfs";
import { type FunctionRunner, type ResourceLimits, RunnerError, type RunOptions } from "@xfn/runner-contract";
import { limitCall } from "./cgroup/call-limits.ts";
import { MAX_PROCESSES } from "./cgroup/process-rlimit.ts";
import { sweepCgroups } from "./cgroup/sweep.ts";
import { describeFailure } from "./sandbox/classify-exit.ts";
import type { OciRuntime } from "./sandbox/crun.ts";
import { findRuntime, identifyRuntime, runtimeWarning } from "./sandbox/crun.ts";
import { HeldImages, IMAGE_IDLE_MS } from "./sandbox/image-leases.ts";
import { Sandbox } from "./sandbox/sandbox.ts";
import { SandboxHost } from "./sandbox/sandbox-host.ts";
import { sandboxOwner } from "./sandbox/sandbox-owner.ts";
import type { Recipe, RunnableImage } from "./sandbox/sandbox-spec.ts";
import { Recipes } from "./sandbox/sandbox-spec.ts";
import { selfTest, writeSelfTestImage } from "./sandbox/self-test.ts";
import type { StartEarly, StartEarlyLimits } from "./warm-pool/limits.ts";
import type { RunnerEvent } from "./warm-pool/runner-event.ts";
import { EarlySandboxes } from "./warm-pool/warm-pool.ts";

/** Options of {@link createRunner}; only `store` is required. */
export interface RunnerOptions {
  /**
   * Where images are looked up and kept. Open it with `owner: sandboxOwner()`, and for this runner alone: it releases images that
   * it does not use any more.
   */
  store: Store;
  /** Name or absolute path of the OCI runtime; default `crun`. */
  ociRuntime?: string;
  /** `auto` (default): an overlay on the image's layers, or a copy of them where this host refuses overlays. */
  rootfs?: "auto" | "overlay" | "copy";
  /**
   * The root filesystem cannot be written to, is mounted once per image, and /tmp is a small tmpfs: faster, where functions
   * write nowhere else. Default false.
   */
  readOnlyRoot?: boolean;
  /**
   * Starts functions before they are called; each still serves one call. Default `off`, which is right for a program that
   * makes few calls; `adaptive` for one that serves many.
   */
  startEarly?: StartEarly;
  /** Bounds of `startEarly`, over all images. */
  startEarlyLimits?: StartEarlyLimits;
  /** Run without a limit that cannot be enforced, with a warning, rather than refuse the call. */
  allowUnlimited?: boolean;
  /** Passed to `Store.image` for every call. */
  images?: Omit<ImageOptions, "pullPolicy" | "auth" | "signal">;
  /**
   * An image that no call has used for so many milliseconds, and of which no sandbox waits, may be pruned while the runner lives.
   * Default ten minutes; less does not count with `readOnlyRoot`, whose mounts stay for five.
   */
  imageIdleMs?: number;
  /** Told what a person should know and what does not end the call; each text once. `about` is set where `xfn doctor` tells it too. */
  onWarning?: (message: string, about?: "host") => void;
  /** Told what happens, for metrics. */
  onEvent?: (event: RunnerEvent) => void;
}

/**
 * Runs functions, each call in one fresh container. `run` rejects with a `RunnerError`. When it settles, every process of the
 * container is gone; its files and mounts follow at once.
 */
export interface Runner extends FunctionRunner {
  /** Starts what the first call would otherwise wait for. */
  prepare(): void;
  /**
   * Runs a small program of ours in a container, without an image: whether functions can be run here and now.
   *
   * @param limits that calls will have, to see whether they can be enforced
   * @throws RunnerError saying why not
   */
  check(limits?: ResourceLimits): Promise<void>;
  /** Calls that have a sandbox or are about to, and sandboxes that were started early and wait. */
  counts(): { running: number; waiting: number };
  /** Ends running calls with `Closed`, and the process that holds the namespaces. */
  close(): Promise<void>;
}

/** Makes a runner. It starts nothing before the first call (or `prepare`). */
export function createRunner(options: RunnerOptions): Runner {
  return new CrunRunner(options);
}

class CrunRunner implements Runner {
  readonly #options: RunnerOptions;
  readonly #owner = sandboxOwner();
  readonly #recipes = new Recipes();
  readonly #warned = new Set<string>();
  readonly #calls = new Set<Promise<unknown>>();
  readonly #early: EarlySandboxes;
  readonly #images: HeldImages;
  #host: SandboxHost | undefined;
  #path: string | undefined;
  #runtime: Promise<OciRuntime> | undefined;
  #closed = false;
  #count = 0;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#early = new EarlySandboxes({
      policy: options.startEarly ?? "off",
      limits: options.startEarlyLimits ?? {},
      prepare: async (recipe) => await this.#make(recipe),
      host: () => this.#host,
      onEvent: (event) => options.onEvent?.(event),
    });
    const { store, imageIdleMs = IMAGE_IDLE_MS, readOnlyRoot = false } = options;
    const idleMs = readOnlyRoot ? Math.max(imageIdleMs, IMAGE_IDLE_MS) : imageIdleMs;
    this.#images = new HeldImages(store, (digest) => this.#early.forget(digest), idleMs);
  }

  prepare(): void {
    this.#liveHost();
    this.#identified().catch(() => undefined);
  }

  run(image: string, input: Uint8Array, options: RunOptions = {}): Promise<Uint8Array> {
    const call = this.#run(image, input, options).catch((error: unknown) => {
      throw describeFailure(error, image, options);
    });
    const settled = call.then(
      () => undefined,
      () => undefined,
    );
    this.#calls.add(settled);
    void settled.then(() => this.#calls.delete(settled));
    return call;
  }

  counts(): { running: number; waiting: number } {
    return { running: this.#early.running, waiting: this.#early.waiting };
  }

  async check(limits: ResourceLimits = {}): Promise<void> {
    this.#refuseIfEnded(undefined);
    this.prepare();
    const host = this.#liveHost();
    host.hold();
    try {
      await host.ready();
      await selfTest(async (program, input) => {
        const image = writeSelfTestImage(host, program);
        const sandbox = await this.#make(await this.#recipe(image, limits));
        sandbox.start();
        const outcome = await sandbox.use(input, {});
        if (outcome.output === undefined) throw outcome.failure;
        return outcome.output;
      });
    } finally {
      host.release();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#early.close();
    this.#images.close();
    await this.#host?.close();
    await Promise.all(this.#calls);
  }

  async #run(reference: string, input: Uint8Array, options: RunOptions): Promise<Uint8Array> {
    this.#refuseIfEnded(options.signal);
    this.prepare();
    const host = this.#liveHost();
    host.hold();
    try {
      const began = performance.now();
      const image = await this.#images.begin(() =>
        this.#options.store.image(reference, {
          ...this.#options.images,
          ...(options.pullPolicy === undefined ? {} : { pullPolicy: options.pullPolicy }),
          ...(options.auth === undefined ? {} : { auth: options.auth }),
          ...(options.signal === undefined ? {} : { signal: options.signal }),
        }),
      );
      try {
        options.onPhase?.("pull", performance.now() - began);
        return await this.#call(await this.#recipe(image, options), input, options);
      } finally {
        this.#images.end(image.digest);
      }
    } finally {
      host.release();
    }
  }

  async #recipe(image: RunnableImage, options: RunOptions): Promise<Recipe> {
    const { rootfs = "auto", readOnlyRoot = false } = this.#options;
    return await this.#recipes.of(image, options, {
      owner: this.#owner,
      rootfs,
      readOnlyRoot,
      runtime: await this.#identified(),
    });
  }

  async #call(recipe: Recipe, input: Uint8Array, options: RunOptions): Promise<Uint8Array> {
    this.#refuseIfEnded(options.signal);
    const began = performance.now();
    const start = (sandbox: Sandbox): void => {
      try {
        this.#refuseIfEnded(options.signal);
      } catch (error) {
        sandbox.discard();
        throw error;
      }
      sandbox.start({ inputBytes: input.length });
    };
    const { sandbox, release } = await this.#early.acquire(recipe, start);
    try {
      options.onPhase?.("start", performance.now() - began);
      const running = performance.now();
      let outcome = await sandbox.use(input, options);
      if (outcome.output === undefined && outcome.unseen) {
        // It did not live to see its input, or nobody can tell: what becomes of a call must not depend on what was done ahead.
        const another = await this.#make(recipe);
        start(another);
        outcome = await another.use(input, options);
      }
      if (outcome.stderr !== "") options.onStderr?.(outcome.stderr);
      options.onPhase?.("run", performance.now() - running);
      if (outcome.output === undefined) throw outcome.failure;
      return outcome.output;
    } finally {
      release();
    }
  }

  /** A sandbox; what is kept of them keeps its image in use. */
  async #make(recipe: Recipe): Promise<Sandbox> {
    this.#images.hold(recipe.digest);
    try {
      return await this.#prepare(recipe);
    } finally {
      this.#images.end(recipe.digest);
    }
  }

  async #prepare(recipe: Recipe): Promise<Sandbox> {
    const host = this.#liveHost();
    // Before that its processes cannot be told from others of our group.
    await host.ready();
    const cgroup = needsCgroup(recipe.limits)
      ? limitCall(recipe.limits, {
          allowUnlimited: this.#options.allowUnlimited === true,
          onWarning: (message) => this.#warn(message),
        })
      : undefined;
    const sandbox = await Sandbox.prepare(host, recipe, `${process.pid}-${++this.#count}`, cgroup);
    if (sandbox.notice !== undefined)
      this.#warn(`overlay is not possible here (${sandbox.notice}): root filesystems are copied, which is slower`);
    return sandbox;
  }

  /** The sandbox host, another one where the last has ended. */
  #liveHost(): SandboxHost {
    this.#path ??= findRuntime(this.#options.ociRuntime);
    if (this.#host?.gone === true) {
      this.#early.clear();
      this.#host = undefined;
    } else if (this.#host === undefined) {
      // What was killed before it could clean up was a runner of ours too.
      sweepCgroups();
    }
    this.#host ??= new SandboxHost(this.#options.store.dir);
    return this.#host;
  }

  async #identified(): Promise<OciRuntime> {
    this.#runtime ??= identifyRuntime(this.#path as string);
    try {
      const runtime = await this.#runtime;
      const warning = runtimeWarning(runtime);
      if (warning !== undefined) this.#warn(warning, "host");
      return runtime;
    } catch (error) {
      // It may have been replaced by the next call.
      this.#runtime = undefined;
      throw error;
    }
  }

  #refuseIfEnded(signal: AbortSignal | undefined): void {
    if (this.#closed) throw new RunnerError("Closed", "the runner was closed", { phase: "start", retryable: false });
    if (signal?.aborted) throw new RunnerError("Aborted", "the call was cancelled", { phase: "start" });
  }

  #warn(message: string, about?: "host"): void {
    if (this.#warned.has(message)) return;
    this.#warned.add(message);
    if (about === undefined) this.#options.onWarning?.(message);
    else this.#options.onWarning?.(message, about);
  }
}

// Making, joining and taking away a cgroup adds a third to a small function's call. For root RLIMIT_NPROC bounds processes
// without one; what a cgroup adds is that the kernel says that the bound was met, which is worth it where a call asks for few. For an
// ordinary user RLIMIT_NPROC bounds those of all functions together, which is not what was asked for.
function needsCgroup({ memoryBytes, cpus, pids }: Recipe["limits"]): boolean {
  if (memoryBytes !== undefined || cpus !== undefined) return true;
  return pids !== undefined && (pids < MAX_PROCESSES || process.geteuid?.() !== 0);
}
