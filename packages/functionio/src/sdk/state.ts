import type {
  ConnectionDetail,
  Desired,
  DesiredResource,
  ExplicitConnectionDetail,
  FunctionIO,
  KubernetesObject,
  ReadinessCheck,
  Result,
} from "../function-io/functionio.ts";
import type { JsonObject } from "../json/json-value.ts";
import { copyJson, freezeJson, newObject, overlayJson } from "./json.ts";
import type { ResourceOf } from "./kinds.ts";
import type { DeepReadonly, PartialInput } from "./readonly.ts";

/** The state as of the start of the run. Frozen: changing it throws. */
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

/** What may be said about a desired resource besides the resource. */
export interface EntryOptions {
  /** Where its connection details come from. Replaces those of an earlier step. */
  readonly connectionDetails?: readonly DeepReadonly<ConnectionDetail>[];
  /** When it is ready. Replaces those of an earlier step; without any, it is ready when its `Ready` condition is. */
  readonly readinessChecks?: readonly DeepReadonly<ReadinessCheck>[];
}

/** The desired state so far. What earlier steps desired stays unless a method here changes it. */
export interface DesiredState<Composite extends object = KubernetesObject> {
  /** What is desired of the XR. */
  readonly composite: DesiredCompositeState<Composite>;
  /** The names of all entries, deleted ones too. */
  names(): string[];
  /** The resource of an entry: null if it is to be deleted, undefined if there is no such entry. */
  resource<T extends object = KubernetesObject>(name: string): DeepReadonly<T> | null | undefined;
  /**
   * Desires a resource. If an earlier step desired one of the same kind under this name, this is laid over it: objects
   * merge, everything else is replaced. Name neither what others manage nor the status.
   */
  apply<const A extends string, const K extends string>(
    name: string,
    resource: { readonly apiVersion: A; readonly kind: K } & ResourceOf<A, K>,
    options?: EntryOptions,
  ): void;
  /** Desires a resource in place of whatever an earlier step desired under this name. */
  set<const A extends string, const K extends string>(
    name: string,
    resource: { readonly apiVersion: A; readonly kind: K } & ResourceOf<A, K>,
    options?: EntryOptions,
  ): void;
  /** Lays fields over a resource that an earlier step desired; it must be there. */
  patch(name: string, fields: { readonly [field: string]: unknown }, options?: EntryOptions): void;
  /** Desires that a resource be deleted (`resource: null`). */
  delete(name: string): void;
  /**
   * Deletes the observed resources that match and that nothing desires: those left over when a loop became shorter. Call
   * it with a predicate that is true only of this function's own entries.
   */
  prune(
    predicate: (entry: { readonly name: string; readonly resource: DeepReadonly<KubernetesObject> }) => boolean,
  ): void;
}

/** What is desired of the XR. */
export interface DesiredCompositeState<Composite extends object = KubernetesObject> {
  /** Lays fields over the XR's desired status. */
  status(
    fields: Composite extends { status?: infer S }
      ? PartialInput<NonNullable<S>>
      : { readonly [field: string]: unknown },
  ): void;
  /** Lays fields over the desired XR, such as labels or spec fields. */
  patch(fields: PartialInput<Composite>): void;
  /** Sets one of the XR's connection details. */
  connectionDetail(name: string, value: string): void;
}

/** What the function has to say. Becomes events on the XR. */
export interface Results {
  normal(message: string): void;
  warning(message: string): void;
}

/** The state of one call. */
export interface CallState {
  observed: ObservedState;
  desired: DesiredState;
  results: Results;
  /** The results that this call added. */
  added: Result[];
  /** Ends the call: writes after it throw. Returns the desired state. */
  close(): Desired;
}

