import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Client,
  connect,
  electLeader,
  isApiError,
  KubeconfigError,
  leaderClient,
  loadKubeconfig,
  recordEvents,
  startInformers,
} from "@xfn/kubernetes";
import { createLog, ExitCode, type Log, onStopSignals, startProbeServer, UsageError } from "@xfn/program";
import { growYoungSpace } from "@xfn/program/v8-tuning";
import type { RunnerClient } from "@xfn/runner-grpc";
import { installCrds } from "../crds/install-crds.ts";
import { describeFailure } from "../engine/describe-failure.ts";
import { type Engine, startEngine } from "../engine/engine.ts";
import type { Context } from "../objects/context.ts";
import { checkConfig, checkRunner, runnerOptions } from "./check-config.ts";
import { createMetrics, type Metrics } from "./metrics.ts";
import { allReconcilers } from "./reconcilers.ts";
import type { StartConfig } from "./start-settings.ts";

/** Who writes what nobody else is named for: leases, events. */
const FIELD_MANAGER = "xfn-controller";

const LEASE = "xfn-controller";

/** Where Crossplane's own charts put it. */
const DEFAULT_NAMESPACE = "crossplane-system";

// What is asked to end may have the time that it was given, and some to say so. Then something hangs.
const STOP_MARGIN_MS = 5_000;

// An API server that is not there yet when a pod starts is there within seconds.
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 10_000;

/**
 * `xfn-controller start`: reconciles until a signal ends it.
 *
 * @param problems what was found wrong with the settings already
 * @returns the exit code
 * @throws UsageError with all that is wrong
 */
export async function start(config: StartConfig, problems: readonly string[], version: string): Promise<number> {
  // gRPC takes 20 MB of memory, so it is loaded by those who need it.
  const grpc = config.enableCompositionFunctions ? await import("@xfn/runner-grpc") : undefined;
  const all = [...problems, ...checkConfig(config), ...(grpc === undefined ? [] : checkRunner(config, grpc))];
  if (all.length > 0) throw new UsageError(all);
  growYoungSpace();
  const access = await accessOf(config);
  const log = createLog({ level: config.logLevel, format: config.logFormat });
  const metrics = createMetrics(version);
  const stopped = new AbortController();
  let state = "starting";
  const stopListening = onStopSignals({
    drain: (signal) => {
      log.info({ signal, graceMs: config.shutdownGrace }, "stopping");
      state = `stopping (${signal})`;
      stopped.abort(new Stopped(signal));
      setTimeout(() => process.exit(ExitCode.failed), config.shutdownGrace + STOP_MARGIN_MS).unref();
    },
    kill: (signal) => {
      log.warn({ signal }, "not waiting for what still runs");
      process.exit(ExitCode.ok);
    },
  });
  const client = await connect({
    access,
    fieldManager: FIELD_MANAGER,
    userAgent: `xfn-controller/${version}`,
    rateLimit: { perSecond: config.apiRate, burst: config.apiBurst },
    onRequest: metrics.request,
  });
  const runner = grpc?.createRunnerClient(runnerOptions(config));
  let probes: Awaited<ReturnType<typeof startProbeServer>> | undefined;
  try {
    if (config.metricsAddress !== undefined) {
      const notReady = (): string | undefined => (state === "ready" || state === "standby" ? undefined : state);
      probes = await startProbeServer(config.metricsAddress, { notReady, metrics: () => metrics.text() });
    }
    log.info(
      {
        version,
        server: access.server,
        ...(probes === undefined ? {} : { metrics: probes.url }),
        ...(runner === undefined ? {} : { runner: config.runner }),
      },
      "started",
    );
    const namespace = config.namespace ?? access.namespace ?? DEFAULT_NAMESPACE;
    return await work({
      config,
      client,
      runner,
      namespace,
      log,
      metrics,
      signal: stopped.signal,
      now: (text) => {
        if (!stopped.signal.aborted) state = text;
      },
    });
  } catch (error) {
    if (!stopped.signal.aborted) throw error;
    return ExitCode.ok;
  } finally {
    runner?.close();
    await Promise.all([probes?.close(), client.close()]);
    stopListening();
    log.info({}, "stopped");
  }
}

