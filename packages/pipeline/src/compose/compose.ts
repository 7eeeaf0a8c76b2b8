import {
  ConnectionDetailError,
  ConnectionDetails,
  extractConnectionDetails,
  isReady,
  isReadyUnobserved,
  ReadinessError,
  type ReadinessSource,
} from "@xfn/composition";
import type {
  Desired,
  DesiredResource,
  ExplicitConnectionDetail,
  ObservedResource,
  ReadinessCheck,
} from "@xfn/functionio";
import type { KubernetesObject } from "@xfn/json";
import type { CompositeResource } from "../observed/observed-entries.ts";
import { type Identify, identify } from "./identity.ts";
import type { TemplateExtras } from "./template-extras.ts";

/** A composed resource to apply. */
export interface ComposedResource {
  /** The name of its entry in `desired.resources`. */
  name: string;
  /** The resource to apply: the desired fields, with the name, labels, annotation and owner that tie it to the XR. */
  resource: KubernetesObject;
  /** The existing object of this entry. Absent if it must be created. */
  observed?: KubernetesObject;
  /** Whether the observed object passes the readiness checks. */
  ready: boolean;
}

/** The input of {@link compose}. */
export interface ComposeInput {
  composite: CompositeResource;
  desired: Desired;
  /** The observed connection details of the XR that stay published. Other details of the same names replace them. */
  passedOn?: readonly ExplicitConnectionDetail[];
  observed: readonly ObservedResource[];
  /** Readiness checks and connection details of the templates, by entry name. They are added to those of functions. */
  templates?: ReadonlyMap<string, TemplateExtras>;
  /** The entries whose templates failed. Unless a function desires them, their existing objects stay. */
  failed?: ReadonlySet<string>;
  /** Default: {@link identify}. */
  identify?: Identify;
  /** Readiness of the entries that function packages decide; undefined if not reported. Other entries have checks. */
  ready?: ReadonlyMap<string, boolean | undefined>;
  /** Whether to delete existing objects that nothing desires. */
  deleteUndesired: boolean;
}

/** The actions for composed resources, in a stable order. */
export interface Composed {
  composed: ComposedResource[];
  deleted: string[];
  unready: string[];
  connectionDetails: ConnectionDetails;
  warnings: string[];
  /** Warnings with Crossplane's reasons and messages. */
  events: { reason: string; message: string }[];
}

const NONE: TemplateExtras = { readinessChecks: [], connectionDetails: [] };

/**
 * Turns desired state into resources to apply, entries to delete and connection details to publish, in a stable order.
 */
export function compose(input: ComposeInput): Composed {
  const { composite, desired } = input;
  const observed = new Map(input.observed.map((entry) => [entry.name, entry]));
  const entries = withFailed(desired.resources ?? [], input.failed).toSorted((a, b) => compareNames(a.name, b.name));
  const details = new DetailCollector(desired, input.passedOn ?? []);
  const composed: ComposedResource[] = [];
  const deleted: string[] = [];
  const unready: string[] = [];
  const warnings: string[] = [];
  const events: Composed["events"] = [];
  const identifyEntry = input.identify ?? identify;
  for (const { name, resource, entry } of entries) {
    if (resource === null) {
      deleted.push(name);
      continue;
    }
    const existing = observed.get(name);
    const template = input.templates?.get(name) ?? NONE;
    const warn = (message: string): number => warnings.push(`composed resource ${JSON.stringify(name)}: ${message}`);
    if (resource === undefined) {
      // Keep published details after one failed patch: workloads use them.
      if (existing !== undefined) details.add({ name }, template, existing, existing.resource, warn);
      unready.push(name);
      continue;
    }
    const identified = identifyEntry(name, resource, composite, existing?.resource);
    identified.warnings.forEach(warn);
    if (identified.event !== undefined) events.push(identified.event);
    details.add(entry, template, existing, existing?.resource ?? identified.resource, warn);
    const ready = input.ready?.has(name) ? input.ready.get(name) === true : readiness(entry, template, existing, warn);
    if (!ready) unready.push(name);
    composed.push({
      name,
      resource: identified.resource,
      ...(existing && { observed: existing.resource }),
      ready,
    });
  }
  if (input.deleteUndesired) {
    const known = new Set(entries.map((entry) => entry.name));
    deleted.push(...[...observed.keys()].filter((name) => !known.has(name)));
  }
  const connectionDetails = details.collected();
  return { composed, deleted: deleted.toSorted(compareNames), unready, connectionDetails, warnings, events };
}

