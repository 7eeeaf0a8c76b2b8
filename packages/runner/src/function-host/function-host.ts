import { setImmediate as turn } from "node:timers/promises";
import { onAbort, untilAborted } from "@xfn/lifetime";
import type { Image } from "@xfn/oci-rootfs";
import type { FunctionHost, RunOptions, ServedFunction, ServeOptions } from "@xfn/runner-contract";
import type { SharedGroup } from "../cgroup/shared-group.ts";
import { describeFailure } from "../sandbox/classify-exit.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { SandboxHost } from "../sandbox/sandbox-host.ts";
import type { SandboxSpec, ServerProcess } from "../sandbox/sandbox-spec.ts";
import type { RunnerEvent } from "../warm-pool/runner-event.ts";
import { FunctionServer, throwIfAborted } from "./function-server.ts";
import { checkPackage } from "./package-file.ts";
import { ServerPool, type ServerPoolLimits, type ServerUsage } from "./server-pool.ts";

/** The parts of a runner that a host of functions needs. */
export interface FunctionHostParts {
  limits: ServerPoolLimits;
  /** Looks up an image, and acquires a lease on it. */
  lookUp: (reference: string, options: Pick<RunOptions, "pullPolicy" | "auth" | "signal">) => Promise<Image>;
  acquire: (digest: string) => void;
  release: (digest: string) => void;
  spec: (image: Image, options: ServeOptions, process: ServerProcess) => Promise<SandboxSpec>;
  /** Prepares the sandbox of a server. The sandbox host is ready afterwards. */
  prepare: (spec: SandboxSpec) => Promise<Sandbox>;
  /** The cgroup that servers share, if there is one. */
  group: () => SharedGroup | undefined;
  onEvent: (event: RunnerEvent) => void;
  /** Memory and processor time of sandboxes. */
  measure: (ids: string[]) => Promise<({ id: string } & ServerUsage)[]>;
  /** Returns the sandbox host, and starts one if there is none. @throws RunnerError if the runner is closed */
  host: () => SandboxHost;
}

/** The only flag that the official SDKs of all languages support: no TLS. */
const ARGUMENTS = ["--insecure"];

// At most this many images are in use at once in practice. A forgotten image is checked again.
const MAX_CHECKED = 256;

/** The interval between measurements of idle servers. */
const REVIEW_MS = 5_000;

const DEFAULT_START_TIMEOUT_MS = 20_000;

/** Serves functions that are gRPC servers, each in a sandbox that lives for many calls. */
export class SandboxedFunctions implements FunctionHost {
  readonly #parts: FunctionHostParts;
  readonly #pool: ServerPool<FunctionServer>;
  /** Digests of images that {@link checkPackage} accepted. */
  readonly #checked = new Set<string>();
  #review: NodeJS.Timeout | undefined;

