import { addProcessMetrics } from "@xfn/program";
import type { CallOutcome, RunnerGrpcError } from "@xfn/runner-grpc";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { RunnerEvent } from "../warm-pool/runner-event.ts";

/** Values that are read at each scrape. */
export interface Levels {
  readonly calls: () => { running: number; waiting: number };
  readonly sandboxes: () => number;
  readonly servers: () => { count: number; idle: number };
  readonly ready: () => boolean;
}

// From a pre-started sandbox (some ms) to functions that take minutes.
const SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** The limit that a failed call reached, by its code. */
const LIMITS: ReadonlyMap<string, string> = new Map([
  ["Timeout", "time"],
  ["OutOfMemory", "memory"],
  ["TooManyProcesses", "processes"],
  ["DiskFull", "disk"],
  ["OutputTooLarge", "output"],
  ["InputTooLarge", "input"],
  ["QueueFull", "queue"],
  ["TooManyServers", "servers"],
]);

/** The Prometheus metrics of a runner. Labels contain no text from callers, which keeps the number of series small. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #calls = this.#counter("calls_total", "Ended calls by outcome; OK: with an output", ["code"]);
  readonly #failures = this.#counter("failures_total", "Failed calls by code and phase", ["code", "phase"]);
  readonly #limits = this.#counter("limits_hit_total", "Calls that failed at a limit", ["limit"]);
  readonly #seconds = this.#histogram("call_seconds", "From request to answer, including the queue", ["code"]);
  readonly #phases = this.#histogram("phase_seconds", "Phases of calls: queue, pull, start, run", ["phase"]);
  readonly #input = this.#counter("input_bytes_total", "Bytes of functions' inputs", []);
  readonly #output = this.#counter("output_bytes_total", "Bytes of functions' outputs", []);
  readonly #images = this.#counter("images_total", "Images of calls: present, pulled, failed", ["outcome"]);
  readonly #pulled = this.#counter("image_pulled_bytes_total", "Compressed bytes of pulled image layers", []);
  readonly #starts = this.#counter("starts_total", "Calls that got a sandbox: warm or cold", ["sandbox"]);
  readonly #pool = this.#counter("warm_pool_sandboxes_total", "Pre-started sandboxes: started, used, discarded", [
    "outcome",
  ]);
  readonly #discarded = this.#counter("warm_pool_discarded_total", "Why pre-started sandboxes were discarded", [
    "reason",
  ]);

  readonly #serverStarts = this.#counter("server_starts_total", "Starts of functions' servers: started, failed", [
    "outcome",
  ]);
  readonly #serverEnds = this.#counter("servers_ended_total", "Why functions' servers ended", ["reason"]);

  /** @param processMetrics whether to include the metrics of the process */
  constructor(version: string, processMetrics: boolean) {
    if (processMetrics) addProcessMetrics(this.#registry, collectDefaultMetrics);
    const registers = [this.#registry];
    const labelNames = ["version", "node"];
    const build = new Gauge({ name: "xfn_runner_build_info", help: "1, by version", labelNames, registers });
    build.set({ version, node: process.version }, 1);
    for (const limit of new Set(LIMITS.values())) this.#limits.inc({ limit }, 0);
    this.#calls.inc({ code: "OK" }, 0);
  }

  /** Records an admitted call that has ended. */
  call(outcome: CallOutcome): void {
    this.#ended(outcome.error);
    this.#seconds.observe({ code: outcome.error?.code ?? "OK" }, outcome.totalMs / 1000);
    if (outcome.options !== undefined) this.#phases.observe({ phase: "queue" }, outcome.queuedMs / 1000);
    for (const [phase, ms] of outcome.phases) this.#phases.observe({ phase }, ms / 1000);
    this.#input.inc(outcome.inputBytes);
    this.#output.inc(outcome.outputBytes);
  }

  refused(error: RunnerGrpcError): void {
    this.#ended(error);
  }

  event(event: RunnerEvent): void {
    switch (event.type) {
      case "call-started":
        this.#starts.inc({ sandbox: event.warm ? "warm" : "cold" });
        break;
      case "sandbox-waiting":
        this.#pool.inc({ outcome: "started" });
        break;
      case "sandbox-used":
        this.#pool.inc({ outcome: "used" });
        break;
      case "sandbox-discarded":
        this.#pool.inc({ outcome: "discarded" });
        this.#discarded.inc({ reason: event.reason });
        break;
      case "server-started":
        this.#serverStarts.inc({ outcome: "started" });
        break;
      case "server-failed":
        this.#serverStarts.inc({ outcome: "failed" });
        break;
      case "server-ended":
        this.#serverEnds.inc({ reason: event.reason });
        break;
    }
  }

  image(outcome: "present" | "pulled" | "failed", pulledBytes: number): void {
    this.#images.inc({ outcome });
    this.#pulled.inc(pulledBytes);
  }

  /** Adds gauges that are read at each scrape. */
  watch(levels: Levels): void {
    this.#level("running", "Running calls", () => levels.calls().running);
    this.#level("queued", "Calls that wait for a run", () => levels.calls().waiting);
    this.#level("sandboxes_waiting", "Pre-started sandboxes", levels.sandboxes);
    this.#level("servers", "Servers of functions", () => levels.servers().count);
    this.#level("servers_idle", "Servers of functions that no call uses", () => levels.servers().idle);
    this.#level("ready", "1 if a container can run", () => (levels.ready() ? 1 : 0));
  }

  /** All metrics in Prometheus' text format. */
  async text(): Promise<{ type: string; text: string }> {
    return { type: this.#registry.contentType, text: await this.#registry.metrics() };
  }

  #ended(error: RunnerGrpcError | undefined): void {
    this.#calls.inc({ code: error?.code ?? "OK" });
    if (error === undefined) return;
    this.#failures.inc({ code: error.code, phase: error.phase ?? "none" });
    const limit = LIMITS.get(error.code);
    if (limit !== undefined) this.#limits.inc({ limit });
  }

  #counter<L extends string>(name: string, help: string, labelNames: readonly L[]): Counter<L> {
    return new Counter({ name: `xfn_runner_${name}`, help, labelNames, registers: [this.#registry] });
  }

  #histogram<L extends string>(name: string, help: string, labelNames: readonly L[]): Histogram<L> {
    const registers = [this.#registry];
    return new Histogram({ name: `xfn_runner_${name}`, help, labelNames, buckets: SECONDS, registers });
  }

  #level(name: string, help: string, read: () => number): void {
    const gauge: Gauge = new Gauge({
      name: `xfn_runner_${name}`,
      help,
      registers: [this.#registry],
      collect: () => gauge.set(read()),
    });
  }
}
