import { createLocalRunner, type RunnerClient, RunnerGrpcError } from "@xfn/runner-grpc";
import { type CheckedEngine, checkEngine } from "../service/check-engine.ts";
import type { EngineConfig } from "../service/engine-settings.ts";
import { type OpenOptions, openServiceParts } from "./open-service-parts.ts";
import { RunnerService, type ServiceParts } from "./runner-service.ts";

/** A runner in the process of its caller: the calls of a client, with the rules, metrics and readiness of a runner. */
export interface InProcessRunner extends Omit<RunnerClient, "close"> {
  /** Why no container can run; undefined if containers can run. */
  readonly problem: string | undefined;
  /** The metrics of the runner, without those of the process, in Prometheus' text format. */
  metrics(): Promise<string>;
  /**
   * Rejects new calls, waits up to `graceMs` for running ones, kills the others, and ends all processes of the runner.
   */
  stop(graceMs: number): Promise<void>;
  /** Kills running calls; {@link stop} then returns soon. */
  kill(): void;
}

/** Functions get neither a network nor chroots: they could reach sockets that are only for this process. */
const CONFINED = { allowNetwork: false, allowChroot: false } as const;

/**
 * Opens a runner in this process. It starts the same processes as `xfn-runner`.
 *
 * @throws Error if the image store cannot be opened
 */
export async function openInProcessRunner(
  config: EngineConfig,
  options: Pick<OpenOptions, "log" | "tracing" | "version">,
): Promise<InProcessRunner> {
  const { checked } = checkInProcess(config);
  const parts = await openServiceParts(config, checked, { ...options, processMetrics: false, allowChroot: false });
  return hostedRunner(parts);
}

/** The problems of the settings for a runner in this process, one on each line. */
export function inProcessProblems(config: EngineConfig): string[] {
  return checkInProcess(config).problems;
}

function checkInProcess(config: EngineConfig): { checked: CheckedEngine; problems: string[] } {
  const problems: string[] = [];
  const checked = checkEngine(config, CONFINED, (problem) => {
    if (!problems.includes(problem)) problems.push(problem);
  });
  return { checked, problems };
}

function hostedRunner(parts: ServiceParts): InProcessRunner {
  const { maxConcurrent, maxQueued, maxOutput } = parts.config;
  const waiting = new Set<() => void>();
  const service = new RunnerService(
    parts,
    (handlers) => createLocalRunner({ ...handlers, maxConcurrent, maxQueued }),
    (ready) => {
      if (ready) for (const resolve of waiting) resolve();
    },
  );
  return {
    maxOutputBytes: maxOutput,
    get problem() {
      return service.problem;
    },
    run: (...call) => service.source.run(...call),
    callFunction: (...call) => service.source.callFunction(...call),
    async ready(timeoutMs) {
      if (service.ready) return;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const timer = setTimeout(() => {
        const message = `the runner in this process is not ready: ${service.problem ?? "not checked yet"}`;
        reject(new RunnerGrpcError("Unavailable", message));
      }, timeoutMs);
      waiting.add(resolve);
      try {
        await promise;
      } finally {
        clearTimeout(timer);
        waiting.delete(resolve);
      }
    },
    metrics: async () => (await parts.metrics.text()).text,
    async stop(graceMs) {
      await service.drain("stopping", graceMs);
      await service.close();
    },
    kill: () => service.kill(),
  };
}