/** A desired entry, or an entry whose template failed, which has no resource. */
interface Entry {
  name: string;
  resource: KubernetesObject | null | undefined;
  entry: Extras;
}

/** The parts of an entry other than its resource. */
type Extras = Pick<DesiredResource, "name" | "readinessChecks" | "connectionDetails">;

function withFailed(desired: readonly DesiredResource[], failed: ReadonlySet<string> | undefined): Entry[] {
  const entries: Entry[] = desired.map((entry) => ({ name: entry.name, resource: entry.resource, entry }));
  if (failed === undefined || failed.size === 0) return entries;
  const repaired = new Set(desired.map((entry) => entry.name));
  for (const name of failed) if (!repaired.has(name)) entries.push({ name, resource: undefined, entry: { name } });
  return entries;
}

/** A check that cannot be evaluated makes its resource unready. It does not fail the XR. */
function readiness(
  { readinessChecks }: Extras,
  template: TemplateExtras,
  existing: ObservedResource | undefined,
  warn: (message: string) => void,
): boolean {
  const own = readinessChecks ?? [];
  if (existing === undefined) return isReadyUnobserved([...template.readinessChecks, ...own]);
  // Without any check, the Ready condition decides.
  if (template.readinessChecks.length === 0) return check(existing.resource, own, "function", warn);
  if (!check(existing.resource, template.readinessChecks, "template", warn)) return false;
  return own.length === 0 || check(existing.resource, own, "function", warn);
}

function check(
  resource: KubernetesObject,
  checks: readonly ReadinessCheck[],
  source: ReadinessSource,
  warn: (message: string) => void,
): boolean {
  try {
    return isReady(resource, checks, source);
  } catch (error) {
    if (!(error instanceof ReadinessError)) throw error;
    warn(`cannot tell whether it is ready: ${source === "template" ? "its template's " : ""}${error.message}`);
    return false;
  }
}

/**
 * Collects the connection details of the XR: those that functions passed on or set, then those of composed resources by
 * entry name.
 */
class DetailCollector {
  readonly #values: Map<string, string> = new Map();
  readonly #origins: Map<string, string> = new Map();

  constructor(desired: Desired, passedOn: readonly ExplicitConnectionDetail[]) {
    for (const { name, value } of passedOn) this.#values.set(name, value);
    for (const { name, value } of desired.composite?.connectionDetails ?? []) {
      this.#values.set(name, value);
      this.#origins.set(name, "desired.composite");
    }
  }

  /** Adds the details of the template and the function. The function's detail wins over the template's of that name. */
  add(
    entry: Extras,
    template: TemplateExtras,
    existing: ObservedResource | undefined,
    resource: KubernetesObject,
    warn: (message: string) => void,
  ): void {
    const own = entry.connectionDetails ?? [];
    if (template.connectionDetails.length === 0 && own.length === 0) return;
    const secret = new Map(existing?.connectionDetails?.map(({ name, value }) => [name, value]));
    const extracted = new Map<string, string>();
    for (const details of [template.connectionDetails, own]) {
      try {
        for (const [name, value] of extractConnectionDetails({ details, resource, secret })) extracted.set(name, value);
      } catch (error) {
        if (!(error instanceof ConnectionDetailError)) throw error;
        const whose = details === own ? "" : "its template's ";
        warn(`publishes no connection details of these: ${whose}${error.message}`);
      }
    }
    for (const [name, value] of extracted) {
      const origin = this.#origins.get(name);
      if (origin !== undefined) warn(`its connection detail ${JSON.stringify(name)} replaces that of ${origin}`);
      this.#values.set(name, value);
      this.#origins.set(name, `composed resource ${JSON.stringify(entry.name)}`);
    }
  }

  collected(): ConnectionDetails {
    return new ConnectionDetails(this.#values);
  }
}

/** Compares by code unit, as Go does for ASCII, so that the order does not depend on the locale. */
function compareNames(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
