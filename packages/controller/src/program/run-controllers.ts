import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { messageOf } from "@xfn/errors";
import {
  type Client,
  electLeader,
  type Informers,
  isApiError,
  leaderClient,
  type ResourceKind,
  recordEvents,
  startInformers,
} from "@xfn/kubernetes";
import { type Backoff, onAbort, pauseAfter, retrying } from "@xfn/lifetime";
import { ResponseCache, type WebhookCaller } from "@xfn/pipeline";
import { ExitCode, type Log } from "@xfn/program";
import type { IdleMemory } from "@xfn/program/idle-memory";
import type { Tracing } from "@xfn/program/tracing";
import type { ServedKinds } from "../crds/controller-crds.ts";
import { installCrds } from "../crds/install-crds.ts";
import { migrateStorage, type StorageProgress } from "../crds/migrate-storage.ts";
import { restoreCrds } from "../crds/restore-crds.ts";
import { describeFailure } from "../engine/describe-failure.ts";
import { type Engine, type EngineWatches, type Reconcilers, startEngine } from "../engine/engine.ts";
import type { EngineContext } from "../engine/kind-controller.ts";
import { BurstOrder } from "../engine/run-order.ts";
import type { CallableRunner } from "../functions/allowed-runners.ts";
import type { pipelineInspector } from "../inspector/pipeline-inspector.ts";
import type { FunctionDirectory, PackageRegistry, RunnerDirectory, RunRecordings } from "../objects/context.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import type { Logger } from "../objects/logger.ts";
import type { ControllerMetrics } from "./metrics.ts";
import type { Readiness } from "./readiness.ts";
import { allReconcilers, type ReconcilerOptions } from "./reconcilers.ts";
import type { StartConfig } from "./start-settings.ts";
import { watchLog } from "./watch-log.ts";

const LEASE = "xfn-controller";

// An API server that starts together with the controller answers within seconds.
const INSTALL_BACKOFF: Backoff = { firstMs: 500, longestMs: 10_000 };

export interface ControllersInput {
  readonly version: string;
  readonly config: StartConfig;
  readonly client: Client;
  readonly runner: CallableRunner | undefined;
  readonly webhooks: WebhookCaller | undefined;
  readonly runners: RunnerDirectory | undefined;
  readonly functions: FunctionDirectory | undefined;
  readonly packages: PackageRegistry | undefined;
  readonly tracing: Tracing | undefined;
  readonly namespace: string;
  readonly log: Log;
  readonly metrics: ControllerMetrics;
  readonly readiness: Readiness;
  /** Learns that the process works. Reconciles that only read caches send no requests. */
  readonly memory: Pick<IdleMemory, "used">;
  readonly signal: AbortSignal;
}

/**
 * Runs the controllers, with leader election as long as the process has the lease, until the signal.
 *
 * @returns the exit code
 */
export async function runControllers(input: ControllersInput): Promise<number> {
  const { config, client, namespace, log, readiness, signal } = input;
  if (!config.leaderElection) {
    await reconcileUntil(input, signal);
    return ExitCode.ok;
  }
  let leads = false;
  const identity = `${hostname()}_${randomUUID()}`;
  log.info({ lease: `${namespace}/${LEASE}`, identity }, "waiting for the lease");
  const lease = await electLeader({
    client,
    namespace,
    name: LEASE,
    identity,
    leaseMs: config.leaseDuration,
    signal,
    onStandby: () => readiness.set("standby"),
    onError: (error) => {
      // A standby that cannot acquire the lease replaces no leader.
      if (!leads) readiness.unready(`cannot acquire the lease ${namespace}/${LEASE}: ${messageOf(error)}`);
      log.warn(describeFailure(error), "cannot acquire or renew the lease");
    },
  });
  leads = true;
  const leading = AbortSignal.any([signal, lease.lost]);
  log.info({ identity }, "leading");
  try {
    await reconcileUntil({ ...input, client: leaderClient(client, lease) }, leading);
  } finally {
    await lease.release();
  }
  if (signal.aborted) return ExitCode.ok;
  // The reason says whether another replica has the lease, or the API server did not answer.
  log.error(describeFailure(lease.lost.reason), "lost the lease");
  return ExitCode.failed;
}

