import type { Image, ImageOptions, Store } from "@xfn/oci-rootfs";
import { processConfig } from "@xfn/oci-rootfs";
import { limitCall } from "./call-limits.ts";
import { describeFailure, Ending, judge } from "./call-outcome.ts";
import type { LimitCgroup } from "./cgroups.ts";
import { NO_HITS, processRlimit } from "./cgroups.ts";
import type { ContainerIo } from "./container-io.ts";
import { openContainerIo } from "./container-io.ts";
import { findRuntime } from "./crun.ts";
import { networkFiles, sandboxPaths } from "./host/protocol.ts";
import type { RunOptions } from "./run-options.ts";
import { DEFAULT_TIMEOUT_MS, MAX_PROCESSES, WRITABLE_BYTES } from "./run-options.ts";
import { RunnerError } from "./runner-error.ts";
import { runtimeSpec } from "./runtime-spec.ts";
import { SandboxHost } from "./sandbox-host.ts";
import { sandboxOwner } from "./sandbox-owner.ts";

/** Options of {@link createRunner}; only `store` is required. */
export interface RunnerOptions {
  /** Where images are looked up and kept. Open it with `owner: sandboxOwner()`. */
  store: Store;
  /** Name or absolute path of the OCI runtime; default `crun`. */
  ociRuntime?: string;
  /** `auto` (default): an overlay on the image's layers, or a copy of them where this host refuses overlays. */
  rootfs?: "auto" | "overlay" | "copy";
  /** Run without a limit that cannot be enforced, with a warning, rather than refuse the call. */
  allowUnlimited?: boolean;
  /** Passed to `Store.image` for every call. */
  images?: Pick<ImageOptions, "platform" | "insecureRegistries" | "defaultRegistry" | "onProgress">;
  /** Told what a person should know and what does not end the call; each text once. */
  onWarning?: (message: string) => void;
}

/** Runs functions, each call in one fresh container. Satisfies `FunctionRunner` of @xfn/pipeline. */
export interface Runner {
  /**
   * Runs the entrypoint of an image with `input` on stdin and gives its stdout, at most `MAX_OUTPUT_BYTES`.
   * When the promise settles, every process of the container is gone, and its files and mounts go with it.
   *
   * @throws RunnerError
   */
  run(image: string, input: Uint8Array, options?: RunOptions): Promise<Uint8Array>;
  /** Starts what the first call would otherwise wait for. */
  prepare(): void;
  /** Ends running calls with `Closed`, and the process that holds the namespaces. */
  close(): Promise<void>;
}

// Inputs above this are worth larger pipes; below it an ordinary pipe holds them whole.
const LARGE_INPUT_BYTES = 64 * 1024;

/** Makes a runner. It starts nothing before the first call (or `prepare`). */
export function createRunner(options: RunnerOptions): Runner {
  return new CrunRunner(options);
}

