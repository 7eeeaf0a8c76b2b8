import type { Image } from "@xfn/oci-rootfs";
import {
  DEFAULT_OUTPUT_BYTES,
  type FunctionType,
  MAX_PAYLOAD_BYTES,
  type ResourceLimits,
  RunnerError,
  type RunOptions,
  type ServedFunction,
  type ServeOptions,
} from "@xfn/runner-contract";
import { limitCall, needsCgroup } from "./cgroup/call-limits.ts";
import { sweepCgroups } from "./cgroup/sweep.ts";
import { ChrootFunctions } from "./chroot/chroot-functions.ts";
import { SandboxedFunctions } from "./function-host/function-host.ts";
import { limitsOfServer, serversBound } from "./function-host/servers-bound.ts";
import type { Runner, RunnerOptions } from "./runner-options.ts";
import { ChosenRuntime } from "./sandbox/chosen-runtime.ts";
import { describeFailure } from "./sandbox/classify-exit.ts";
import type { Executor, ExecutorCall } from "./sandbox/executor.ts";
import { HostLease, NO_HOST } from "./sandbox/host-lease.ts";
import { IMAGE_IDLE_MS, ImageLeases } from "./sandbox/image-leases.ts";
import { Sandbox } from "./sandbox/sandbox.ts";
import { SandboxHost } from "./sandbox/sandbox-host.ts";
import { sandboxOwner } from "./sandbox/sandbox-owner.ts";
import {
  type RunnableImage,
  type SandboxSpec,
  SandboxSpecs,
  type ServerProcess,
  type SpecOptions,
} from "./sandbox/sandbox-spec.ts";
import { inspect, notInspected, selfTest, writeSelfTestImage } from "./sandbox/self-test.ts";
import { StartDeadline } from "./sandbox/start-deadline.ts";
import { DEFAULT_WARM_POOL_LIMITS, withDefaultLimits } from "./warm-pool/limits.ts";
import { waitingBound } from "./warm-pool/waiting-bound.ts";
import { WarmPool } from "./warm-pool/warm-pool.ts";
import { modulePath } from "./wasm/wasm-module.ts";
import { WasmRunner } from "./wasm/wasm-runner.ts";

/** Creates a runner. It starts no process before the first call or `prepare`. */
export function createRunner(options: RunnerOptions): Runner {
  return new CrunRunner(options);
}

/** More memory than an OCI runtime and the test program use, including gVisor's kernel. */
const VERIFIED_BYTES = 512 * 1024 * 1024;

class CrunRunner implements Runner {
  readonly maxOutputBytes: number;
  readonly #options: RunnerOptions;
  readonly #owner = sandboxOwner();
  readonly #specs = new SandboxSpecs();
  readonly #warned = new Set<string>();
  readonly #calls = new Set<Promise<unknown>>();
  readonly #warmPool: WarmPool;
  readonly #images: ImageLeases;
  readonly #functions: SandboxedFunctions;
  readonly #waiting: ReturnType<typeof waitingBound>;
  readonly #servers: ReturnType<typeof serversBound>;
  readonly #modules: WasmRunner;
  readonly #chroots: ChrootFunctions;
  readonly #executors: Readonly<Record<FunctionType | "Container", Executor>>;
  readonly #runtime: ChosenRuntime;
  #host: SandboxHost | undefined;
  #closed = false;
  #count = 0;

