import { qualifiedKind, type RequestOutcome, type ResourceKind, resourceOf } from "@xfn/kubernetes";
import { addProcessMetrics } from "@xfn/program";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { ConditionCount } from "../engine/count-conditions.ts";
import type { EngineLevels } from "../engine/engine.ts";
import type { EndedReconcile } from "../engine/kind-controller.ts";
import type { DroppedMessage, EndedFunction } from "../objects/context.ts";
import { CrossplaneMetrics } from "./crossplane-metrics.ts";

// From a reconcile that only reads caches to one whose functions take a minute.
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

const PREFIX = "xfn_controller_";

/** The values of an engine that are read at each scrape. */
export interface WatchedEngine {
  readonly levels: () => EngineLevels;
  readonly conditions: () => readonly ConditionCount[];
}

/**
 * The Prometheus metrics of the controller. Labels are kinds and codes, never names of objects, so that series are
 * few.
 */
export class ControllerMetrics {
  readonly #registry: Registry = new Registry();
  readonly #registers: Registry[] = [this.#registry];
  readonly #reconciles = new Counter({
    name: `${PREFIX}reconciles_total`,
    help: "Ended reconciles, by kind and outcome",
    labelNames: ["kind", "outcome"],
    registers: this.#registers,
  });
  readonly #reconcileSeconds = new Histogram({
    name: `${PREFIX}reconcile_seconds`,
    help: "Durations of reconciles",
    labelNames: ["kind"],
    buckets: SECONDS,
    registers: this.#registers,
  });
  readonly #queueWait = new Histogram({
    name: `${PREFIX}queue_wait_seconds`,
    help: "How long objects waited for their reconciles",
    labelNames: ["kind"],
    buckets: SECONDS,
    registers: this.#registers,
  });
  readonly #circuits = new Counter({
    name: `${PREFIX}circuit_breaker_changes_total`,
    help: "Composite resources whose circuit breaker (condition Responsive) opened or closed",
    labelNames: ["kind", "to"],
    registers: this.#registers,
  });
  readonly #functionSeconds = new Histogram({
    name: `${PREFIX}function_seconds`,
    help: "Durations of functions of any type, by the code of their error (OK: none; FatalResult: a fatal result)",
    labelNames: ["code"],
    buckets: SECONDS,
    registers: this.#registers,
  });
  readonly #requests = new Counter({
    name: `${PREFIX}api_requests_total`,
    help: "Requests to the API server, by verb, resource and HTTP status (0: no answer)",
    labelNames: ["verb", "resource", "status"],
    registers: this.#registers,
  });
  readonly #requestSeconds = new Histogram({
    name: `${PREFIX}api_request_seconds`,
    help: "Durations of requests to the API server, including the client's rate limit and retries",
    labelNames: ["verb"],
    buckets: SECONDS,
    registers: this.#registers,
  });
  readonly #retries = new Counter({
    name: `${PREFIX}api_retries_total`,
    help: "Retried requests to the API server",
    registers: this.#registers,
  });

  readonly #lookups = new Counter({
    name: `${PREFIX}function_responses_total`,
    help: "Responses of functions that can be stored, by where they came from",
    labelNames: ["source"],
    registers: this.#registers,
  });

  readonly #inspections = new Counter({
    name: `${PREFIX}inspector_dropped_total`,
    help: "Messages that the pipeline inspector did not get, by type (request or response) and reason",
    labelNames: ["type", "reason"],
    registers: this.#registers,
  });

  readonly #reviews = new Counter({
    name: `${PREFIX}deletion_reviews_total`,
    help: "Deletions of objects in use about which the API server asked the admission webhook, by answer (denied or allowed)",
    labelNames: ["answer"],
    registers: this.#registers,
  });

  readonly deletionReviewed = (isDenied: boolean): void => {
    this.#reviews.inc({ answer: isDenied ? "denied" : "allowed" });
  };

  readonly inspectionDropped = ({ functionName, type, reason }: DroppedMessage): void => {
    this.#inspections.inc({ type, reason });
    this.#crossplane?.inspectionDropped(functionName, type);
  };

  /** Counts a response of a function. */
  readonly lookedUp = (isHit: boolean, name: string): void => {
    this.#lookups.inc({ source: isHit ? "cache" : "call" });
    this.#crossplane?.lookedUp(isHit, name);
  };

  readonly #crossplane: CrossplaneMetrics | undefined;
  #isLeader: () => boolean = () => false;

  /** @param crossplane whether to add Crossplane's names */
  constructor(version: string, crossplane = false) {
    this.#crossplane = crossplane ? new CrossplaneMetrics() : undefined;
    addProcessMetrics(this.#registry, collectDefaultMetrics);
    const build = new Gauge({
      name: `${PREFIX}build_info`,
      help: "1, by version",
      labelNames: ["version", "node"],
      registers: this.#registers,
    });
    build.set({ version, node: process.version }, 1);
    // A standby reports 0.
    this.#gauge("leader", "1 if this replica reconciles", () => (this.#isLeader() ? 1 : 0));
  }

  readonly reconciled = (ended: EndedReconcile): void => {
    const { kind, failed, milliseconds, waitedMs } = ended;
    this.#crossplane?.reconciled(ended);
    this.#reconciles.inc({ kind, outcome: failed ? "failed" : "ok" });
    this.#reconcileSeconds.observe({ kind }, milliseconds / 1000);
    this.#queueWait.observe({ kind }, waitedMs / 1000);
  };

  readonly circuitChanged = (kind: ResourceKind, isOpen: boolean): void => {
    this.#circuits.inc({ kind: qualifiedKind(kind), to: isOpen ? "open" : "closed" });
    this.#crossplane?.circuitChanged(qualifiedKind(kind), isOpen);
  };

  readonly functionEnded = (ended: EndedFunction): void => {
    this.#functionSeconds.observe({ code: ended.code }, ended.milliseconds / 1000);
    this.#crossplane?.functionEnded(ended);
  };

  readonly requested = (outcome: RequestOutcome): void => {
    const { verb, resource, status, milliseconds, retries } = outcome;
    this.#crossplane?.requested(outcome);
    this.#requests.inc({ verb, resource, status: String(status) });
    // A watch lasts for minutes by design.
    if (verb !== "watch") this.#requestSeconds.observe({ verb }, milliseconds / 1000);
    if (retries > 0) this.#retries.inc(retries);
  };

  /** Removes the series of a kind that is no longer reconciled. */
  async forget(kind: ResourceKind): Promise<void> {
    const labels = { kind: qualifiedKind(kind) };
    for (const outcome of ["ok", "failed"]) this.#reconciles.remove({ ...labels, outcome });
    this.#reconcileSeconds.remove(labels);
    this.#queueWait.remove(labels);
    this.#crossplane?.forget(labels.kind);
    for (const to of ["open", "closed"]) this.#circuits.remove({ ...labels, to });
    const resource = resourceOf(kind);
    for (const series of (await this.#requests.get()).values)
      if (series.labels.resource === resource) this.#requests.remove(series.labels);
  }

  /** Reads the levels at each scrape from now on. */
  watch({ levels, conditions }: WatchedEngine, isLeader: () => boolean): void {
    this.#gauge("running", "Objects that are being reconciled", () => levels().running);
    this.#gauge("waiting", "Objects that wait to be reconciled", () => levels().waiting);
    this.#gauge("composed_kinds", "Kinds of composed resources that are watched", () => levels().composedKinds);
    this.#gauge("uncached_objects", "Objects for which the caches have no space", () => levels().uncached);
    this.#registry.registerMetric(objectsGauge(conditions));
    this.#isLeader = isLeader;
  }

  /** The metrics in Prometheus' text format. @param more further metrics, with names of their own */
  async text(more: string = ""): Promise<{ type: string; text: string }> {
    const crossplane = (await this.#crossplane?.registry.metrics()) ?? "";
    return { type: this.#registry.contentType, text: (await this.#registry.metrics()) + crossplane + more };
  }

  #gauge(name: string, help: string, read: () => number): void {
    this.#registry.registerMetric(
      new Gauge({
        name: `${PREFIX}${name}`,
        help,
        registers: [],
        collect() {
          this.set(read());
        },
      }),
    );
  }
}

function objectsGauge(conditions: () => readonly ConditionCount[]): Gauge {
  return new Gauge({
    name: `${PREFIX}objects`,
    help: "Objects of reconciled kinds, by condition and its status",
    labelNames: ["kind", "condition", "status"],
    registers: [],
    collect() {
      this.reset();
      for (const { count, ...labels } of conditions()) this.set(labels, count);
    },
  });
}
