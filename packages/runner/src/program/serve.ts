import { setTimeout as sleep } from "node:timers/promises";
import { createLog, ExitCode, type Log, onStopSignals, startProbeServer, UsageError } from "@xfn/program";
import { tuneForServing } from "@xfn/program/v8-tuning";
import {
  type CallOutcome,
  createRunnerServer,
  type RunnerServer,
  RunnerSetupError,
  type ServedRunOptions,
} from "@xfn/runner-grpc";
import { createRunner } from "../runner.ts";
import type { Runner } from "../runner-options.ts";
import { CallLog } from "./call-log.ts";
import { type CheckedConfig, checkConfig } from "./check-config.ts";
import type { ForwardedCalls } from "./forward-calls.ts";
import { idleMemory } from "./idle-memory.ts";
import { Metrics } from "./metrics.ts";
import { type ImageUse, type ObservedStore, observeStore } from "./observed-store.ts";
import { openImageStore } from "./open-image-store.ts";
import { permit, usualLimits } from "./operator-policy.ts";
import { Readiness } from "./readiness.ts";
import { defaultServersMemory, maxServersOf, type ServeConfig } from "./serve-settings.ts";
import type { Tracing } from "./tracing.ts";
import { tracingWanted } from "./tracing-wanted.ts";

/** After a failure with one of these codes no container may be able to run here any more. */
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

// Killing containers takes well under a second. If something hangs, the process exits after this time, and its
// containers end with it.
const KILL_MS = 10_000;

// Logging and metrics run after the trailers are sent, which leave two turns after the message: a log line takes as
// long as a tenth of a small function's call.
const ANSWER_LEAVES_MS = 3;

/**
 * `xfn-runner serve`: serves the runner contract until a signal ends it.
 *
 * @param problems problems that the settings' reader found
 * @returns the exit code
 * @throws UsageError with all problems
 */
export async function serve(config: ServeConfig, problems: readonly string[], version: string): Promise<number> {
  const { checked, problems: more } = checkConfig(config);
  if (problems.length + more.length > 0) throw new UsageError([...problems, ...more]);
  const log = createLog({ level: config.logLevel, format: config.logFormat });
  const metrics = new Metrics(version);
  const store = observeStore(await openImageStore(config.cacheDir, config.cacheQuota), (outcome, bytes) =>
    metrics.image(outcome, bytes),
  );
  const runner = openRunner(config, checked, store.store, metrics, log);
  const tracing = await openTracing(config, version);
  return await new RunnerService({ config, checked, version, log, metrics, store, runner, tracing }).serve();
}

interface ServiceParts {
  readonly config: ServeConfig;
  readonly checked: CheckedConfig;
  readonly version: string;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly store: ObservedStore;
  readonly runner: Runner;
  readonly tracing: Tracing | undefined;
}

/** A runner behind a gRPC server, with readiness, probes, metrics and traces. */
class RunnerService {
  readonly #parts: ServiceParts;
  readonly #server: RunnerServer;
  readonly #readiness: Readiness;
  readonly #uses = new WeakMap<ServedRunOptions, ImageUse>();
  readonly #memory = idleMemory();
  #forwarded: Promise<ForwardedCalls> | undefined;
  readonly #calls: CallLog;
  #stopping = false;

