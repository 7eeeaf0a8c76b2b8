import type { ImageOptions, Store } from "@xfn/oci-rootfs";
import { type FunctionRunner, type ResourceLimits, RunnerError, type RunOptions } from "@xfn/runner-contract";
import { limitCall } from "./cgroup/call-limits.ts";
import { MAX_PROCESSES } from "./cgroup/process-rlimit.ts";
import { sweepCgroups } from "./cgroup/sweep.ts";
import { describeFailure } from "./sandbox/classify-exit.ts";
import type { OciRuntime } from "./sandbox/crun.ts";
import { findRuntime, identifyRuntime, runtimeWarning } from "./sandbox/crun.ts";
import { IMAGE_IDLE_MS, ImageLeases } from "./sandbox/image-leases.ts";
import { Sandbox } from "./sandbox/sandbox.ts";
import { SandboxHost } from "./sandbox/sandbox-host.ts";
import { sandboxOwner } from "./sandbox/sandbox-owner.ts";
import { type RunnableImage, type SandboxSpec, SandboxSpecs } from "./sandbox/sandbox-spec.ts";
import { selfTest, writeSelfTestImage } from "./sandbox/self-test.ts";
import type { WarmPoolLimits, WarmPoolPolicy } from "./warm-pool/limits.ts";
import type { RunnerEvent } from "./warm-pool/runner-event.ts";
import { WarmPool } from "./warm-pool/warm-pool.ts";

/** Options of {@link createRunner}; only `store` is required. */
export interface RunnerOptions {
  /**
   * The image store. Open it with `owner: sandboxOwner()`, and for this runner only: the runner releases images that
   * it no longer uses.
   */
  store: Store;
  /** Name or absolute path of the OCI runtime; default `crun`. */
  ociRuntime?: string;
  /** `auto` (default): an overlay on the image's layers, or a copy of them if the host refuses overlays. */
  rootfs?: "auto" | "overlay" | "copy";
  /**
   * Mounts one read-only root filesystem per image, and a small tmpfs on /tmp. This is faster, if functions write
   * nowhere else. Default false.
   */
  readOnlyRoot?: boolean;
  /**
   * Starts functions before they are called; each still serves one call. Default `off`, for programs that make few
   * calls. Use `adaptive` in servers.
   */
  warmPool?: WarmPoolPolicy;
  /** Bounds of the warm pool, over all images. */
  warmPoolLimits?: WarmPoolLimits;
  /** Runs calls without a limit that cannot be enforced, with a warning, instead of failing them. */
  allowUnlimited?: boolean;
  /** Passed to `Store.image` for every call. */
  images?: Omit<ImageOptions, "pullPolicy" | "auth" | "signal">;
  /**
   * Releases an image for pruning after so many milliseconds without a call or a waiting sandbox. Default ten
   * minutes, which is also the minimum with `readOnlyRoot`, whose mounts stay for five.
   */
  imageIdleMs?: number;
  /** Called once for each warning that ends no call. `about` is set if `xfn doctor` reports the same. */
  onWarning?: (message: string, about?: "host") => void;
  /** Called for each event, for metrics. */
  onEvent?: (event: RunnerEvent) => void;
}

/**
 * Runs functions, each call in one fresh container. `run` rejects with a `RunnerError`. When it settles, every
 * process of the container is gone; its files and mounts follow at once.
 */
export interface Runner extends FunctionRunner {
  /** Starts the sandbox host ahead of the first call. */
  prepare(): void;
  /**
   * Runs a small built-in program in a container, without an image, to test whether functions can run here.
   *
   * @param limits also tests that the host can enforce these
   * @throws RunnerError with the reason
   */
  check(limits?: ResourceLimits): Promise<void>;
  /** Calls that have a sandbox or are about to, and pre-started sandboxes. */
  counts(): { running: number; waiting: number };
  /** Ends running calls with `Closed`, and the sandbox host. */
  close(): Promise<void>;
}

/** Makes a runner. It starts no process before the first call or `prepare`. */
export function createRunner(options: RunnerOptions): Runner {
  return new CrunRunner(options);
}