/** @param end aborts at the process's signal, or when the lease is lost */
async function reconcileUntil(input: ControllersInput, end: AbortSignal): Promise<void> {
  const { config, client, runner, log, metrics, readiness, signal } = input;
  readiness.set("starting");
  const served = servedKinds(config, input.version);
  if (!config.skipCrds) await installWithRetries(client, served, log, end);
  const migrated = migrateWithRetries(client, served, log, end);
  // The informers exist before the engine that they report to.
  const running: { engine?: Engine } = {};
  const report = watchLog(log, Date.now);
  const informers = startInformers(client, {
    onError: (error, kind) => {
      report(error, kind);
      running.engine?.watchFailed(kind);
    },
  });
  if (servesManaged(config) && !config.skipCrds) await installPolicy(client, config, log, end);
  const stopRestoring = config.skipCrds ? undefined : startRestoring(served, { client, informers, log });
  const events = recordEvents(client, FIELD_MANAGERS.program, {
    onDrop: (reason) => log.debug({ reason }, "an event was not written"),
  });
  const inspector = config.enablePipelineInspector ? await openInspector(input) : undefined;
  const context: ReconcilerOptions & EngineContext = {
    client,
    informers,
    events,
    log: loggerOf(log),
    runner,
    webhooks: input.webhooks,
    runners: input.runners,
    functions: input.functions,
    packages: input.packages,
    tracing: input.tracing,
    onCircuit: metrics.circuitChanged,
    onFunction: metrics.functionEnded,
    functionPackages: config.enablePackages,
    dependencyChanges: config.enableDependencyVersionDowngrades
      ? "downgrades"
      : config.enableDependencyVersionUpgrades
        ? "upgrades"
        : "none",
    functionRuntimes: config.enableFunctionRuntimes,
    functionSubstrate: config.functionSubstrate,
    managedResources: servesManaged(config),
    runtimeGraceMs: config.runtimeGrace,
    rollouts: config.enableRollouts,
    functionHost: runner && { endpoint: config.runner, ready: (timeoutMs) => runner.ready(timeoutMs) },
    claimConditions: new Map(),
    recordings: config.debugRecordings === undefined ? undefined : await recordingsIn(config.debugRecordings, log),
    inspector,
    responses: input.functions && new ResponseCache({ maxBytes: config.responseCache, onLookup: metrics.lookedUp }),
    runOrder: new BurstOrder(Date.now),
    namespace: input.namespace,
    serviceAccount: config.serviceAccount,
    pullSecretNamespaces: config.pullSecretNamespaces,
    credentialsSecretNamespaces: config.credentialsSecretNamespaces,
    allowComposedSecrets: config.allowComposedSecrets,
    pollIntervalMs: config.pollInterval,
    breaker: {
      burst: config.circuitBreakerBurst,
      refillRate: config.circuitBreakerRefillRate,
      cooldownMs: config.circuitBreakerCooldown,
    },
    now: Date.now,
  };
  const { concurrency } = config;
  const onStopped = (kind: ResourceKind): void => void metrics.forget(kind);
  const packages = input.packages && (await import("./package-reconcilers.ts")).packageReconcilers;
  const rollouts = config.enableRollouts
    ? (await import("../rollout/reconcile-rollout.ts")).rolloutReconciler
    : undefined;
  const { enableResourceComposition, admissionWebhook } = config;
  const usages = config.enableUsages ? await import("../usage/reconcile-usage.ts") : undefined;
  const operations = config.enableOperations ? await import("../operation/operation-reconcilers.ts") : undefined;
  const managed = servesManaged(config) ? await import("../managed/managed-reconcilers.ts") : undefined;
  const reconcilers = (watches: EngineWatches): Reconcilers => ({
    ...allReconcilers({ ...context, ...watches }, packages, rollouts, enableResourceComposition),
    managed: managed?.managedReconcilers(
      context,
      config.enableProviderDeletionProtection ? watches.managed : undefined,
    ),
    usages: usages?.usageReconcilers(context, admissionWebhook !== undefined),
    operations: operations?.operationReconcilers(context),
  });
  const engine = startEngine(context, reconcilers, {
    concurrency,
    observer: (ended) => {
      metrics.reconciled(ended);
      input.memory.used();
    },
    onStopped,
  });
  running.engine = engine;
  const stopWebhook =
    usages &&
    admissionWebhook &&
    (await import("../admission/keep-webhook.ts")).keepWebhook({ ...context, address: admissionWebhook });
  readiness.check(() => stuckProblem(engine));
  metrics.watch({ levels: () => engine.levels(), conditions: () => engine.conditions() }, () => !end.aborted);
  void reportStart(engine, readiness, log);
  await aborted(end);
  await migrated;
  // Without the lease nothing may be written, so running reconciles get no time.
  await stopRestoring?.();
  await stopWebhook?.();
  await engine.stop(signal.aborted ? config.shutdownGrace : 0);
  inspector?.close();
  await events.flush();
  await informers.stop();
}

/** Loaded on demand: recordings are for debugging. */
async function recordingsIn(folder: string, log: Log): Promise<RunRecordings> {
  const { debugRecordings } = await import("../recordings/debug-recordings.ts");
  log.warn({ folder }, "recording inputs and outputs of the functions of annotated composite resources");
  return debugRecordings({ folder, log: loggerOf(log), now: Date.now });
}

