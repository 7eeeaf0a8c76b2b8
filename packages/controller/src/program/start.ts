import { type ClusterAccess, connect, KubeconfigError, loadKubeconfig } from "@xfn/kubernetes";
import type { ClosableWebhookCaller } from "@xfn/pipeline/webhook";
import { createLog, ExitCode, type Log, onStopSignals, startProbeServer, UsageError } from "@xfn/program";
import { openTracing } from "@xfn/program/tracing";
import { growYoungSpace } from "@xfn/program/v8-tuning";
import type { InProcessRunner } from "@xfn/runner/in-process";
import { AllowedRunners } from "../functions/allowed-runners.ts";
import { allowedWebhooks } from "../functions/allowed-webhooks.ts";
import type { PackageRegistry } from "../objects/context.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { ApiHealth } from "./api-health.ts";
import { checkConfig, checkFunctions, checkRunner, readsPackages } from "./check-config.ts";
import { allowedRunnerOptions, certificateFiles, runnerOptions } from "./client-options.ts";
import { idleHeap, isWork } from "./idle-heap.ts";
import { ControllerMetrics } from "./metrics.ts";
import { Readiness } from "./readiness.ts";
import { runControllers } from "./run-controllers.ts";
import { IN_PROCESS } from "./runner-settings.ts";
import type { StartConfig } from "./start-settings.ts";
import { recordWrite } from "./write-spans.ts";

/** The namespace that Crossplane's Helm chart uses. */
const DEFAULT_NAMESPACE = "crossplane-system";

// Killing containers takes well under a second.
const KILL_MS = 5_000;

// A process that has not ended this long after its grace period hangs, and exits.
const STOP_MARGIN_MS = 5_000;

/**
 * `xfn-controller start`: runs the controllers until a signal.
 *
 * @param problems the problems that reading the settings found
 * @returns the exit code
 * @throws {UsageError} with all problems
 */
export async function start(config: StartConfig, problems: readonly string[], version: string): Promise<number> {
  // gRPC takes 20 MB of memory, so it is loaded only if functions are enabled.
  const grpc = config.enableCompositionFunctions ? await loadGrpc() : undefined;
  const all = [...problems, ...checkConfig(config)];
  if (grpc !== undefined) all.push(...checkRunner(config, grpc), ...checkFunctions(config, grpc));
  const inProcess = config.runner === IN_PROCESS ? await import("@xfn/runner/in-process") : undefined;
  all.push(...(inProcess?.inProcessProblems(config) ?? []));
  const packages = readsPackages(config) ? await registryPackages(config, all) : undefined;
  if (all.length > 0) throw new UsageError(all);
  growYoungSpace();
  const access = await clusterAccess(config);
  const log = createLog({ level: config.logLevel, format: config.logFormat });
  const metrics = new ControllerMetrics(version, config.crossplaneMetrics);
  const readiness = new Readiness();
  const health = new ApiHealth(() => performance.now());
  const memory = idleHeap();
  readiness.check(() => health.problem);
  const stopped = new AbortController();
  const tracing = await openTracing({ endpoint: config.otelEndpoint, service: "xfn-controller", version });
  const hosted = await inProcess?.openInProcessRunner(config, { log, version, tracing });
  readiness.check(() => hosted?.problem);
  const stopListening = listenForSignals(config, log, readiness, stopped, hosted);
  const client = await connect({
    access,
    fieldManager: FIELD_MANAGERS.program,
    userAgent: `xfn-controller/${version}`,
    rateLimit: { perSecond: config.apiRate, burst: config.apiBurst },
    onRequest: (outcome) => {
      metrics.requested(outcome);
      health.requested(outcome);
      if (isWork(outcome)) memory.used();
      if (tracing !== undefined) recordWrite(tracing, outcome);
    },
  });
  const remote = hosted === undefined ? grpc?.createRunnerClient(runnerOptions(config)) : undefined;
  const runner = hosted ?? remote;
  const functions = grpc && runner && new grpc.ConnectedFunctions(runner, config.function, certificateFiles(config));
  const webhooks = runner && config.webhookHosts.length > 0 ? await openWebhooks(config) : undefined;
  const runners =
    grpc &&
    runner &&
    new AllowedRunners(
      { client: runner, endpoint: config.runner, defaultEndpoint: grpc.DEFAULT_ENDPOINT },
      config.allowedRunners,
      (endpoint) => grpc.createRunnerClient(allowedRunnerOptions(config, endpoint)),
    );
  let probes: Awaited<ReturnType<typeof startProbeServer>> | undefined;
  let admission: { close(): Promise<void> } | undefined;
  try {
    if (config.metricsAddress !== undefined) {
      const notReady = (): string | undefined => readiness.problem;
      probes = await startProbeServer(config.metricsAddress, {
        notReady,
        metrics: async () => metrics.text(await hosted?.metrics()),
      });
    }
    log.info({ version, server: access.server, metrics: probes?.url, runner: runner && config.runner }, "started");
    const namespace = config.namespace ?? access.namespace ?? DEFAULT_NAMESPACE;
    const { signal } = stopped;
    if (config.admissionWebhook !== undefined && config.admissionAddress !== undefined) {
      const { openAdmission } = await import("../admission/open-admission.ts");
      admission = await openAdmission(
        { client, namespace, log, onReview: metrics.deletionReviewed },
        config.admissionAddress,
      );
    }
    return await runControllers({
      version,
      config,
      client,
      runner,
      webhooks: allowedWebhooks(config.webhookHosts, webhooks),
      runners,
      functions,
      packages,
      tracing,
      namespace,
      log,
      metrics,
      readiness,
      memory,
      signal,
    });
  } catch (error) {
    if (!stopped.signal.aborted) throw error;
    return ExitCode.ok;
  } finally {
    webhooks?.close();
    functions?.close();
    runners?.close();
    remote?.close();
    // Reconciles have ended, or had their time.
    await hosted?.stop(0);
    await admission?.close();
    await tracing?.close();
    await Promise.all([probes?.close(), client.close()]);
    memory.stop();
    stopListening();
    log.info({}, "stopped");
  }
}