/** Opens the state of a call. Nothing in `io` is changed except that what the handler reads is frozen. */
export function openState(io: FunctionIO): CallState {
  const entries = new Map<string, DesiredResource>();
  for (const entry of io.desired?.resources ?? []) entries.set(entry.name, entry);
  const observed = new Map((io.observed.resources ?? []).map((entry) => [entry.name, entry]));
  const added: Result[] = [];
  let composite = io.desired?.composite;
  let closed = false;

  function writable(what: string): void {
    if (closed) throw new Error(`${what} after the handler ended: await everything that it starts`);
  }
  function put(name: string, resource: JsonObject, options: EntryOptions | undefined): void {
    if (name === "") throw new TypeError("a desired resource needs a name");
    const entry = { ...entries.get(name), name, resource } as DesiredResource;
    if (options?.connectionDetails !== undefined) {
      entry.connectionDetails = copyJson(options.connectionDetails, `${name}: connectionDetails`) as ConnectionDetail[];
    }
    if (options?.readinessChecks !== undefined) {
      entry.readinessChecks = copyJson(options.readinessChecks, `${name}: readinessChecks`) as ReadinessCheck[];
    }
    entries.set(name, entry);
  }
  function patchComposite(fields: JsonObject): void {
    const xr = io.observed.composite?.resource;
    const identity = newObject();
    const metadata = newObject();
    for (const field of ["apiVersion", "kind"]) if (xr?.[field] !== undefined) identity[field] = xr[field];
    for (const field of ["name", "namespace"])
      if (xr?.metadata?.[field] !== undefined) metadata[field] = xr.metadata[field];
    identity["metadata"] = metadata;
    composite = { ...composite, resource: overlayJson(composite?.resource ?? identity, fields) as KubernetesObject };
  }

  const desired: DesiredState = {
    composite: {
      status(fields) {
        writable("desired.composite.status");
        const patch = newObject();
        patch["status"] = copyJson(fields, "status");
        patchComposite(patch);
      },
      patch(fields) {
        writable("desired.composite.patch");
        patchComposite(copyJson(fields, "composite") as JsonObject);
      },
      connectionDetail(name, value) {
        writable("desired.composite.connectionDetail");
        // A number that slips through a cast would be refused by the pipeline, far from here. The value is secret.
        if (typeof value !== "string") throw new TypeError(`connection detail ${name} is not a string`);
        const others = (composite?.connectionDetails ?? []).filter((detail) => detail.name !== name);
        composite = { ...composite, connectionDetails: [...others, { name, value }] };
      },
    },
    names: () => [...entries.keys()],
    resource<T extends object>(name: string) {
      return freezeJson(entries.get(name)?.resource) as unknown as DeepReadonly<T> | null | undefined;
    },
    apply(name, resource, options) {
      writable(`desired.apply("${name}")`);
      const copy = copyJson(resource, name) as KubernetesObject;
      const earlier = entries.get(name)?.resource;
      if (earlier && (earlier.kind !== copy.kind || earlier.apiVersion !== copy.apiVersion)) {
        throw new Error(
          `desired.apply("${name}", ${copy.apiVersion} ${copy.kind}): an earlier step desired a ${earlier.apiVersion} ` +
            `${earlier.kind} under this name; choose another name, or replace it with desired.set`,
        );
      }
      put(name, (earlier ? overlayJson(earlier, copy) : copy) as JsonObject, options);
    },
    set(name, resource, options) {
      writable(`desired.set("${name}")`);
      const copy = copyJson(resource, name) as JsonObject;
      entries.delete(name);
      put(name, copy, options);
    },
    patch(name, fields, options) {
      writable(`desired.patch("${name}")`);
      const earlier = entries.get(name)?.resource;
      if (!earlier) throw new Error(`desired.patch("${name}"): no earlier step desired it; use desired.apply`);
      put(name, overlayJson(earlier, copyJson(fields, name)) as JsonObject, options);
    },
    delete(name) {
      writable(`desired.delete("${name}")`);
      entries.set(name, { name, resource: null });
    },
    prune(predicate) {
      writable("desired.prune");
      for (const { name, resource } of observed.values()) {
        if (entries.has(name) || !predicate({ name, resource: freezeJson(resource) as DeepReadonly<KubernetesObject> }))
          continue;
        entries.set(name, { name, resource: null });
      }
    },
  };
  return {
    added,
    desired,
    observed: {
      connectionDetails: detailsOf(io.observed.composite?.connectionDetails),
      names: () => [...observed.keys()],
      resource<T extends object>(name: string) {
        return freezeJson(observed.get(name)?.resource) as unknown as DeepReadonly<T> | undefined;
      },
      connectionDetailsOf: (name) => detailsOf(observed.get(name)?.connectionDetails),
    },
    results: {
      normal(message) {
        writable("results.normal");
        added.push({ severity: "Normal", message: String(message) });
      },
      warning(message) {
        writable("results.warning");
        added.push({ severity: "Warning", message: String(message) });
      },
    },
    close() {
      closed = true;
      const { composite: _composite, resources: _resources, ...unknown } = io.desired ?? {};
      const state: Desired = unknown;
      if (composite !== undefined) state.composite = composite;
      if (entries.size > 0) state.resources = [...entries.values()];
      return state;
    },
  };
}

function detailsOf(details: readonly ExplicitConnectionDetail[] | undefined): Readonly<Record<string, string>> {
  const map = newObject() as Record<string, string>;
  for (const { name, value } of details ?? []) map[name] = value;
  return Object.freeze(map);
}
