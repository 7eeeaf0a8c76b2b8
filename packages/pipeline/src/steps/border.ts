import { isReady, isReadyUnobserved, ReadinessError } from "@xfn/composition";
import type { FunctionResponse, State as FunctionState, ResourceState } from "@xfn/function-grpc";
import type { Desired, DesiredComposite, DesiredResource, ExplicitConnectionDetail, Observed } from "@xfn/functionio";
import type { KubernetesObject } from "@xfn/json";
import type { Hints } from "./step.ts";

// Converts between desired state as a FunctionIO and the messages of function packages. Each has parts that the other
// cannot contain: docs/reference/steps.md lists them.

/** Observed state for function packages. */
export function observedState({ composite, resources = [] }: Observed): FunctionState {
  return {
    ...(composite && { composite: resourceState(composite.resource ?? {}, composite.connectionDetails) }),
    resources: new Map(
      resources.map(({ name, resource, connectionDetails }) => [name, resourceState(resource, connectionDetails)]),
    ),
  };
}

/** Desired state for function packages. Entries that desire a deletion are left out: packages leave them out too. */
export function desiredState({ composite, resources = [] }: Desired, hints: Hints, observed: Observed): FunctionState {
  const existing = new Map(observed.resources?.map((entry) => [entry.name, entry.resource]));
  const present = new Map<string, ResourceState>();
  for (const entry of resources) {
    const { name, resource } = entry;
    if (resource === null) continue;
    const ready = hints.ready.has(name) ? hints.ready.get(name) : checked(entry, existing.get(name));
    const details = hints.details.get(name);
    present.set(name, {
      resource,
      ...(details && { connectionDetails: details }),
      ...(ready !== undefined && { ready }),
    });
  }
  return { ...(composite && { composite: compositeState(composite, hints) }), resources: present };
}

/** Evaluates the readiness checks of a FunctionIO step. Undefined without checks, so that a package can decide. */
function checked(
  { readinessChecks = [] }: DesiredResource,
  existing: KubernetesObject | undefined,
): boolean | undefined {
  if (readinessChecks.length === 0) return undefined;
  try {
    return existing === undefined ? isReadyUnobserved(readinessChecks) : isReady(existing, readinessChecks);
  } catch (error) {
    if (error instanceof ReadinessError) return false;
    throw error;
  }
}

function compositeState({ resource = {}, connectionDetails }: DesiredComposite, hints: Hints): ResourceState {
  const { binary, compositeReady } = hints;
  const state = resourceState(resource, connectionDetails);
  return {
    ...state,
    ...(binary.size > 0 && { connectionDetails: new Map([...binary, ...(state.connectionDetails ?? [])]) }),
    ...(compositeReady !== undefined && { ready: compositeReady }),
  };
}

function resourceState(resource: KubernetesObject, details: readonly ExplicitConnectionDetail[] = []): ResourceState {
  if (details.length === 0) return { resource };
  return { resource, connectionDetails: new Map(details.map(({ name, value }) => [name, Buffer.from(value)])) };
}

/** Desired state that a package returned. The hints are the parts of it that a FunctionIO cannot contain. */
export interface Returned {
  readonly desired: Desired;
  readonly hints: Hints;
}

/**
 * Takes the desired state that a package returned, which is complete. Keeps the parts that packages cannot return:
 * deletions, and the readiness checks and connection details of entries that are still desired.
 *
 * @param given the desired state that the package received
 */
export function takeDesired(
  response: Pick<FunctionResponse, "desired">,
  before: Desired,
  hints: Hints,
  given: FunctionState,
): Returned {
  const { composite, resources } = response.desired;
  const known = new Map(before.resources?.map((entry) => [entry.name, entry]));
  const entries: DesiredResource[] = [];
  const ready = new Map<string, boolean | undefined>();
  const details = new Map<string, ReadonlyMap<string, Uint8Array>>();
  // The order of a map on the wire is random.
  for (const [name, state] of [...resources].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const entry = known.get(name);
    known.delete(name);
    entries.push({ ...entry, name, resource: state.resource });
    // Checks of a FunctionIO step decide until a package reports another readiness.
    const decidedByChecks =
      entry?.resource && !hints.ready.has(name) && state.ready === given.resources.get(name)?.ready;
    if (!decidedByChecks) ready.set(name, state.ready);
    if (state.connectionDetails) details.set(name, state.connectionDetails);
  }
  for (const entry of known.values()) if (entry.resource === null) entries.push(entry);
  const xr = composite && compositeOf(composite);
  return {
    desired: { ...(xr && { composite: xr.desired }), ...(entries.length > 0 && { resources: entries }) },
    hints: { ready, details, binary: xr?.binary ?? new Map(), compositeReady: composite?.ready },
  };
}

function compositeOf({ resource, connectionDetails }: ResourceState): {
  desired: DesiredComposite;
  binary: ReadonlyMap<string, Uint8Array>;
} {
  const details: ExplicitConnectionDetail[] = [];
  const binary = new Map<string, Uint8Array>();
  for (const [name, bytes] of connectionDetails ?? []) {
    const value = textOf(bytes);
    if (value === undefined) binary.set(name, bytes);
    else details.push({ name, value });
  }
  details.sort((a, b) => (a.name < b.name ? -1 : 1));
  return { desired: { resource, ...(details.length > 0 && { connectionDetails: details }) }, binary };
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}
