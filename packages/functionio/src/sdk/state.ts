import type { JsonObject, KubernetesObject } from "@xfn/json";
import type {
  ConnectionDetail,
  Desired,
  DesiredResource,
  ExplicitConnectionDetail,
  FunctionIO,
  ObservedResource,
  ReadinessCheck,
  Result,
} from "../function-io/functionio.ts";
import { copyJson, freezeJson, newObject, overlayJson } from "./json.ts";
import type { ResourceInput } from "./kinds.ts";
import type { Target } from "./pipeline-run.ts";
import type { DeepReadonly, PartialInput } from "./readonly.ts";

/** Ends the handler with a fatal result: the pipeline stops, and nothing is applied or deleted. */
export function fatal(message: string): never {
  throw new FatalResult(message);
}

/** The error of {@link fatal}. The SDK turns its message into the result, without a stack. */
export class FatalResult extends Error {
  override readonly name = "FatalResult";
  readonly code = "Fatal";
  readonly retryable = false;
}

/** Whether a handler can still write. One for all states of a call. */
export class Lifetime {
  #ended = false;

  /** Must be called before each write. */
  check(what: string): void {
    if (this.#ended) throw new Error(`${what} after the handler ended: await everything that it starts`);
  }

  end(): void {
    this.#ended = true;
  }
}

/** The state at the start of the run. It is frozen: modifying it throws. */
export interface ObservedState {
  /** The XR's connection details, by name. */
  readonly connectionDetails: Readonly<Record<string, string>>;
  /** The names of the observed composed resources. */
  names(): string[];
  /** An observed composed resource, by its entry name. */
  resource<T extends object = KubernetesObject>(name: string): DeepReadonly<T> | undefined;
  /** An observed composed resource's connection details, by name; empty if there are none. */
  connectionDetailsOf(name: string): Readonly<Record<string, string>>;
}

/** Options of a desired resource. */
export interface EntryOptions {
  /** The sources of its connection details. They replace those of an earlier step. */
  readonly connectionDetails?: readonly DeepReadonly<ConnectionDetail>[];
  /** Its readiness checks. They replace those of an earlier step. Without any, the `Ready` condition is checked. */
  readonly readinessChecks?: readonly DeepReadonly<ReadinessCheck>[];
}

/** The desired state so far. The entries of earlier steps stay unless a method here changes them. */
export interface DesiredState<Composite extends object = KubernetesObject> {
  /** The desired state of the XR. */
  readonly composite: DesiredCompositeState<Composite>;
  /** The names of all entries, including deleted ones. */
  names(): string[];
  /** The resource of an entry: null if its deletion is desired, undefined if there is no such entry. */
  resource<T extends object = KubernetesObject>(name: string): DeepReadonly<T> | null | undefined;
  /**
   * Desires a resource. If an earlier step desired one of the same kind under this name, this resource overlays it:
   * objects merge, other values replace. Leave out the status and fields that other writers manage.
   */
  apply<const A extends string, const K extends string>(
    name: string,
    resource: ResourceInput<A, K>,
    options?: EntryOptions,
  ): void;
  /** Desires a resource instead of the one that an earlier step desired under this name. */
  set<const A extends string, const K extends string>(
    name: string,
    resource: ResourceInput<A, K>,
    options?: EntryOptions,
  ): void;
  /** Overlays fields on a resource that an earlier step desired. The resource must exist. */
  patch(name: string, fields: { readonly [field: string]: unknown }, options?: EntryOptions): void;
  /** Desires the deletion of a resource (`resource: null`). */
  delete(name: string): void;
  /**
   * Desires the deletion of observed resources that match and that no step desires, such as those left over after a
   * list became shorter. The predicate must match only entries of this function.
   */
  prune(
    predicate: (entry: { readonly name: string; readonly resource: DeepReadonly<KubernetesObject> }) => boolean,
  ): void;
}

/** The desired state of the XR. */
export interface DesiredCompositeState<Composite extends object = KubernetesObject> {
  /** Overlays fields on the XR's desired status. */
  status(
    fields: Composite extends { status?: infer S }
      ? PartialInput<NonNullable<S>>
      : { readonly [field: string]: unknown },
  ): void;
  /** Overlays fields on the desired XR, such as labels or spec fields. */
  patch(fields: PartialInput<Composite>): void;
  /** Sets one of the XR's connection details. */
  connectionDetail(name: string, value: string): void;
}

/** The results of the function. A controller emits them as events on the XR. */
export interface Results {
  normal(message: string, options?: ResultOptions): void;
  warning(message: string, options?: ResultOptions): void;
}

/** How a result is shown. A pipeline of FunctionIO alone shows each on the XR. */
export interface ResultOptions {
  /** The reason of the event, in CamelCase. */
  readonly reason?: string | undefined;
  /** Default: `Composite`. */
  readonly target?: Target | undefined;
}

export interface CallState {
  observed: ObservedState;
  desired: DesiredState;
  results: Results;
  /** The results that this call added. */
  added: Result[];
  /** The desired state as the handler left it. */
  desiredState(): Desired;
}

/** Opens the state of a call. `io` is not modified; values that the handler reads are frozen. */
export function openState(io: FunctionIO, lifetime: Lifetime): CallState {
  const call = new Call(io, lifetime);
  return {
    added: call.added,
    desired: desiredState(call),
    observed: observedState(io, call.observed),
    results: {
      normal: (message, options) => call.report("Normal", message, options),
      warning: (message, options) => call.report("Warning", message, options),
    },
    desiredState: () => call.desiredState(),
  };
}

/** The desired state of a call. */
class Call {
  readonly entries: Map<string, DesiredResource>;
  readonly observed: ReadonlyMap<string, ObservedResource>;
  readonly added: Result[] = [];
  readonly #io: FunctionIO;
  readonly #lifetime: Lifetime;
  #composite: Desired["composite"];