class CrunRunner implements Runner {
  readonly #options: RunnerOptions;
  readonly #owner = sandboxOwner();
  readonly #specs = new SandboxSpecs();
  readonly #warned = new Set<string>();
  readonly #calls = new Set<Promise<unknown>>();
  readonly #warmPool: WarmPool;
  readonly #images: ImageLeases;
  #host: SandboxHost | undefined;
  #path: string | undefined;
  #runtime: Promise<OciRuntime> | undefined;
  #closed = false;
  #count = 0;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#warmPool = new WarmPool({
      policy: options.warmPool ?? "off",
      limits: options.warmPoolLimits ?? {},
      prepare: async (spec) => await this.#make(spec),
      host: () => this.#host,
      onEvent: (event) => options.onEvent?.(event),
    });
    const { store, imageIdleMs = IMAGE_IDLE_MS, readOnlyRoot = false } = options;
    const idleMs = readOnlyRoot ? Math.max(imageIdleMs, IMAGE_IDLE_MS) : imageIdleMs;
    this.#images = new ImageLeases(store, (digest) => this.#warmPool.forget(digest), idleMs);
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
    return { running: this.#warmPool.running, waiting: this.#warmPool.waiting };
  }

  async check(limits: ResourceLimits = {}): Promise<void> {
    this.#refuseIfEnded(undefined);
    this.prepare();
    const host = this.#liveHost();
    host.acquire();
    try {
      await host.ready();
      await selfTest(async (program, input) => {
        const image = writeSelfTestImage(host, program);
        const sandbox = await this.#make(await this.#spec(image, limits));
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
    this.#warmPool.close();
    this.#images.close();
    await this.#host?.close();
    await Promise.all(this.#calls);
  }

  async #run(reference: string, input: Uint8Array, options: RunOptions): Promise<Uint8Array> {
    this.#refuseIfEnded(options.signal);
    this.prepare();
    const host = this.#liveHost();
    host.acquire();
    try {
      const began = performance.now();
      const image = await this.#images.lookUp(() =>
        this.#options.store.image(reference, {
          ...this.#options.images,
          ...(options.pullPolicy === undefined ? {} : { pullPolicy: options.pullPolicy }),
          ...(options.auth === undefined ? {} : { auth: options.auth }),
          ...(options.signal === undefined ? {} : { signal: options.signal }),
        }),
      );
      try {
        options.onPhase?.("pull", performance.now() - began);
        return await this.#call(await this.#spec(image, options), input, options);
      } finally {
        this.#images.release(image.digest);
      }
    } finally {
      host.release();
    }
  }

  async #spec(image: RunnableImage, options: RunOptions): Promise<SandboxSpec> {
    const { rootfs = "auto", readOnlyRoot = false } = this.#options;
    return await this.#specs.of(image, options, {
      owner: this.#owner,
      rootfs,
      readOnlyRoot,
      runtime: await this.#identified(),
    });
  }

  async #call(spec: SandboxSpec, input: Uint8Array, options: RunOptions): Promise<Uint8Array> {
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
    const { sandbox, release } = await this.#warmPool.acquire(spec, start);
    try {
      options.onPhase?.("start", performance.now() - began);
      const running = performance.now();
      let outcome = await sandbox.use(input, options);
      if (outcome.output === undefined && outcome.inputUndelivered) {
        // The result of a call must not depend on pre-starting, so a sandbox that ended before its input is replaced.
        const another = await this.#make(spec);
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

  /** Makes a sandbox while a lease protects its image. */
  async #make(spec: SandboxSpec): Promise<Sandbox> {
    this.#images.acquire(spec.digest);
    try {
      return await this.#prepare(spec);
    } finally {
      this.#images.release(spec.digest);
    }
  }

  async #prepare(spec: SandboxSpec): Promise<Sandbox> {
    const host = this.#liveHost();
    // Before that its processes cannot be distinguished from others in this process's cgroup.
    await host.ready();
    const cgroup = needsCgroup(spec.limits)
      ? limitCall(spec.limits, {
          allowUnlimited: this.#options.allowUnlimited === true,
          onWarning: (message) => this.#warn(message),
        })
      : undefined;
    const sandbox = await Sandbox.prepare(host, spec, `${process.pid}-${++this.#count}`, cgroup);
    if (sandbox.notice !== undefined)
      this.#warn(`overlay is not possible here (${sandbox.notice}): root filesystems are copied, which is slower`);
    return sandbox;
  }

  /** The sandbox host; starts a new one if the last has ended. */
  #liveHost(): SandboxHost {
    this.#path ??= findRuntime(this.#options.ociRuntime);
    if (this.#host?.gone === true) {
      this.#warmPool.clear();
      this.#host = undefined;
    } else if (this.#host === undefined) {
      // Removes the groups of runners that were killed before they could.
      sweepCgroups();
    }
    this.#host ??= new SandboxHost(this.#options.store.dir, (reason) =>
      this.#options.onWarning?.(`the sandbox host ended: ${reason}`),
    );
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
      // The runtime may be replaced before the next call.
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

// Making, joining and removing a cgroup adds a third to a small function's call. For root RLIMIT_NPROC bounds
// processes without a cgroup, but only a cgroup records that the bound was hit: worth its cost if the bound is low.
// For an ordinary user RLIMIT_NPROC bounds the processes of all functions together, so a limit of one call needs a
// cgroup.
function needsCgroup({ memoryBytes, cpus, pids }: ResourceLimits): boolean {
  if (memoryBytes !== undefined || cpus !== undefined) return true;
  return pids !== undefined && (pids < MAX_PROCESSES || process.geteuid?.() !== 0);
}
