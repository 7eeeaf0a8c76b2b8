import { setTimeout as sleep } from "node:timers/promises";
import { createLog, ExitCode, type Log, onStopSignals, startProbeServer, UsageError } from "@xfn/program";
import { tuneForServing } from "@xfn/program/v8-tuning";
import { type CallOutcome, createRunnerServer, RunnerSetupError, type ServedRunOptions } from "@xfn/runner-grpc";
import { createRunner, type Runner } from "../runner.ts";
import { logCall, logRefused } from "./call-log.ts";
import { type CheckedConfig, checkConfig } from "./check-config.ts";
import { IdleMemory } from "./idle-memory.ts";
import { createMetrics, type Metrics } from "./metrics.ts";
import { type ImageUse, observeStore } from "./observed-store.ts";
import { openImageStore } from "./open-image-store.ts";
import { permit, usualLimits } from "./operator-policy.ts";
import { watchReadiness } from "./readiness.ts";
import type { ServeConfig } from "./serve-settings.ts";
import type { Tracing } from "./tracing.ts";
import { tracingWanted } from "./tracing-wanted.ts";

/** Failures that may mean that no container can be run here any more. */
const DOUBTS: ReadonlySet<string> = new Set([
  "Closed",
  "RuntimeMissing",
  "NamespaceUnavailable",
  "LimitUnavailable",
  "RootFilesystemFailed",
  "StartFailed",
  "Internal",
]);

// Killing containers takes well under a second. After this time something hangs, and the process goes without it: its containers
// do not outlive it.
const KILL_MS = 10_000;

// The caller has its answer once it has the trailers, which leave two turns after the message. Nothing that is only told of a call
// goes before them: its line in the log takes as long as a tenth of a small function's call.
const ANSWER_LEAVES_MS = 3;

/**
 * `xfn-runner serve`: serves the runner contract until a signal ends it.
 *
 * @param problems what was found wrong with the settings already
 * @returns the exit code
 * @throws UsageError with all that is wrong
 */
export async function serve(config: ServeConfig, problems: readonly string[], version: string): Promise<number> {
  const { checked, problems: more } = checkConfig(config);
  if (problems.length + more.length > 0) throw new UsageError([...problems, ...more]);
  const log = createLog({ level: config.logLevel, format: config.logFormat });
  const metrics = createMetrics(version);
  const store = observeStore(await openImageStore(config.cacheDir), metrics.image);
  const runner = openRunner(config, checked, store.store, metrics, log);
  const tracing = await openTracing(config, version);
  const uses = new WeakMap<ServedRunOptions, ImageUse>();
  const memory = new IdleMemory();
  const server = createRunnerServer({
    ...checked.listen,
    health: { serving: false },
    run: (image, input, options) => {
      const permitted = permit(image, options, checked.policy);
      const use: ImageUse = { pulledBytes: 0 };
      uses.set(options, use);
      return store.during(use, () => runner.run(permitted.image, input, permitted.options));
    },
    onCall: (outcome: CallOutcome) => void setTimeout(tell, ANSWER_LEAVES_MS, outcome),
    onRefused: (error) => {
      metrics.refused(error);
      logRefused(log, error);
    },
    onWarning: (message) => log.warn({ warning: message }, "warning"),
  });
  const tell = (outcome: CallOutcome): void => {
    memory.used();
    const use = outcome.options === undefined ? undefined : uses.get(outcome.options);
    metrics.call(outcome);
    logCall(log, outcome, use);
    tracing?.call(outcome, use);
    if (outcome.error !== undefined && DOUBTS.has(outcome.error.code)) readiness.recheck();
  };
  const readiness = watchReadiness({
    check: () => runner.check(usualLimits(checked.policy)),
    onChange: (ready, reason) => {
      server.setServing(ready);
      if (ready) log.info("ready");
      else if (!stopping) log.error({ reason }, "not ready: no container can be run");
    },
  });
  metrics.watch({
    calls: () => server.counts(),
    sandboxes: () => runner.counts().waiting,
    ready: () => readiness.ready,
  });

  const asked = Promise.withResolvers<NodeJS.Signals>();
  let stopping = false;
  const stopListening = onStopSignals({
    drain: asked.resolve,
    kill: (signal) => {
      log.warn({ signal }, "killing what still runs");
      setTimeout(() => process.exit(ExitCode.ok), KILL_MS).unref();
      // Not all of them have a container: some wait for their turn, or for an image.
      server.endGrace();
      void runner.close();
    },
  });
  let probes: Awaited<ReturnType<typeof startProbeServer>> | undefined;
  try {
    if (config.metricsAddress !== undefined) {
      const notReady = (): string | undefined => (readiness.ready ? undefined : (readiness.reason ?? "stopping"));
      probes = await startProbeServer(config.metricsAddress, { notReady, metrics: () => metrics.text() });
    }
    const addresses = await server.start();
    // Said before it was started, the health service does not know it.
    server.setServing(readiness.ready);
    log.info({ addresses, ...(probes === undefined ? {} : { metrics: probes.url }), version }, "listening");
    tuneForServing();
    memory.used();
    const signal = await asked.promise;
    stopping = true;
    log.info({ signal, graceMs: config.shutdownGrace, ...server.counts() }, "stopping");
    readiness.stop(`stopping (${signal})`);
    await server.stop(config.shutdownGrace);
    // What is still to be told of calls is told first: timers of one length fire in their order.
    await sleep(ANSWER_LEAVES_MS);
    log.info("stopped");
    return ExitCode.ok;
  } catch (error) {
    if (error instanceof RunnerSetupError) throw new Error(`cannot listen: ${error.message}`, { cause: error });
    throw error;
  } finally {
    stopping = true;
    readiness.stop("stopped");
    memory.stop();
    await runner.close();
    await Promise.all([probes?.close(), tracing?.close()]);
    stopListening();
  }
}

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
    warmPool: config.warmPool,
    warmPoolLimits: {
      ...(count === undefined ? {} : { count }),
      ...(memoryBytes === undefined ? {} : { memoryBytes }),
      ...(idleMs === undefined ? {} : { idleMs }),
    },
    images: {
      insecureRegistries: checked.insecureRegistries,
      ...(checked.policy.defaultRegistry === undefined ? {} : { defaultRegistry: checked.policy.defaultRegistry }),
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
