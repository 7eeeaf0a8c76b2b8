import { type Composition, callsFunctions } from "@xfn/composition";
import type { LiveObject, ResourceKind } from "@xfn/kubernetes";
import type { Actor } from "../../account/actor.ts";
import type { ComposedWatches } from "../../objects/context.ts";
import { isNewer } from "../../objects/own-writes.ts";

/**
 * The state after a reconcile that called functions, wrote, and left the XR Ready. Its own writes cause another run,
 * because functions must see the applied objects, but no caller waits for that run.
 */
export interface CompletedRun {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly xr: LiveObject;
  readonly composed: readonly { readonly kind: ResourceKind; readonly object: LiveObject }[];
}

/** The part of a reconcile's port that is read here. */
interface CompletedPort {
  readonly actors: { readonly xr: Pick<Actor, "client"> };
  readonly clock: { readonly now: () => number; readonly signal: AbortSignal };
  readonly shown: { readonly hasWritten: boolean };
}

/** The result of a reconcile. */
export interface EndedRun {
  readonly composition: Composition;
  /** The XR before the reconcile. */
  readonly before: LiveObject;
  readonly xr: LiveObject;
  /** The composed resources after the apply. */
  readonly applied: readonly LiveObject[];
}

/**
 * The state after a successful reconcile. Undefined if it wrote nothing or called no functions: rendering templates
 * takes less time than a run would be postponed.
 */
export async function completedRun(
  { actors, clock, shown }: CompletedPort,
  { applied, before, composition, xr }: EndedRun,
): Promise<CompletedRun | undefined> {
  const isUnchanged = !shown.hasWritten && xr.metadata.resourceVersion === before.metadata.resourceVersion;
  if (!callsFunctions(composition) || isUnchanged) return undefined;
  const kinds = applied.map(({ apiVersion, kind }) => actors.xr.client.kind(apiVersion, kind, clock));
  const composed = (await Promise.all(kinds)).flatMap((kind, index) => {
    const object = applied[index];
    return object === undefined ? [] : [{ kind, object }];
  });
  return { at: clock.now(), xr, composed };
}

/** Whether the caches show nothing newer than a run's own writes, so that these caused all events since. */
export function isOwnEcho(run: CompletedRun, xr: LiveObject, composed: Pick<ComposedWatches, "cache">): boolean {
  if (isNewer(xr, run.xr)) return false;
  return run.composed.every(({ kind, object }) => {
    const cached = composed.cache(kind)?.get(object.metadata.name, object.metadata.namespace);
    return cached === undefined || !isNewer(cached, object);
  });
}