/** Loaded on demand, like recordings. */
async function openInspector({
  config,
  log,
  metrics,
}: ControllersInput): Promise<ReturnType<typeof pipelineInspector>> {
  const opened = await import("../inspector/pipeline-inspector.ts");
  const socket = config.pipelineInspectorSocket;
  log.info({ socket }, "telling the pipeline inspector what functions receive and return");
  return opened.pipelineInspector({ socket, log: loggerOf(log), now: Date.now, onDrop: metrics.inspectionDropped });
}

function loggerOf(log: Log): Logger {
  return {
    debug: log.debug.bind(log),
    info: log.info.bind(log),
    warn: log.warn.bind(log),
    error: log.error.bind(log),
  };
}

// Longer than any request and most functions take.
const STUCK_MS = 180_000;

function stuckProblem(engine: Engine): string | undefined {
  const { stuckMs, running, waiting } = engine.levels();
  if (stuckMs < STUCK_MS) return undefined;
  return `${running} reconciles run and ${waiting} wait; none has ended for ${Math.round(stuckMs / 1000)} s`;
}

async function reportStart(engine: Engine, readiness: Readiness, log: Log): Promise<void> {
  try {
    await engine.started;
  } catch {
    // Stopped before it had started.
    return;
  }
  readiness.set("ready");
  log.info({}, "ready");
}

function startRestoring(
  served: ServedKinds,
  { client, informers, log }: { readonly client: Client; readonly informers: Informers; readonly log: Log },
): () => Promise<void> {
  return restoreCrds({
    client,
    informers,
    served,
    onRestore: (name, error) => {
      if (error === undefined) log.warn({ name }, "restored a CRD of the controller, which another writer changed");
      else log.warn({ name, ...describeFailure(error) }, "cannot restore a CRD of the controller");
    },
  });
}

function servedKinds(config: StartConfig, version: string): ServedKinds {
  return {
    version,
    packages: config.enablePackages,
    managedResources: config.enableCustomToManagedResourceConversion,
    functionRuntimes: config.enableFunctionRuntimes,
    resourceComposition: config.enableResourceComposition,
    usages: config.enableUsages,
    operations: config.enableOperations,
  };
}

/** Whether the CRDs of Providers become ManagedResourceDefinitions. */
function servesManaged({ enablePackages, enableCustomToManagedResourceConversion }: StartConfig): boolean {
  return enablePackages && enableCustomToManagedResourceConversion;
}

/** Creates the default activation policy. Without that right, the user creates it. */
async function installPolicy(client: Client, config: StartConfig, log: Log, signal: AbortSignal): Promise<void> {
  const { createDefaultPolicy } = await import("../crds/default-policy.ts");
  const activate = config.activation.filter((pattern) => pattern !== "none");
  try {
    await createDefaultPolicy(client, activate, signal);
  } catch (error) {
    signal.throwIfAborted();
    log.warn(
      describeFailure(error),
      "cannot create the ManagedResourceActivationPolicy default; create it, or grant the right",
    );
  }
}

async function installWithRetries(client: Client, served: ServedKinds, log: Log, signal: AbortSignal): Promise<void> {
  await withRetries(() => installCrds(client, { signal, ...served }), "cannot install the CRDs", log, signal);
}

/** Works beside the reconciles, which need no migrated object. Never rejects. */
async function migrateWithRetries(client: Client, served: ServedKinds, log: Log, signal: AbortSignal): Promise<void> {
  const onProgress = (progress: StorageProgress): void =>
    log.info({ ...progress }, "storing objects in the version of their CRD");
  const failed = "cannot migrate stored objects";
  try {
    await withRetries(() => migrateStorage(client, { served, onProgress, signal }), failed, log, signal);
  } catch (error) {
    if (!signal.aborted) log.error(describeFailure(error), failed);
  }
}

/**
 * Works on the CRDs. Retries while the API server does not answer or is not ready; other errors are for the operator.
 */
async function withRetries(work: () => Promise<void>, failed: string, log: Log, signal: AbortSignal): Promise<void> {
  await retrying(work, {
    signal,
    pauseMs: (error, failures) => {
      signal.throwIfAborted();
      if (!isApiError(error, "Unreachable", "Timeout", "Busy", "Conflict", "ServerError")) return undefined;
      const retryMs = Math.round(pauseAfter(failures, INSTALL_BACKOFF));
      log.warn({ retryMs, ...describeFailure(error) }, failed);
      return retryMs;
    },
  });
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    onAbort(signal, resolve);
  });
}
