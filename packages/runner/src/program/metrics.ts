import { PROCESS_METRICS } from "@xfn/program";
import { type CallOutcome, RunnerGrpcError } from "@xfn/runner-grpc";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { RunnerEvent } from "../warm-pool/runner-event.ts";

/** What can be counted at any time. */
export interface Levels {
  /** Calls that run, and calls that wait for that. */
  readonly calls: () => { running: number; waiting: number };
  /** Sandboxes that were started before their call. */
  readonly sandboxes: () => number;
  readonly ready: () => boolean;
}

/** The Prometheus metrics of a runner. No label has a caller's text in it: series are few. */
export interface Metrics {
  /** A call that was let in has ended. */
  call(outcome: CallOutcome): void;
  /** A call was turned away. */
  refused(error: RunnerGrpcError): void;
  event(event: RunnerEvent): void;
  image(outcome: "present" | "pulled" | "failed", pulledBytes: number): void;
  /** The levels are asked for at each scrape. */
  watch(levels: Levels): void;
  /** In Prometheus' text format. */
  text(): Promise<{ type: string; text: string }>;
}

// From a sandbox that was waiting (some ms) to functions that take minutes.
const SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** Which limit a failed call ran into, by its code. */
const LIMITS: ReadonlyMap<string, string> = new Map([
  ["Timeout", "time"],
  ["OutOfMemory", "memory"],
  ["TooManyProcesses", "processes"],
  ["DiskFull", "disk"],
  ["OutputTooLarge", "output"],
  ["InputTooLarge", "input"],
  ["QueueFull", "queue"],
]);

/** Makes the metrics of this process. */
export function createMetrics(version: string): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, ...PROCESS_METRICS });
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]): Counter<L> =>
    new Counter({ name: `xfn_runner_${name}`, help, labelNames, registers });
  const gauge = <L extends string = never>(name: string, help: string, labelNames: readonly L[] = []): Gauge<L> =>
    new Gauge({ name: `xfn_runner_${name}`, help, labelNames, registers });
  const histogram = <L extends string>(name: string, help: string, labelNames: readonly L[]): Histogram<L> =>
    new Histogram({ name: `xfn_runner_${name}`, help, labelNames, buckets: SECONDS, registers });

  const calls = counter("calls_total", "Calls that have ended, by outcome; OK for those with an output", ["code"]);
  const failures = counter("failures_total", "Calls that failed, by code and phase", ["code", "phase"]);
  const limits = counter("limits_hit_total", "Calls that failed at a limit", ["limit"]);
  const seconds = histogram("call_seconds", "From request to answer, the queue included", ["code"]);
  const phases = histogram("phase_seconds", "Phases of calls: queue, pull, start, run", ["phase"]);
  const input = counter("input_bytes_total", "Bytes of functions' inputs", []);
  const output = counter("output_bytes_total", "Bytes of functions' outputs", []);
  const images = counter("images_total", "Images that calls asked for: present, pulled, failed", ["outcome"]);
  const pulled = counter("image_pulled_bytes_total", "Packed bytes of image layers that were fetched", []);
  const starts = counter("starts_total", "Calls that got a sandbox: warm or cold", ["sandbox"]);
  const pooled = counter("warm_pool_sandboxes_total", "Pre-started sandboxes: started, used, discarded", ["outcome"]);
  const discarded = counter("warm_pool_discarded_total", "Why pre-started sandboxes were discarded", ["reason"]);
  gauge("build_info", "1, by version", ["version", "node"]).set({ version, node: process.version }, 1);
  for (const limit of new Set(LIMITS.values())) limits.inc({ limit }, 0);
  calls.inc({ code: "OK" }, 0);

  const ended = (error: RunnerGrpcError | undefined): void => {
    calls.inc({ code: error?.code ?? "OK" });
    if (error === undefined) return;
    failures.inc({ code: error.code, phase: error.phase ?? "none" });
    const limit = LIMITS.get(error.code);
    if (limit !== undefined) limits.inc({ limit });
  };
  return {
    call(outcome) {
      ended(outcome.error);
      seconds.observe({ code: outcome.error?.code ?? "OK" }, outcome.totalMs / 1000);
      if (outcome.options !== undefined) phases.observe({ phase: "queue" }, outcome.queuedMs / 1000);
      for (const [phase, ms] of outcome.phases) phases.observe({ phase }, ms / 1000);
      input.inc(outcome.inputBytes);
      output.inc(outcome.outputBytes);
    },
    refused: ended,
    event(event) {
      switch (event.type) {
        case "call-started":
          starts.inc({ sandbox: event.warm ? "warm" : "cold" });
          break;
        case "sandbox-waiting":
          pooled.inc({ outcome: "started" });
          break;
        case "sandbox-used":
          pooled.inc({ outcome: "used" });
          break;
        case "sandbox-discarded":
          pooled.inc({ outcome: "discarded" });
          discarded.inc({ reason: event.reason });
          break;
      }
    },
    image(outcome, pulledBytes) {
      images.inc({ outcome });
      pulled.inc(pulledBytes);
    },
    watch(levels) {
      const level = (name: string, help: string, read: () => number): Gauge =>
        new Gauge({
          name: `xfn_runner_${name}`,
          help,
          registers,
          collect() {
            this.set(read());
          },
        });
      level("running", "Calls that run", () => levels.calls().running);
      level("queued", "Calls that wait for a run", () => levels.calls().waiting);
      level("sandboxes_waiting", "Sandboxes that were started before their call", levels.sandboxes);
      level("ready", "1 if a container can be run", () => (levels.ready() ? 1 : 0));
    },
    text: async () => ({ type: registry.contentType, text: await registry.metrics() }),
  };
}