  constructor(parts: FunctionHostParts) {
    this.#parts = parts;
    this.#pool = new ServerPool(parts.limits, ({ sandbox }, reason) =>
      parts.onEvent({ type: "server-ended", digest: sandbox.spec.digest, reason }),
    );
  }

  async serve(image: string, options: ServeOptions = {}): Promise<ServedFunction> {
    try {
      const host = this.#parts.host();
      host.acquire();
      try {
        return this.#handle(await this.#lease(image, options), host, image, options);
      } catch (error) {
        host.release();
        throw error;
      }
    } catch (error) {
      throw describeFailure(error, image, options);
    }
  }

  /** The idle servers. */
  get idle(): { count: number; bytes: number } {
    return { count: this.#pool.idle.length, bytes: this.#pool.idleBytes };
  }

  /** The number of servers, including those that are starting. */
  get count(): number {
    return this.#pool.size;
  }

  /** Forgets all servers, because the sandbox host has ended. */
  clear(): void {
    this.#pool.clear();
  }

  close(): void {
    clearTimeout(this.#review);
    this.#pool.close();
  }

  // Measures servers soon after they became idle, and then periodically.
  #scheduleReview(): void {
    if (this.#review !== undefined || this.#pool.idle.length === 0) return;
    this.#review = setTimeout(() => void this.#reviewNow(), REVIEW_MS);
    this.#review.unref();
  }

  async #reviewNow(): Promise<void> {
    await this.#pool.review(async (servers) => {
      const usages = await this.#parts.measure(servers.map(({ sandbox }) => sandbox.id));
      const byId = new Map(usages.map((usage) => [usage.id, usage]));
      return new Map(
        servers.flatMap((server) => {
          const usage = byId.get(server.sandbox.id);
          return usage === undefined ? [] : [[server, usage] as const];
        }),
      );
    }, performance.now());
    this.#review = undefined;
    this.#scheduleReview();
  }

  async #lease(reference: string, options: ServeOptions): Promise<Leased> {
    const began = performance.now();
    const image = await this.#parts.lookUp(reference, options);
    try {
      const pulled = performance.now();
      await this.#check(image);
      const spec = await this.#parts.spec(image, options, { arguments: ARGUMENTS, env: options.env ?? {} });
      throwIfAborted(options.signal);
      const start = (cancelled: AbortSignal): Promise<FunctionServer> => this.#start(spec, options, cancelled);
      const lease = this.#pool.acquire(spec.key, start, options.fresh);
      try {
        const server = await untilAborted(lease.server, options.signal);
        if (lease.starts) {
          options.onPhase?.("pull", pulled - began);
          options.onPhase?.("start", performance.now() - pulled);
        }
        return { server, release: lease.release };
      } catch (error) {
        lease.release();
        throwIfAborted(options.signal);
        throw error;
      }
    } finally {
      this.#parts.release(image.digest);
    }
  }

  async #check(image: Image): Promise<void> {
    if (this.#checked.has(image.digest)) return;
    await checkPackage(image);
    if (this.#checked.size === MAX_CHECKED) this.#checked.clear();
    this.#checked.add(image.digest);
  }

  async #start(spec: SandboxSpec, options: ServeOptions, cancelled: AbortSignal): Promise<FunctionServer> {
    const { digest } = spec;
    this.#parts.acquire(digest);
    let server: FunctionServer | undefined;
    try {
      const sandbox = await this.#parts.prepare(spec);
      if (cancelled.aborted) sandbox.discard();
      throwIfAborted(cancelled);
      const startTimeoutMs = options.startTimeoutMs ?? DEFAULT_START_TIMEOUT_MS;
      server = new FunctionServer(sandbox, startTimeoutMs, this.#parts.group());
      void server.ended.then(() => this.#parts.release(digest));
      onAbort(cancelled, () => server?.end());
      await server.listening();
      this.#parts.onEvent({ type: "server-started", digest });
      return server;
    } catch (error) {
      if (!cancelled.aborted) this.#parts.onEvent({ type: "server-failed", digest });
      if (server === undefined) this.#parts.release(digest);
      server?.end();
      // When the caller gets the error, no process of the server is left.
      await server?.ended;
      throw error;
    }
  }

  #handle({ server, release }: Leased, host: SandboxHost, image: string, options: ServeOptions): ServedFunction {
    let released = false;
    return {
      connect: async (signal) => {
        try {
          return await server.connect(signal);
        } catch (error) {
          throw describeFailure(error, image, options);
        }
      },
      written: () => server.written(),
      stderr: async (since) => {
        await pipesRead();
        return server.stderr(since);
      },
      release: () => {
        if (released) return;
        released = true;
        release();
        host.release();
        this.#scheduleReview();
      },
    };
  }
}

/**
 * Lets the event loop read all data in the pipes. The answer may come from a poll that began before the server wrote to
 * its pipe, so the next poll must end too.
 */
async function pipesRead(): Promise<void> {
  await turn();
  await turn();
}

interface Leased {
  readonly server: FunctionServer;
  readonly release: () => void;
}