  constructor(io: FunctionIO, lifetime: Lifetime) {
    this.#io = io;
    this.#lifetime = lifetime;
    this.#composite = io.desired?.composite;
    this.entries = new Map((io.desired?.resources ?? []).map((entry) => [entry.name, entry]));
    this.observed = new Map((io.observed.resources ?? []).map((entry) => [entry.name, entry]));
  }

  /** Must be called before each write. */
  checkOpen(what: string): void {
    this.#lifetime.check(what);
  }

  report(severity: "Normal" | "Warning", message: string, { reason, target }: ResultOptions = {}): void {
    this.checkOpen(severity === "Normal" ? "results.normal" : "results.warning");
    this.added.push({ severity, message: String(message), ...(reason && { reason }), ...(target && { target }) });
  }

  put(name: string, resource: JsonObject, options: EntryOptions | undefined): void {
    if (name === "") throw new TypeError("a desired resource needs a name");
    const entry = { ...this.entries.get(name), name, resource } as DesiredResource;
    if (options?.connectionDetails !== undefined) {
      entry.connectionDetails = copyJson(options.connectionDetails, `${name}: connectionDetails`) as ConnectionDetail[];
    }
    if (options?.readinessChecks !== undefined) {
      entry.readinessChecks = copyJson(options.readinessChecks, `${name}: readinessChecks`) as ReadinessCheck[];
    }
    this.entries.set(name, entry);
  }

  patchComposite(fields: JsonObject): void {
    const desired = this.#composite?.resource ?? this.#identity();
    this.#composite = { ...this.#composite, resource: overlayJson(desired, fields) as KubernetesObject };
  }

  /** The fields that name the XR: the least that is desired of it. */
  #identity(): JsonObject {
    const xr = this.#io.observed.composite?.resource;
    const identity = newObject();
    const metadata = newObject();
    for (const field of ["apiVersion", "kind"]) if (xr?.[field] !== undefined) identity[field] = xr[field];
    for (const field of ["name", "namespace"])
      if (xr?.metadata?.[field] !== undefined) metadata[field] = xr.metadata[field];
    identity["metadata"] = metadata;
    return identity;
  }

