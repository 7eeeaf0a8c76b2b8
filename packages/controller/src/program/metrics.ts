import type { RequestOutcome } from "@xfn/kubernetes";
import { PROCESS_METRICS } from "@xfn/program";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { ReconcileWatcher } from "../engine/engine-metrics.ts";

/** What can be counted at any time. */
export interface Levels {
  readonly engine: () => { running: number; waiting: number; composedKinds: number };
  readonly leads: () => boolean;
}

/** The Prometheus metrics of a controller. Labels are kinds and codes, never names of objects: series are few. */
export interface Metrics {
  readonly reconciled: ReconcileWatcher;
  /** A request to the API server has ended. */
  request(outcome: RequestOutcome): void;
  /** The levels are asked for at each scrape. */
  watch(levels: Levels): void;
  /** In Prometheus' text format. */
  text(): Promise<{ type: string; text: string }>;
}

// From a reconcile that reads caches alone to one whose functions take a minute.
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Makes the metrics of this process. */
export function createMetrics(version: string): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, ...PROCESS_METRICS });
  const name = (text: string): string => `xfn_controller_${text}`;
  const reconciles = new Counter({
    name: name("reconciles_total"),
    help: "Reconciles that have ended, by kind and outcome",
    labelNames: ["kind", "outcome"],
    registers,
  });
  const seconds = new Histogram({
    name: name("reconcile_seconds"),
    help: "How long reconciles took",
    labelNames: ["kind"],
    buckets: SECONDS,
    registers,
  });
  const requests = new Counter({
    name: name("api_requests_total"),
    help: "Requests to the API server, by verb, resource and HTTP status (0: no answer)",
    labelNames: ["verb", "resource", "status"],
    registers,
  });
  const requestSeconds = new Histogram({
    name: name("api_request_seconds"),
    help: "How long requests to the API server took, the client's own rate limit and retries included",
    labelNames: ["verb"],
    buckets: SECONDS,
    registers,
  });
  const retries = new Counter({ name: name("api_retries_total"), help: "Requests that were sent again", registers });
  new Gauge({ name: name("build_info"), help: "1, by version", labelNames: ["version", "node"], registers }).set(
    { version, node: process.version },
    1,
  );
  return {
    reconciled(kind, failed, ms) {
      reconciles.inc({ kind, outcome: failed ? "failed" : "ok" });
      seconds.observe({ kind }, ms / 1000);
    },
    request({ verb, resource, status, milliseconds, retries: again }) {
      requests.inc({ verb, resource, status: String(status) });
      // A watch is there for minutes on purpose.
      if (verb !== "watch") requestSeconds.observe({ verb }, milliseconds / 1000);
      if (again > 0) retries.inc(again);
    },
    watch(levels) {
      const level = (text: string, help: string, read: () => number): Gauge =>
        new Gauge({
          name: name(text),
          help,
          registers,
          collect() {
            this.set(read());
          },
        });
      level("running", "Objects that are being worked on", () => levels.engine().running);
      level("waiting", "Objects that wait for that", () => levels.engine().waiting);
      level("composed_kinds", "Kinds of composed resources that are watched", () => levels.engine().composedKinds);
      level("leader", "1 if this replica works", () => (levels.leads() ? 1 : 0));
    },
    text: async () => ({ type: registry.contentType, text: await registry.metrics() }),
  };
}