/** The HTTPS client is loaded only if Compositions may call webhooks. */
async function openWebhooks({ maxOutput }: StartConfig): Promise<ClosableWebhookCaller> {
  const { createWebhookCaller } = await import("@xfn/pipeline/webhook");
  return createWebhookCaller({ maxOutputBytes: maxOutput });
}

/** The HTTP client of registries is loaded only if packages are enabled. */
async function registryPackages(config: StartConfig, problems: string[]): Promise<PackageRegistry> {
  const [{ readRegistryAccess }, { RegistryPackages }] = await Promise.all([
    import("@xfn/oci-rootfs"),
    import("../package/registry/registry-packages.ts"),
  ]);
  const access = readRegistryAccess(config, (problem) => void problems.push(problem));
  return new RegistryPackages({ ...access, trustedRootFile: config.trustedRoot });
}

type Grpc = Pick<typeof import("@xfn/runner-grpc"), "createRunnerClient" | "DEFAULT_ENDPOINT" | "RunnerSetupError"> &
  Pick<typeof import("../functions/function-directory.ts"), "ConnectedFunctions" | "endpointOf">;

async function loadGrpc(): Promise<Grpc> {
  const [runner, functions] = await Promise.all([
    import("@xfn/runner-grpc"),
    import("../functions/function-directory.ts"),
  ]);
  return { ...runner, ...functions };
}

/** Aborts `stopped` at the first signal, and exits at the second one. */
function listenForSignals(
  { shutdownGrace }: StartConfig,
  log: Log,
  readiness: Readiness,
  stopped: AbortController,
  hosted: InProcessRunner | undefined,
): () => void {
  return onStopSignals({
    drain: (signal) => {
      log.info({ signal, graceMs: shutdownGrace }, "stopping");
      readiness.stop(signal);
      stopped.abort();
      setTimeout(() => process.exit(ExitCode.failed), shutdownGrace + STOP_MARGIN_MS).unref();
    },
    kill: (signal) => {
      log.warn({ signal }, "exiting without waiting for running reconciles");
      if (hosted === undefined) process.exit(ExitCode.ok);
      setTimeout(() => process.exit(ExitCode.ok), KILL_MS).unref();
      hosted.kill();
      void hosted.stop(0).finally(() => process.exit(ExitCode.ok));
    },
  });
}

async function clusterAccess({ kubeconfig, context }: StartConfig): Promise<ClusterAccess> {
  try {
    return await loadKubeconfig({ path: kubeconfig, context });
  } catch (error) {
    if (error instanceof KubeconfigError) throw new UsageError([error.message]);
    throw error;
  }
}