  setDetail(name: string, value: string): void {
    // The pipeline would refuse a number that a cast let through, far from here. The value is secret.
    if (typeof value !== "string") throw new TypeError(`connection detail ${name} is not a string`);
    const others = (this.#composite?.connectionDetails ?? []).filter((detail) => detail.name !== name);
    this.#composite = { ...this.#composite, connectionDetails: [...others, { name, value }] };
  }

  desiredState(): Desired {
    const { composite: _composite, resources: _resources, ...unknown } = this.#io.desired ?? {};
    const state: Desired = unknown;
    if (this.#composite !== undefined) state.composite = this.#composite;
    if (this.entries.size > 0) state.resources = [...this.entries.values()];
    return state;
  }
}

// Handlers may destructure these objects, so their functions must not use `this`.

function compositeState(call: Call): DesiredCompositeState {
  return {
    status(fields) {
      call.checkOpen("desired.composite.status");
      const patch = newObject();
      patch["status"] = copyJson(fields, "status");
      call.patchComposite(patch);
    },
    patch(fields) {
      call.checkOpen("desired.composite.patch");
      call.patchComposite(copyJson(fields, "composite") as JsonObject);
    },
    connectionDetail(name, value) {
      call.checkOpen("desired.composite.connectionDetail");
      call.setDetail(name, value);
    },
  };
}

function desiredState(call: Call): DesiredState {
  const { entries } = call;
  return {
    composite: compositeState(call),
    names: () => [...entries.keys()],
    resource<T extends object>(name: string) {
      return freezeJson(entries.get(name)?.resource) as unknown as DeepReadonly<T> | null | undefined;
    },
    apply(name, resource, options) {
      call.checkOpen(`desired.apply("${name}")`);
      const copy = copyJson(resource, name) as KubernetesObject;
      const earlier = entries.get(name)?.resource;
      if (earlier && (earlier.kind !== copy.kind || earlier.apiVersion !== copy.apiVersion)) {
        throw new Error(
          `desired.apply("${name}", ${copy.apiVersion} ${copy.kind}): an earlier step desired a ${earlier.apiVersion} ` +
            `${earlier.kind} under this name; choose another name, or replace it with desired.set`,
        );
      }
      call.put(name, (earlier ? overlayJson(earlier, copy) : copy) as JsonObject, options);
    },
    set(name, resource, options) {
      call.checkOpen(`desired.set("${name}")`);
      const copy = copyJson(resource, name) as JsonObject;
      entries.delete(name);
      call.put(name, copy, options);
    },
    patch(name, fields, options) {
      call.checkOpen(`desired.patch("${name}")`);
      const earlier = entries.get(name)?.resource;
      if (!earlier) throw new Error(`desired.patch("${name}"): no earlier step desired it; use desired.apply`);
      call.put(name, overlayJson(earlier, copyJson(fields, name)) as JsonObject, options);
    },
    delete(name) {
      call.checkOpen(`desired.delete("${name}")`);
      entries.set(name, { name, resource: null });
    },
    prune(predicate) {
      call.checkOpen("desired.prune");
      for (const { name, resource } of call.observed.values()) {
        if (entries.has(name) || !predicate({ name, resource: freezeJson(resource) as DeepReadonly<KubernetesObject> }))
          continue;
        entries.set(name, { name, resource: null });
      }
    },
  };
}

function observedState(io: FunctionIO, observed: ReadonlyMap<string, ObservedResource>): ObservedState {
  return {
    connectionDetails: detailsOf(io.observed.composite?.connectionDetails),
    names: () => [...observed.keys()],
    resource<T extends object>(name: string) {
      return freezeJson(observed.get(name)?.resource) as unknown as DeepReadonly<T> | undefined;
    },
    connectionDetailsOf: (name) => detailsOf(observed.get(name)?.connectionDetails),
  };
}

function detailsOf(details: readonly ExplicitConnectionDetail[] | undefined): Readonly<Record<string, string>> {
  const map = newObject() as Record<string, string>;
  for (const { name, value } of details ?? []) map[name] = value;
  return Object.freeze(map);
}