  constructor(parts: ServiceParts) {
    const { checked, log, metrics, runner } = parts;
    this.#parts = parts;
    this.#calls = new CallLog(log);
    this.#server = createRunnerServer({
      ...checked.listen,
      health: { serving: false },
      run: (image, input, options) => this.#run(image, input, options),
      forward: (image, path, request, options) => this.#forward(image, path, request, options),
      onCall: (outcome) => void setTimeout(() => this.#report(outcome), ANSWER_LEAVES_MS),
      onRefused: (error) => {
        metrics.refused(error);
        this.#calls.refused(error);
      },
      onWarning: (message) => log.warn({ warning: message }, "warning"),
    });
    this.#readiness = new Readiness({
      check: () => runner.check(usualLimits(checked.policy)),
      onChange: (ready, reason) => this.#readinessChanged(ready, reason),
    });
    metrics.watch({
      calls: () => this.#server.counts(),
      sandboxes: () => runner.counts().waiting,
      servers: () => runner.servers(),
      ready: () => this.#readiness.ready,
    });
  }

  /** Serves until a signal. @returns the exit code */
  async serve(): Promise<number> {
    const { config, log, runner, tracing, version } = this.#parts;
    const requested = Promise.withResolvers<NodeJS.Signals>();
    const stopListening = onStopSignals({ drain: requested.resolve, kill: (signal) => this.#kill(signal) });
    let probes: ProbeServer | undefined;
    try {
      probes = await this.#startProbes();
      const addresses = await this.#server.start();
      // The health service does not exist before the start, so report a state that was known earlier.
      this.#server.setServing(this.#readiness.ready);
      log.info({ addresses, metrics: probes?.url, version }, "listening");
      tuneForServing();
      this.#memory.used();
      const signal = await requested.promise;
      this.#stopping = true;
      log.info({ signal, graceMs: config.shutdownGrace, ...this.#server.counts() }, "stopping");
      this.#readiness.stop(`stopping (${signal})`);
      await this.#server.stop(config.shutdownGrace);
      // Timers of the same length fire in order, so all calls are reported before this one.
      await sleep(ANSWER_LEAVES_MS);
      this.#calls.close();
      log.info("stopped");
      return ExitCode.ok;
    } catch (error) {
      if (error instanceof RunnerSetupError) throw new Error(`cannot listen: ${error.message}`, { cause: error });
      throw error;
    } finally {
      this.#stopping = true;
      this.#readiness.stop("stopped");
      this.#memory.stop();
      (await this.#forwarded)?.close();
      await runner.close();
      await Promise.all([probes?.close(), tracing?.close()]);
      stopListening();
    }
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
    const { maxTimeoutMs } = checked.policy;
    // The deadline of the whole call, which callers set generously, is no demand.
    const timeoutMs = Math.min(asked.timeoutMs ?? maxTimeoutMs, maxTimeoutMs);
    const permitted = permit(image, { ...asked, timeoutMs }, checked.policy);
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
    tracing?.call(outcome, use);
    const { error } = outcome;
    if (error !== undefined && DOUBTS.has(error.code) && !error.byFunction) this.#readiness.recheck();
  }

  #readinessChanged(ready: boolean, reason: string | undefined): void {
    this.#server.setServing(ready);
    if (ready) this.#parts.log.info("ready");
    else if (!this.#stopping) this.#parts.log.error({ reason }, "not ready: no container can run");
  }

  async #startProbes(): Promise<ProbeServer | undefined> {
    const { config, metrics } = this.#parts;
    if (config.metricsAddress === undefined) return undefined;
    const notReady = (): string | undefined =>
      this.#readiness.ready ? undefined : (this.#readiness.reason ?? "stopping");
    return await startProbeServer(config.metricsAddress, { notReady, metrics: () => metrics.text() });
  }

  #kill(signal: NodeJS.Signals): void {
    const { log, runner } = this.#parts;
    log.warn({ signal }, "killing running calls");
    setTimeout(() => process.exit(ExitCode.ok), KILL_MS).unref();
    // Calls that wait for a slot or an image have no container to kill.
    this.#server.endGrace();
    void runner.close();
  }
}

// Most runners forward no call, and its libraries take memory.
async function loadForwardedCalls(runner: Runner, config: ServeConfig): Promise<ForwardedCalls> {
  const { ForwardedCalls } = await import("./forward-calls.ts");
  const { startTimeout: startTimeoutMs, freshFunctions: fresh } = config;
  return new ForwardedCalls(runner, { startTimeoutMs, fresh, maxServers: maxServersOf(config) });
}

type ProbeServer = Awaited<ReturnType<typeof startProbeServer>>;

function openRunner(
  config: ServeConfig,
  checked: CheckedConfig,
  store: Parameters<typeof createRunner>[0]["store"],
  metrics: Metrics,
  log: Log,
): Runner {
  const { warmPoolCount: count, warmPoolMemory: memoryBytes, warmPoolIdle: idleMs } = config;
  return createRunner({
    store,
    ociRuntime: config.ociRuntime,
    rootfs: config.rootfs,
    readOnlyRoot: config.readOnlyRoot,
    allowUnlimited: config.allowUnlimited,
    allowChroot: config.allowChroot,
    startTimeoutMs: config.startTimeout,
    maxOutputBytes: config.maxOutput,
    warmPool: config.warmPool,
    warmPoolLimits: { count, memoryBytes, idleMs },
    serverIdleMs: config.idle,
    maxServers: maxServersOf(config),
    serversMemoryBytes: config.serversMemory ?? defaultServersMemory(),
    images: {
      ...checked.registries,
      // A caller could otherwise send requests to http services of the runner's machine by naming an image there.
      httpOnLoopback: false,
      defaultRegistry: checked.policy.defaultRegistry,
    },
    onWarning: (message) => log.warn({ warning: message }, "warning"),
    onEvent: (event) => {
      metrics.event(event);
      log.debug(event, "sandbox");
    },
  });
}

async function openTracing(config: ServeConfig, version: string): Promise<Tracing | undefined> {
  if (!tracingWanted(config.otelEndpoint, process.env)) return undefined;
  const { startTracing } = await import("./tracing.ts");
  return startTracing(config.otelEndpoint, version);
}