class CrunRunner implements Runner {
  readonly #options: RunnerOptions;
  readonly #owner = sandboxOwner();
  readonly #warned = new Set<string>();
  readonly #calls = new Set<Promise<unknown>>();
  #host: SandboxHost | undefined;
  #runtime: string | undefined;
  #closed = false;
  #count = 0;

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  prepare(): void {
    this.#runtime ??= findRuntime(this.#options.ociRuntime);
    if (this.#host === undefined || this.#host.gone) this.#host = new SandboxHost(this.#options.store.dir);
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

  async close(): Promise<void> {
    this.#closed = true;
    await this.#host?.close();
    await Promise.all(this.#calls);
  }

  async #run(reference: string, input: Uint8Array, options: RunOptions): Promise<Uint8Array> {
    this.#refuseIfEnded(options.signal);
    this.prepare();
    const host = this.#host as SandboxHost;
    const began = performance.now();
    const image = await this.#options.store.image(reference, {
      ...this.#options.images,
      ...(options.pullPolicy === undefined ? {} : { pullPolicy: options.pullPolicy }),
      ...(options.auth === undefined ? {} : { auth: options.auth }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    options.onPhase?.("pull", performance.now() - began);
    this.#refuseIfEnded(options.signal);

    const id = `${process.pid}-${++this.#count}`;
    const cgroup = await this.#limit(options, host);
    try {
      return await this.#runContainer(host, id, image, input, options, cgroup);
    } finally {
      cgroup?.remove();
    }
  }

  async #runContainer(
    host: SandboxHost,
    id: string,
    image: Image,
    input: Uint8Array,
    options: RunOptions,
    cgroup: LimitCgroup | undefined,
  ): Promise<Uint8Array> {
    const began = performance.now();
    const owner = this.#owner ?? null;
    const started = await host.start({
      type: "start",
      id,
      runtime: this.#runtime as string,
      layers: [...image.layers],
      // A store on a file system without whiteouts has layers that only a copy shows rightly.
      rootfs: image.overlay ? (this.#options.rootfs ?? "auto") : "copy",
      owner,
      spec: runtimeSpec(await processConfig(image), {
        network: options.network ?? "Isolated",
        // An ordinary user is id 0 of the namespace that the host process holds.
        owner: owner ?? { uid: 0, gid: 0 },
        rootfs: sandboxPaths(host.scratch, id).rootfs,
        pids: processRlimit(options.pids ?? MAX_PROCESSES, cgroup),
        networkFiles: networkFiles(host.scratch),
      }),
      writableBytes: WRITABLE_BYTES,
      cgroupProcs: cgroup?.procs ?? [],
      largePipes: input.length > LARGE_INPUT_BYTES,
    });
    if (started.notice !== undefined)
      this.#warn(`overlay is not possible here (${started.notice}): root filesystems are copied, which is slower`);
    options.onPhase?.("start", performance.now() - began);

    const running = performance.now();
    const ending = new Ending(() => {
      host.kill(id);
      cgroup?.kill();
    });
    const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const timer = setTimeout(() => ending.end("Timeout"), timeoutMs);
    const abort = (): void => ending.end("Aborted");
    options.signal?.addEventListener("abort", abort, { once: true });
    if (options.signal?.aborted) abort();
    let io: ContainerIo | undefined;
    try {
      try {
        io = openContainerIo(started.stdio, input, () => ending.end("OutputTooLarge"));
      } catch (error) {
        host.kill(id);
        throw new RunnerError(
          "StartFailed",
          `its pipes could not be opened: ${error instanceof Error ? error.message : String(error)}`,
          {
            phase: "start",
            cause: error,
          },
        );
      } finally {
        host.attached(id);
      }
      const exit = await started.exit;
      // Its first process has ended and the kernel has killed the rest, so both outputs end now.
      const { stdout, stderr } = await io.output;
      if (stderr !== "") options.onStderr?.(stderr);
      options.onPhase?.("run", performance.now() - running);
      const failure = judge(exit, ending.reason, cgroup?.hits() ?? NO_HITS, stderr, { ...options, timeoutMs });
      if (failure !== undefined) throw failure;
      return stdout;
    } finally {
      clearTimeout(timer);
      options.signal?.removeEventListener("abort", abort);
      io?.abandon();
    }
  }

  async #limit(options: RunOptions, host: SandboxHost): Promise<LimitCgroup | undefined> {
    await host.ready();
    return limitCall(options, {
      allowUnlimited: this.#options.allowUnlimited === true,
      onWarning: (message) => this.#warn(message),
    });
  }

  #refuseIfEnded(signal: AbortSignal | undefined): void {
    if (this.#closed) throw new RunnerError("Closed", "the runner was closed", { phase: "start", retryable: false });
    if (signal?.aborted) throw new RunnerError("Aborted", "the call was cancelled", { phase: "start" });
  }

  #warn(message: string): void {
    if (this.#warned.has(message)) return;
    this.#warned.add(message);
    this.#options.onWarning?.(message);
  }
}
