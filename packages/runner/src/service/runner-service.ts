import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "@xfn/program";
import type { Tracing } from "@xfn/program/tracing";
import type {
  AdmissionCounts,
  CallOutcome,
  RunnerGrpcError,
  RunnerServerOptions,
  ServedRunOptions,
} from "@xfn/runner-grpc";
import type { Runner } from "../runner-options.ts";
import { CallLog } from "../service/call-log.ts";
import { recordCall } from "../service/call-spans.ts";
import type { CheckedEngine } from "../service/check-engine.ts";
import { type EngineConfig, maxServersOf } from "../service/engine-settings.ts";
import type { ForwardedCalls } from "../service/forward-calls.ts";
import { idleMemory } from "../service/idle-memory.ts";
import type { Metrics } from "../service/metrics.ts";
import type { ImageUse, ObservedStore } from "../service/observed-store.ts";
import { permit, usualLimits } from "../service/operator-policy.ts";
import { Readiness } from "../service/readiness.ts";

/** After a failure with one of these codes, containers may no longer be able to run. */
const DOUBTS: ReadonlySet<string> = new Set([
  "Closed",
  "RuntimeMissing",
  "NamespaceUnavailable",
  "ChrootUnavailable",
  "LimitUnavailable",
  "RootFilesystemFailed",
  "StartFailed",
  "Internal",
]);

// Logging and metrics run after the trailers are sent, two turns after the message: a log line takes a tenth of the
// time of a small function's call.
const ANSWER_LEAVES_MS = 3;

/** A source of calls: a gRPC server, or a caller in this process. */
export interface CallSource {
  counts(): AdmissionCounts;
  /** Rejects new calls, waits for running calls, and ends those still running after `graceMs`. */
  stop(graceMs: number): Promise<void>;
  endGrace(): void;
}

/** The handlers that a source uses for its calls. */
export type CallHandlers = Required<Pick<RunnerServerOptions, "run" | "forward" | "onCall" | "onRefused">>;

/** The components of a service. */
export interface ServiceParts {
  readonly config: EngineConfig;
  readonly checked: CheckedEngine;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly store: ObservedStore;
  readonly runner: Runner;
  readonly tracing: Tracing | undefined;
}

/**
 * A runner behind a source of calls. It applies the operator's rules, and adds readiness, metrics, a log and traces.
 */
export class RunnerService<S extends CallSource> {
  readonly source: S;
  readonly #parts: ServiceParts;
  readonly #readiness: Readiness;
  readonly #uses = new WeakMap<ServedRunOptions, ImageUse>();
  readonly #memory = idleMemory();
  readonly #calls: CallLog;
  readonly #onReady: (ready: boolean) => void;
  #forwarded: Promise<ForwardedCalls> | undefined;
  #stopping = false;

  /**
   * @param open creates the source
   * @param onReady called when containers can run, and when they no longer can
   */
  constructor(parts: ServiceParts, open: (handlers: CallHandlers) => S, onReady: (ready: boolean, source: S) => void) {
    const { checked, log, metrics, runner } = parts;
    this.#parts = parts;
    this.#calls = new CallLog(log);
    const source = open({
      run: (image, input, options) => this.#run(image, input, options),
      forward: (image, path, request, options) => this.#forward(image, path, request, options),
      onCall: (outcome) => void setTimeout(() => this.#report(outcome), ANSWER_LEAVES_MS),
      onRefused: (error) => this.#refused(error),
    });
    this.source = source;
    this.#onReady = (ready) => onReady(ready, source);
    this.#readiness = new Readiness({
      // WebAssembly modules need nothing of the host.
      check: async () => {
        if (!checked.policy.wasmOnly) await runner.check(usualLimits(checked.policy));
      },
      onChange: (ready, reason) => this.#readinessChanged(ready, reason),
    });
    metrics.watch({
      calls: () => source.counts(),
      sandboxes: () => runner.counts().waiting,
      servers: () => runner.servers(),
      ready: () => this.#readiness.ready,
    });
    this.#memory.used();
  }

  get ready(): boolean {
    return this.#readiness.ready;
  }

  /** Why no container can run; undefined if containers can run. */
  get problem(): string | undefined {
    return this.#readiness.ready ? undefined : (this.#readiness.reason ?? "stopping");
  }

  /** Ends the calls. Running calls get `graceMs`. */
  async drain(reason: string, graceMs: number): Promise<void> {
    this.#stopping = true;
    this.#readiness.stop(reason);
    await this.source.stop(graceMs);
    // Timers of the same length fire in order, so all calls are reported before this one fires.
    await sleep(ANSWER_LEAVES_MS);
    this.#calls.close();
  }

  /** Kills running calls. {@link close} must follow. */
  kill(): void {
    // Calls that wait for a slot or an image have no container to kill.
    this.source.endGrace();
    void this.#parts.runner.close();
  }

  async close(): Promise<void> {
    const { runner } = this.#parts;
    this.#stopping = true;
    this.#readiness.stop("stopped");
    this.#memory.stop();
    (await this.#forwarded)?.close();
    await runner.close();
  }

  async #run(image: string, input: Uint8Array, options: ServedRunOptions): Promise<Uint8Array> {
    const { checked, runner, store } = this.#parts;
    const permitted = permit(image, options, checked.policy);
    const use: ImageUse = { pulledBytes: 0 };
    this.#uses.set(options, use);
    return await store.during(use, () => runner.run(permitted.image, input, permitted.options));
  }

  async #forward(image: string, path: string, request: Uint8Array, asked: ServedRunOptions): Promise<Uint8Array> {
    const { checked, runner, store } = this.#parts;
    const { maxTimeout } = checked.policy;
    // The caller's timeout is the deadline of the whole call, which callers set generously. It must not be rejected.
    const timeoutMs = Math.min(asked.timeoutMs ?? maxTimeout, maxTimeout);
    const permitted = permit(image, { ...asked, timeoutMs }, checked.policy, "package");
    const use: ImageUse = { pulledBytes: 0 };
    this.#uses.set(asked, use);
    const options = { ...permitted.options, timeoutMs };
    this.#forwarded ??= loadForwardedCalls(runner, this.#parts.config);
    const forwarded = await this.#forwarded;
    return await store.during(use, () => forwarded.call(permitted.image, path, request, options));
  }

  #report(outcome: CallOutcome): void {
    const { metrics, tracing } = this.#parts;
    this.#memory.used();
    const use = outcome.options === undefined ? undefined : this.#uses.get(outcome.options);
    metrics.call(outcome);
    this.#calls.ended(outcome, use);
    if (tracing !== undefined) recordCall(tracing, outcome, use);
    const { error } = outcome;
    if (error !== undefined && DOUBTS.has(error.code) && !error.byFunction) this.#readiness.recheck();
  }

  #refused(error: RunnerGrpcError): void {
    this.#parts.metrics.refused(error);
    this.#calls.refused(error);
  }

  #readinessChanged(ready: boolean, reason: string | undefined): void {
    this.#onReady(ready);
    if (ready) this.#parts.log.info("ready");
    else if (!this.#stopping) this.#parts.log.error({ reason }, "not ready: no container can run");
  }
}

// Loaded on demand: most runners forward no calls, and its libraries take memory.
async function loadForwardedCalls(runner: Runner, config: EngineConfig): Promise<ForwardedCalls> {
  const { ForwardedCalls } = await import("../service/forward-calls.ts");
  const { startTimeout: startTimeoutMs, freshFunctions: fresh } = config;
  return new ForwardedCalls(runner, { startTimeoutMs, fresh, maxServers: maxServersOf(config) });
}