interface Work {
  readonly config: StartConfig;
  readonly client: Client;
  readonly runner: RunnerClient | undefined;
  readonly namespace: string;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly signal: AbortSignal;
  /** Says how far it is. */
  readonly now: (state: string) => void;
}

/** Waits for the lease if there is one, and works until a signal or its loss. */
async function work(about: Work): Promise<number> {
  const { config, client, namespace, log, signal, now } = about;
  if (!config.leaderElection) {
    await reconcile(about, signal);
    return ExitCode.ok;
  }
  now("standby");
  const identity = `${hostname()}_${randomUUID()}`;
  log.info({ lease: `${namespace}/${LEASE}`, identity }, "waiting for the lease");
  const lease = await electLeader({
    client,
    namespace,
    name: LEASE,
    identity,
    leaseMs: config.leaseDuration,
    signal,
    onError: (error) => log.warn(describeFailure(error), "the lease could not be had or renewed"),
  });
  const leads = AbortSignal.any([signal, lease.lost]);
  log.info({ identity }, "leading");
  try {
    await reconcile({ ...about, client: leaderClient(client, lease) }, leads);
  } finally {
    await lease.release();
  }
  if (signal.aborted) return ExitCode.ok;
  log.error({}, "the lease was lost: another replica works now");
  return ExitCode.failed;
}

async function reconcile(about: Work, signal: AbortSignal): Promise<void> {
  const { config, client, runner, namespace, log, metrics, now } = about;
  now("starting");
  if (!config.skipCrds)
    await persistently(() => installCrds(client, { signal }), "CRDs cannot be installed", log, signal);
  const informers = startInformers(client, {
    onError: (error, kind) => log.warn({ kind: kind.kind, ...describeFailure(error) }, "cannot be watched"),
  });
  const events = recordEvents(client, FIELD_MANAGER, {
    onDrop: (reason) => log.debug({ reason }, "an event was not written"),
  });
  const context: Context = {
    client,
    informers,
    events,
    log: { debug: log.debug.bind(log), info: log.info.bind(log), warn: log.warn.bind(log), error: log.error.bind(log) },
    runner,
    namespace,
    serviceAccount: config.serviceAccount,
    pullSecretNamespaces: config.pullSecretNamespaces,
    pollIntervalMs: config.pollInterval,
    now: Date.now,
  };
  const engine: Engine = startEngine(context, allReconcilers, {
    concurrency: config.concurrency,
    watcher: metrics.reconciled,
  });
  metrics.watch({ engine: engine.levels, leads: () => !signal.aborted });
  const announce = async (): Promise<void> => {
    await engine.started;
    now("ready");
    log.info({}, "ready");
  };
  // It never starts where it is stopped before.
  announce().catch(() => undefined);
  await ended(signal);
  // Without the lease nothing may be written any more: what runs is not given time.
  const graceMs = about.signal.aborted ? config.shutdownGrace : 0;
  await engine.stop(graceMs);
  await events.flush();
  await informers.stop();
}

/** A signal of the operating system asked for the end. */
class Stopped extends Error {
  override readonly name = "Stopped";
}

async function accessOf(config: StartConfig): ReturnType<typeof loadKubeconfig> {
  try {
    return await loadKubeconfig({
      ...(config.kubeconfig === undefined ? {} : { path: config.kubeconfig }),
      ...(config.context === undefined ? {} : { context: config.context }),
    });
  } catch (error) {
    if (error instanceof KubeconfigError) throw new UsageError([error.message]);
    throw error;
  }
}

/** Again and again while the API server does not answer, or is not ready. Anything else is for the operator. */
async function persistently(task: () => Promise<void>, what: string, log: Log, signal: AbortSignal): Promise<void> {
  for (let delay = FIRST_RETRY_MS; ; delay = Math.min(delay * 2, MAX_RETRY_MS)) {
    try {
      return await task();
    } catch (error) {
      signal.throwIfAborted();
      if (!isApiError(error, "Unreachable", "Timeout", "Busy", "Conflict", "ServerError")) throw error;
      log.warn({ retryMs: delay, ...describeFailure(error) }, what);
      await sleep(delay, undefined, { signal });
    }
  }
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
