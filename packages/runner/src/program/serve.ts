import { createLog, ExitCode, type Log, onStopSignals, startProbeServer, UsageError } from "@xfn/program";
import { openTracing } from "@xfn/program/tracing";
import { tuneForServing } from "@xfn/program/v8-tuning";
import { createRunnerServer, type RunnerServer, RunnerSetupError } from "@xfn/runner-grpc";
import { openServiceParts } from "../service/open-service-parts.ts";
import { RunnerService, type ServiceParts } from "../service/runner-service.ts";
import { type CheckedConfig, checkConfig } from "./check-config.ts";
import type { ServeConfig } from "./serve-settings.ts";

// Killing containers takes well under a second. If an operation hangs, the process exits after this time, and its
// containers end with it.
const KILL_MS = 10_000;

/**
 * `xfn-runner serve`: serves the runner contract until a signal ends it.
 *
 * @param problems problems found while reading the settings
 * @returns the exit code
 * @throws UsageError with all problems
 */
export async function serve(config: ServeConfig, problems: readonly string[], version: string): Promise<number> {
  const { checked, problems: more } = checkConfig(config);
  if (problems.length + more.length > 0) throw new UsageError([...problems, ...more]);
  const log = createLog({ level: config.logLevel, format: config.logFormat });
  const { allowChroot } = config;
  const tracing = await openTracing({ endpoint: config.otelEndpoint, service: "xfn-runner", version });
  const parts = await openServiceParts(config, checked, { log, version, tracing, processMetrics: true, allowChroot });
  try {
    return await serveUntilSignal(config, openService(checked, parts), parts, version);
  } finally {
    await tracing?.close();
  }
}

/** Creates a runner behind a gRPC server. */
function openService({ listen }: CheckedConfig, parts: ServiceParts): RunnerService<RunnerServer> {
  return new RunnerService(
    parts,
    (handlers) =>
      createRunnerServer({
        ...listen,
        ...handlers,
        health: { serving: false },
        onWarning: (message) => parts.log.warn({ warning: message }, "warning"),
      }),
    (ready, server) => server.setServing(ready),
  );
}

/** @returns the exit code */
async function serveUntilSignal(
  config: ServeConfig,
  service: RunnerService<RunnerServer>,
  { log, metrics }: ServiceParts,
  version: string,
): Promise<number> {
  const requested = Promise.withResolvers<NodeJS.Signals>();
  const stopListening = onStopSignals({
    drain: requested.resolve,
    kill: (signal) => kill(service, signal, log),
  });
  let probes: Awaited<ReturnType<typeof startProbeServer>> | undefined;
  try {
    if (config.metricsAddress !== undefined) {
      const notReady = (): string | undefined => service.problem;
      probes = await startProbeServer(config.metricsAddress, { notReady, metrics: () => metrics.text() });
    }
    const addresses = await service.source.start();
    // The health service does not exist before the start, so report a readiness that was known earlier.
    service.source.setServing(service.ready);
    log.info({ addresses, metrics: probes?.url, version }, "listening");
    tuneForServing();
    const signal = await requested.promise;
    log.info({ signal, graceMs: config.shutdownGrace, ...service.source.counts() }, "stopping");
    await service.drain(`stopping (${signal})`, config.shutdownGrace);
    log.info("stopped");
    return ExitCode.ok;
  } catch (error) {
    if (error instanceof RunnerSetupError) throw new Error(`cannot listen: ${error.message}`, { cause: error });
    throw error;
  } finally {
    await service.close();
    await probes?.close();
    stopListening();
  }
}

function kill(service: RunnerService<RunnerServer>, signal: NodeJS.Signals, log: Log): void {
  log.warn({ signal }, "killing running calls");
  setTimeout(() => process.exit(ExitCode.ok), KILL_MS).unref();
  service.kill();
}
