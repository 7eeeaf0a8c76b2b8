import type { Log } from "@xfn/program";
import type { Tracing } from "@xfn/program/tracing";
import { createRunner } from "../runner.ts";
import type { Runner } from "../runner-options.ts";
import type { CheckedEngine } from "../service/check-engine.ts";
import { defaultServersMemory, type EngineConfig, maxServersOf } from "../service/engine-settings.ts";
import { Metrics } from "../service/metrics.ts";
import { observeStore } from "../service/observed-store.ts";
import { openImageStore } from "../service/open-image-store.ts";
import type { ServiceParts } from "./runner-service.ts";

/** Options for opening a service. */
export interface OpenOptions {
  readonly log: Log;
  readonly version: string;
  /** Exports a span of each call. The caller closes it. Absent: no traces. */
  readonly tracing: Tracing | undefined;
  /** Whether the service's metrics include those of the process. */
  readonly processMetrics: boolean;
  /** Whether functions of `type: Chroot` may run. */
  readonly allowChroot: boolean;
}

/** Opens the image store and the runner. @throws Error if the store cannot be opened */
export async function openServiceParts(
  config: EngineConfig,
  checked: CheckedEngine,
  options: OpenOptions,
): Promise<ServiceParts> {
  const { log, version, tracing, processMetrics } = options;
  const metrics = new Metrics(version, processMetrics);
  const store = observeStore(await openImageStore(config.cacheDir, config.cacheQuota), (outcome, bytes) =>
    metrics.image(outcome, bytes),
  );
  const runner = openRunner(config, checked, store.store, metrics, options);
  return { config, checked, log, metrics, store, runner, tracing };
}

function openRunner(
  config: EngineConfig,
  checked: CheckedEngine,
  store: Parameters<typeof createRunner>[0]["store"],
  metrics: Metrics,
  { log, allowChroot }: OpenOptions,
): Runner {
  const { warmPoolCount: count, warmPoolMemory: memoryBytes, warmPoolIdle: idleMs } = config;
  return createRunner({
    store,
    ociRuntime: config.ociRuntime,
    rootfs: config.rootfs,
    readOnlyRoot: config.readOnlyRoot,
    allowUnlimited: config.allowUnlimited,
    allowChroot,
    startTimeoutMs: config.startTimeout,
    maxOutputBytes: config.maxOutput,
    warmPool: config.warmPool,
    warmPoolLimits: { count, memoryBytes, idleMs },
    serverIdleMs: config.idle,
    maxServers: maxServersOf(config),
    serversMemoryBytes: config.serversMemory ?? defaultServersMemory(),
    images: {
      ...checked.registries,
      // Otherwise a caller could send requests to http services of the runner's machine by naming an image there.
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
