import { type Composition, isComplete } from "@xfn/composition";
import type { KubernetesObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import type { PipelineResult } from "@xfn/pipeline";
import type { CompositeError } from "../../objects/composite-error.ts";
import { objectKey, referenceTo } from "../../objects/references.ts";
import { discoverKinds } from "../observe/discover-kinds.ts";
import { locate } from "../observe/locate.ts";
import type { ObservedComposed } from "../observe/observe-composed.ts";
import { type Applicable, applicables } from "../plan/applicable.ts";
import { type CompositePlan, planComposite } from "../plan/plan-composite.ts";
import { refuseOutside } from "../plan/refuse-outside.ts";
import { refuseUnnamed } from "../plan/refuse-unnamed.ts";
import type { ComposedRun } from "../run/compose.ts";
import type { CompositePort, Subject } from "../state/composite-port.ts";

/** The writes of a run. */
export interface RunPlan extends CompositePlan {
  /** The desired XR. Absent if no template or function desires a field of it. */
  readonly desired: KubernetesObject | undefined;
  /** Why resources are not applied, by entry. */
  readonly refused: ReadonlyMap<string, CompositeError>;
}

/**
 * Plans the writes of a run, in the order of {@link planComposite}. Reads only how the server serves the kinds of
 * resources, and the objects that already have their names.
 *
 * @throws {CompositeError | ApiError} if nothing of the run may be written
 */
export async function planRun(
  port: CompositePort,
  { definition, layout, memory, xr }: Subject,
  { composition, changes, observed, run }: ComposedRun,
): Promise<RunPlan> {
  const { actors, clock, limits, shown } = port;
  const resources = run.composed.map(({ resource }) => resource);
  const kinds = await discoverKinds(actors.xr.client, [...resources, ...observed.unnamed], clock.signal);
  refuseOutside({ definition, kinds, xr }, run);
  const { allowComposedSecrets, namespace: secretsNamespace } = limits;
  const found = applicables(run.composed, { xr, entries: observed.entries, kinds, allowComposedSecrets });
  for (const note of found.notes) shown.warn(note);
  refuseUnnamed(observed.unnamed, found.resources, { xr, layout, composition, kinds });
  const desired = run.desired.composite?.resource ?? nothingDesired(composition, xr);
  const plan = planComposite({
    xr,
    layout,
    composition,
    desired,
    changes,
    secretsNamespace,
    observed,
    applicables: found,
    located: await locate(actors.reader("composition"), xr.metadata.uid, found.resources.values()),
    undesired: undesiredObjects(run, observed, found.resources),
    memory,
  });
  return { ...plan, desired, refused: found.refused };
}

/** A run with `mode: Pipeline` is complete: an XR that no step mentions gives up the fields that earlier runs set. */
function nothingDesired(composition: Composition, { apiVersion, kind }: LiveObject): KubernetesObject | undefined {
  return isComplete(composition) ? { apiVersion, kind } : undefined;
}

/**
 * The objects of entries that are no longer desired. An object that now has another entry's name was renamed, and
 * stays.
 */
function undesiredObjects(
  { deleted }: PipelineResult,
  { entries }: ObservedComposed,
  resources: ReadonlyMap<string, Applicable>,
): LiveObject[] {
  return deleted.flatMap((name) => {
    const object = entries.get(name);
    return object === undefined || resources.has(objectKey(referenceTo(object))) ? [] : [object];
  });
}