  constructor(options: RunnerOptions) {
    this.maxOutputBytes = Math.min(options.maxOutputBytes ?? DEFAULT_OUTPUT_BYTES, MAX_PAYLOAD_BYTES);
    this.#options = options;
    this.#modules = new WasmRunner({
      maxOutputBytes: this.maxOutputBytes,
      allowUnlimited: options.allowUnlimited === true,
      onWarning: (message, about) => this.#warn(message, about),
    });
    this.#waiting = waitingBound({
      memoryBytes: options.warmPoolLimits?.memoryBytes,
      allowUnlimited: options.allowUnlimited === true,
      onWarning: (message) => this.#warn(message, "host"),
    });
    this.#runtime = new ChosenRuntime(options.ociRuntime, (message) => this.#warn(message, "host"));
    this.#chroots = new ChrootFunctions({
      allowed: options.allowChroot === true,
      dir: options.store.dir,
      maxOutputBytes: this.maxOutputBytes,
      onWarning: (message) => this.#warn(message),
    });
    this.#executors = {
      Container: {
        acquireHost: () => new HostLease(() => this.#startHost()),
        run: async (image, call) => await this.#runContainer(image, call),
      },
      Wasm: this.#modules,
      Chroot: this.#chroots,
    };
    this.#servers = serversBound({
      memoryBytes: options.serversMemoryBytes,
      onWarning: (message) => this.#warn(message, "host"),
    });
    this.#warmPool = new WarmPool({
      policy: options.warmPool ?? "off",
      limits: options.warmPoolLimits ?? {},
      prepare: async (spec) => await this.#make(spec),
      waitingGroup: () => this.#waiting.group(),
      host: () => this.#host,
      reserved: () => this.#functions.idle,
      onEvent: (event) => options.onEvent?.(event),
    });
    const { store, imageIdleMs = IMAGE_IDLE_MS, readOnlyRoot = false } = options;
    const idleMs = readOnlyRoot ? Math.max(imageIdleMs, IMAGE_IDLE_MS) : imageIdleMs;
    this.#images = new ImageLeases(store, (digest) => this.#warmPool.forget(digest), idleMs);
    const { serverIdleMs: idle = DEFAULT_WARM_POOL_LIMITS.idleMs, maxServers: total = Infinity } = options;
    this.#functions = new SandboxedFunctions({
      limits: { ...withDefaultLimits(options.warmPoolLimits), idleMs: idle, total },
      lookUp: async (reference, wanted) => await this.#lookUp(reference, wanted),
      acquire: (digest) => this.#images.acquire(digest),
      release: (digest) => this.#images.release(digest),
      spec: async (image, wanted, server) => await this.#spec(image, wanted, server),
      prepare: async (spec) => await this.#prepare(spec, (limits) => limitsOfServer(limits, this.#servers.group())),
      group: () => this.#servers.group(),
      onEvent: (event) => options.onEvent?.(event),
      measure: async (ids) => (await this.#host?.measure(ids)) ?? [],
      host: () => {
        this.#refuseIfEnded(undefined);
        return this.#startHost();
      },
    });
  }

  prepare(): void {
    this.#startHost();
  }

  run(image: string, input: Uint8Array, options: RunOptions = {}): Promise<Uint8Array> {
    const call = this.#run(image, input, options).catch((error: unknown) => {
      throw describeFailure(error, image, options);
    });
    return this.#track(call);
  }

  serve(image: string, options: ServeOptions = {}): Promise<ServedFunction> {
    const verified = this.#runtime.verified(() => this.#verify());
    return this.#track(verified.then(() => this.#functions.serve(image, options)));
  }

  counts(): { running: number; waiting: number } {
    return { running: this.#warmPool.running, waiting: this.#warmPool.waiting };
  }

  servers(): { count: number; idle: number } {
    return { count: this.#functions.count, idle: this.#functions.idle.count };
  }

  async check(limits: ResourceLimits = {}): Promise<void> {
    try {
      await this.#checkContainers(limits);
    } catch (error) {
      if (!this.#chroots.allowed || !(error instanceof RunnerError)) throw error;
      await this.#chroots.check();
      this.#warn(`only functions of type: Chroot can run: ${error.message}`);
    }
  }

  /** Tests the runtime with a limit, if the host can enforce one: containers must stay in their cgroups. */
  async #verify(): Promise<void> {
    if (this.#options.allowUnlimited === true) return await this.#checkContainers({});
    try {
      await this.#checkContainers({ memoryBytes: VERIFIED_BYTES });
    } catch (error) {
      if (!(error instanceof RunnerError) || error.code !== "LimitUnavailable") throw error;
      await this.#checkContainers({});
    }
  }

  async #checkContainers(limits: ResourceLimits): Promise<void> {
    this.#refuseIfEnded(undefined);
    const host = this.#startHost();
    host.acquire();
    try {
      await host.ready();
      await selfTest(async (program, input) => {
        const image = writeSelfTestImage(host, program);
        const spec = await this.#spec(image, limits);
        const isInspected = await inspect(await this.#make(spec), host);
        const sandbox = await this.#make(spec);
        sandbox.start();
        const outcome = await sandbox.use(input, {});
        if (outcome.output === undefined) throw outcome.failure;
        if (!isInspected) throw notInspected(spec.runtime);
        return outcome.output;
      });
    } finally {
      host.release();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#warmPool.close();
    this.#functions.close();
    this.#images.close();
    await Promise.all([this.#host?.close(), this.#modules.close(), this.#chroots.close()]);
    await Promise.all(this.#calls);
    this.#waiting.close();
    this.#servers.close();
  }

  async #run(reference: string, input: Uint8Array, options: RunOptions): Promise<Uint8Array> {
    this.#refuseIfEnded(options.signal);
    const executor = this.#executors[options.type ?? "Container"];
    executor.permit?.(options);
    using host = executor.acquireHost?.() ?? NO_HOST;
    const deadline = new StartDeadline(this.#options.startTimeoutMs, options.signal);
    try {
      const began = performance.now();
      const lookUp = this.#lookUp(reference, { ...options, signal: deadline.signal });
      const image = await deadline.within("pull", lookUp, ({ digest }) => this.#images.release(digest));
      try {
        options.onPhase?.("pull", performance.now() - began);
        this.#refuseIfEnded(options.signal);
        // The image decides: a module runs as a module, no matter which type the call has.
        const chosen = modulePath(image) === undefined ? executor : this.#modules;
        return await chosen.run(image, { input, options, deadline, host });
      } finally {
        this.#images.release(image.digest);
      }
    } finally {
      deadline.met();
    }
  }

  /** Returns the sandbox host, and identifies the runtime while the host starts. */
  #startHost(): SandboxHost {
    const host = this.#liveHost();
    this.#runtime.identified().catch(() => undefined);
    return host;
  }

  async #runContainer(image: Image, { input, options, deadline, host }: ExecutorCall): Promise<Uint8Array> {
    host.check();
    await deadline.within(
      "start",
      this.#runtime.verified(() => this.#verify()),
    );
    const spec = await deadline.within("start", this.#spec(image, options));
    return await this.#call(spec, input, options, deadline);
  }

  /** Looks up an image, and acquires a lease on it. */
  async #lookUp(reference: string, options: Pick<RunOptions, "pullPolicy" | "auth" | "signal">): Promise<Image> {
    const { pullPolicy, auth, signal } = options;
    const { store, images } = this.#options;
    return await this.#images.lookUp(() => store.image(reference, { ...images, pullPolicy, auth, signal }));
  }

  async #spec(image: RunnableImage, options: SpecOptions, server?: ServerProcess): Promise<SandboxSpec> {
    const { rootfs = "auto", readOnlyRoot = false } = this.#options;
    const runtime = await this.#runtime.identified();
    return await this.#specs.of(image, options, { owner: this.#owner, rootfs, readOnlyRoot, runtime }, server);
  }

  async #call(spec: SandboxSpec, input: Uint8Array, options: RunOptions, deadline: StartDeadline): Promise<Uint8Array> {
    this.#refuseIfEnded(options.signal);
    const call = { ...options, maxOutputBytes: this.maxOutputBytes };
    const began = performance.now();
    const start = (sandbox: Sandbox): void => {
      try {
        deadline.check();
        this.#refuseIfEnded(options.signal);
      } catch (error) {
        sandbox.discard();
        throw error;
      }
      sandbox.start({ inputBytes: input.length });
    };
    const { sandbox, release } = await deadline.within("start", this.#warmPool.acquire(spec, start), (late) => {
      late.sandbox.discard();
      late.release();
    });
    deadline.met();
    try {
      options.onPhase?.("start", performance.now() - began);
      const running = performance.now();
      let outcome = await sandbox.use(input, call);
      if (outcome.output === undefined && outcome.inputUndelivered) {
        // The result of a call must not depend on pre-starting, so a sandbox that ended before its input is replaced.
        const another = await this.#make(spec);
        start(another);
        outcome = await another.use(input, call);
      }
      if (outcome.stderr !== "") options.onStderr?.(outcome.stderr);
      options.onPhase?.("run", performance.now() - running);
      if (outcome.output === undefined) throw outcome.failure;
      return outcome.output;
    } finally {
      release();
    }
  }

  /** Creates a sandbox while a lease protects its image. */
  async #make(spec: SandboxSpec): Promise<Sandbox> {
    this.#images.acquire(spec.digest);
    try {
      return await this.#prepare(spec);
    } finally {
      this.#images.release(spec.digest);
    }
  }

  async #prepare(
    spec: SandboxSpec,
    limitsOf: (limits: ResourceLimits) => ResourceLimits = (limits) => limits,
  ): Promise<Sandbox> {
    // Otherwise a call that outlives `close` would start another sandbox host.
    this.#refuseIfEnded(undefined);
    const host = this.#liveHost();
    // Before that, its processes cannot be distinguished from others in this process's cgroup.
    await host.ready();
    const limits = limitsOf(spec.limits);
    const cgroup = needsCgroup(limits)
      ? limitCall(limits, {
          allowUnlimited: this.#options.allowUnlimited === true,
          onWarning: (message) => this.#warn(message),
        })
      : undefined;
    const sandbox = await Sandbox.prepare(host, spec, `${process.pid}-${++this.#count}`, cgroup);
    if (sandbox.notice !== undefined)
      this.#warn(`overlay is not possible here (${sandbox.notice}): root filesystems are copied, which is slower`);
    return sandbox;
  }

  /** Returns the sandbox host; starts a new one if the last one has ended. */
  #liveHost(): SandboxHost {
    this.#runtime.path();
    if (this.#host?.gone === true) {
      this.#warmPool.clear();
      this.#functions.clear();
      this.#host = undefined;
    } else if (this.#host === undefined) {
      // Removes the groups of runners that were killed before they could do so.
      sweepCgroups();
    }
    this.#host ??= new SandboxHost(this.#options.store.dir, (reason) =>
      this.#options.onWarning?.(`the sandbox host ended: ${reason}`),
    );
    return this.#host;
  }

  /** Registers a call, so that {@link close} waits for it. */
  #track<T>(call: Promise<T>): Promise<T> {
    const settled = call.then(
      () => undefined,
      () => undefined,
    );
    this.#calls.add(settled);
    void settled.then(() => this.#calls.delete(settled));
    return call;
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
