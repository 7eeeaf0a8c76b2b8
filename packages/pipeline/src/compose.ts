import {
  ConnectionDetailError,
  ConnectionDetails,
  extractConnectionDetails,
  isReady,
  isReadyUnobserved,
  ReadinessError,
} from "@xfn/composition";
import type { Desired, DesiredResource, KubernetesObject, ObservedResource } from "@xfn/functionio";
import { identify } from "./identity.ts";
import type { CompositeResource } from "./observed.ts";

/** A composed resource that is to be applied. */
export interface ComposedResource {
  /** The name of its entry in `desired.resources`. */
  name: string;
  /** What to apply: what the functions desire, with the name, labels, annotation and owner that make it the XR's. */
  resource: KubernetesObject;
  /** The object that exists for this entry. Absent: it is to be created. */
  observed?: KubernetesObject;
  /** Whether what was observed passes the readiness checks. */
  ready: boolean;
}

/** What {@link compose} is given. */
export interface ComposeInput {
  composite: CompositeResource;
  desired: Desired;
  observed: readonly ObservedResource[];
  /** Delete what exists and nothing desires. */
  deleteUndesired: boolean;
}

/** What is to become of the composed resources. */
export interface Composed {
  composed: ComposedResource[];
  deleted: string[];
  connectionDetails: ConnectionDetails;
  warnings: string[];
}

/** Turns desired state into what is to be applied and deleted, and what the XR publishes. Everything in stable order. */
export function compose(input: ComposeInput): Composed {
  const { composite, desired } = input;
  const observed = new Map(input.observed.map((entry) => [entry.name, entry]));
  const entries = (desired.resources ?? []).toSorted((a, b) => compareNames(a.name, b.name));
  const details = new DetailCollector(desired);
  const composed: ComposedResource[] = [];
  const deleted: string[] = [];
  const warnings: string[] = [];
  for (const entry of entries) {
    const { name, resource } = entry;
    if (resource === null) {
      deleted.push(name);
      continue;
    }
    const existing = observed.get(name);
    const identified = identify(name, resource, composite, existing?.resource);
    const warn = (message: string): number => warnings.push(`composed resource ${JSON.stringify(name)}: ${message}`);
    identified.warnings.forEach(warn);
    details.add(entry, existing, existing?.resource ?? identified.resource, warn);
    composed.push({
      name,
      resource: identified.resource,
      ...(existing && { observed: existing.resource }),
      ready: readiness(entry, existing, warn),
    });
  }
  if (input.deleteUndesired) {
    const desiredNames = new Set(entries.map((entry) => entry.name));
    deleted.push(...[...observed.keys()].filter((name) => !desiredNames.has(name)));
  }
  return { composed, deleted: deleted.toSorted(compareNames), connectionDetails: details.collected(), warnings };
}

/** One check that cannot be evaluated makes its resource unready, not the whole XR a failure. */
function readiness(
  entry: DesiredResource,
  existing: ObservedResource | undefined,
  warn: (message: string) => void,
): boolean {
  if (existing === undefined) return isReadyUnobserved(entry.readinessChecks);
  try {
    return isReady(existing.resource, entry.readinessChecks);
  } catch (error) {
    if (!(error instanceof ReadinessError)) throw error;
    warn(`cannot tell whether it is ready: ${error.message}`);
    return false;
  }
}

/** Collects what the XR publishes: what functions said outright, then what composed resources add, by entry name. */
class DetailCollector {
  readonly #values: Map<string, string> = new Map();
  readonly #origins: Map<string, string> = new Map();

  constructor(desired: Desired) {
    for (const { name, value } of desired.composite?.connectionDetails ?? []) {
      this.#values.set(name, value);
      this.#origins.set(name, "desired.composite");
    }
  }

  add(
    entry: DesiredResource,
    existing: ObservedResource | undefined,
    resource: KubernetesObject,
    warn: (message: string) => void,
  ): void {
    if (!entry.connectionDetails?.length) return;
    const secret = new Map(existing?.connectionDetails?.map(({ name, value }) => [name, value]));
    try {
      for (const [name, value] of extractConnectionDetails({ details: entry.connectionDetails, resource, secret })) {
        const origin = this.#origins.get(name);
        if (origin !== undefined) warn(`its connection detail ${JSON.stringify(name)} replaces that of ${origin}`);
        this.#values.set(name, value);
        this.#origins.set(name, `composed resource ${JSON.stringify(entry.name)}`);
      }
    } catch (error) {
      if (!(error instanceof ConnectionDetailError)) throw error;
      warn(`publishes no connection details: ${error.message}`);
    }
  }

  collected(): ConnectionDetails {
    return new ConnectionDetails(this.#values);
  }
}

/** By code unit, as Go compares ASCII: the same order everywhere, whatever the locale. */
function compareNames(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
