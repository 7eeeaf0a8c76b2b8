import type { RequestOutcome } from "@xfn/kubernetes";
import { Counter, Histogram, Registry } from "prom-client";
import type { EndedReconcile } from "../engine/kind-controller.ts";
import type { EndedFunction } from "../objects/context.ts";

/** The prefixes of Crossplane's names of controllers that are not packages'. */
const CONTROLLERS: ReadonlyMap<string, string> = new Map([
  ["CompositeResourceDefinition.apiextensions.crossplane.io", "defined"],
  ["Composition.apiextensions.crossplane.io", "revisions"],
  ["Usage.protection.crossplane.io", "usage"],
  ["ClusterUsage.protection.crossplane.io", "usage"],
  ["Operation.ops.crossplane.io", "ops"],
  ["CronOperation.ops.crossplane.io", "ops"],
  ["WatchOperation.ops.crossplane.io", "ops"],
]);

const METHODS: ReadonlyMap<string, string> = new Map([
  ["create", "POST"],
  ["update", "PUT"],
  ["apply", "PATCH"],
  ["patch", "PATCH"],
  ["delete", "DELETE"],
]);

const FUNCTION = ["function_name", "function_package", "grpc_target", "grpc_method"] as const;
const RESPONSE = [...FUNCTION, "grpc_code", "result_severity"] as const;
const METHOD = "/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction";

/**
 * The controller's metrics under the names of Crossplane and of its libraries, so that existing dashboards work.
 * Functions of any type count as gRPC calls, without a target.
 */
export class CrossplaneMetrics {
  readonly registry: Registry = new Registry();
  readonly #reconciles = this.#counter("controller_runtime_reconcile_total", "Reconciles", ["controller", "result"]);
  readonly #errors = this.#counter("controller_runtime_reconcile_errors_total", "Failed reconciles", ["controller"]);
  readonly #time = this.#histogram("controller_runtime_reconcile_time_seconds", "Durations of reconciles", [
    "controller",
  ]);
  readonly #wait = this.#histogram("workqueue_queue_duration_seconds", "How long objects waited", ["name"]);
  readonly #work = this.#histogram("workqueue_work_duration_seconds", "Durations of reconciles", ["name"]);
  readonly #requests = this.#counter("rest_client_requests_total", "Requests to the API server", ["code", "method"]);
  readonly #calls = this.#counter("function_run_function_request_total", "Calls of functions", FUNCTION);
  readonly #responses = this.#counter("function_run_function_response_total", "Responses of functions", RESPONSE);
  readonly #seconds = this.#histogram("function_run_function_seconds", "Durations of functions", RESPONSE);
  readonly #hits = this.#counter("function_run_function_response_cache_hits_total", "Stored responses that were used", [
    "function_name",
  ]);
  readonly #misses = this.#counter(
    "function_run_function_response_cache_misses_total",
    "Calls for which no response was stored",
    ["function_name"],
  );
  readonly #inspections = this.#counter(
    "function_run_function_pipeline_inspector_errors_total",
    "Messages that the pipeline inspector did not get",
    ["function_name", "type"],
  );
  readonly #opens = this.#counter("circuit_breaker_opens_total", "Circuit breakers that opened", ["controller"]);
  readonly #closes = this.#counter("circuit_breaker_closes_total", "Circuit breakers that closed", ["controller"]);
  /** By kind. */
  readonly #names = new Map<string, string>();

  reconciled({ kind, controller, failed, milliseconds, waitedMs }: EndedReconcile): void {
    const name = controller ?? controllerOf(kind);
    this.#names.set(kind, name);
    this.#reconciles.inc({ controller: name, result: failed ? "error" : "success" });
    if (failed) this.#errors.inc({ controller: name });
    this.#time.observe({ controller: name }, milliseconds / 1000);
    this.#work.observe({ name }, milliseconds / 1000);
    this.#wait.observe({ name }, waitedMs / 1000);
  }

  requested({ verb, status }: RequestOutcome): void {
    this.#requests.inc({ code: status === 0 ? "<error>" : String(status), method: METHODS.get(verb) ?? "GET" });
  }

  functionEnded({ name, code, severity, milliseconds }: EndedFunction): void {
    const labels = { function_name: nameOf(name), function_package: name, grpc_target: "", grpc_method: METHOD };
    const answered = code === "OK" || code === "FatalResult";
    const response = { ...labels, grpc_code: answered ? "OK" : "Unknown", result_severity: severity };
    this.#calls.inc(labels);
    this.#responses.inc(response);
    this.#seconds.observe(response, milliseconds / 1000);
  }

  lookedUp(isHit: boolean, name: string): void {
    (isHit ? this.#hits : this.#misses).inc({ function_name: nameOf(name) });
  }

  inspectionDropped(name: string, type: string): void {
    this.#inspections.inc({ function_name: nameOf(name), type });
  }

  circuitChanged(kind: string, isOpen: boolean): void {
    (isOpen ? this.#opens : this.#closes).inc({ controller: this.#names.get(kind) ?? controllerOf(kind) });
  }

  /** Removes the series of a kind that is no longer reconciled. */
  forget(kind: string): void {
    const controller = this.#names.get(kind);
    if (controller === undefined) return;
    this.#names.delete(kind);
    for (const result of ["success", "error"]) this.#reconciles.remove({ controller, result });
    for (const metric of [this.#errors, this.#time, this.#opens, this.#closes]) metric.remove({ controller });
    for (const metric of [this.#work, this.#wait]) metric.remove({ name: controller });
  }

  #counter<L extends string>(name: string, help: string, labelNames: readonly L[]): Counter<L> {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  #histogram<L extends string>(name: string, help: string, labelNames: readonly L[]): Histogram<L> {
    return new Histogram({ name, help, labelNames, registers: [this.registry] });
  }
}

function controllerOf(kind: string): string {
  const prefix = kind.endsWith(".pkg.crossplane.io") ? "packages" : CONTROLLERS.get(kind);
  return prefix === undefined ? kind.toLowerCase() : `${prefix}/${kind.toLowerCase()}`;
}

/** A package without its version and digest, so that an upgrade continues its series. */
function nameOf(name: string): string {
  return name.replace(/@.*$/, "").replace(/:[^:/]*$/, "");
}
