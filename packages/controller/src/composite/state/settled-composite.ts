import { type Composition, callsFunctions, type Layout } from "@xfn/composition";
import { type Definition, layoutOfDefinition } from "@xfn/composition/definition";
import type { LiveObject, ResourceKind } from "@xfn/kubernetes";
import { secretReferenceOf } from "../../objects/connection-secrets.ts";
import type { Context } from "../../objects/context.ts";
import { hasElapsed } from "../../objects/elapsed.ts";
import { isBeingDeleted, isControlledBy } from "../../objects/owner.ts";
import { recordedReferences } from "../../objects/references.ts";
import { selectRevision } from "../../revision/select-revision.ts";

// The engine's polls may run a tenth of the interval early.
const DUE_AFTER_INTERVALS = 0.9;

/** A composed resource that an XR has recorded. */
interface Recorded {
  readonly kind: ResourceKind;
  readonly name: string;
  readonly namespace: string | undefined;
}

/** Everything that determines the result of a reconcile: the XR, its revision and its composed resources, as cached. */
type Inputs = readonly LiveObject[];

/**
 * Recognizes reconciles of an XR that would change nothing. Templates are pure. They render the same from the same
 * cached objects as in the last reconcile, if that succeeded without a requeue. Each change of such an object is an
 * event, so polls of 20,000 XRs can be rare.
 */
export class SettledInputs {
  #last: Inputs | undefined;
  #since = 0;
  #recorded: readonly Recorded[] | undefined;
  #recordedBy: LiveObject | undefined;

  /** Whether these inputs settled the XR. */
  has(inputs: Inputs | undefined): boolean {
    const last = this.#last;
    if (inputs === undefined || last === undefined || inputs.length !== last.length) return false;
    // A cache replaces an object when it changes, so object identity identifies the version.
    return inputs.every((input, index) => input === last[index]);
  }

  /**
   * Whether a complete reconcile is due even with the same inputs: a poll also drops the process's records of earlier
   * writes.
   */
  isDue({ now, pollIntervalMs }: Pick<Context, "now" | "pollIntervalMs">): boolean {
    return hasElapsed(this.#since, now(), pollIntervalMs * DUE_AFTER_INTERVALS);
  }

  /** The references that an XR has recorded, if the XR is unchanged since the last reconcile that settled it. */
  recordedBy(xr: LiveObject): readonly Recorded[] | undefined {
    return this.#last !== undefined && this.#recordedBy === xr ? this.#recorded : undefined;
  }

  /** Records the references of an XR. */
  record(xr: LiveObject, recorded: readonly Recorded[]): void {
    this.#recordedBy = xr;
    this.#recorded = recorded;
  }

  /**
   * Records the inputs with which a reconcile began; undefined unless it settled the XR.
   *
   * @param since when, in milliseconds since the epoch
   */
  set(inputs: Inputs | undefined, since = 0): void {
    this.#last = inputs;
    this.#since = since;
  }
}

/**
 * The inputs of a reconcile, if caches have all of them. Undefined if it has other inputs: functions, an environment
 * and Secrets are read again in each reconcile.
 *
 * @param xr as cached
 */
export async function cachedInputs(
  context: Context,
  definition: Definition,
  xr: LiveObject,
  settled: SettledInputs,
  signal: AbortSignal,
): Promise<Inputs | undefined> {
  const { composed } = context;
  const layout = layoutOfDefinition(definition);
  if (composed === undefined || isBeingDeleted(xr) || secretReferenceOf(xr, layout) !== undefined) return undefined;
  const inputs = [xr];
  try {
    const { composition, revision } = await selectRevision(context, definition, xr, signal);
    if (!isPure(composition)) return undefined;
    inputs.push(revision);
    const known = settled.recordedBy(xr);
    const recorded = known ?? (await recordedIn(context, xr, layout, signal));
    if (known === undefined) settled.record(xr, recorded);
    for (const { kind, name, namespace } of recorded) {
      const object = composed.cache(kind)?.get(name, namespace);
      // The XR receives events only for objects that it controls.
      if (object === undefined || !isControlledBy(object, xr)) return undefined;
      inputs.push(object);
    }
  } catch {
    // The reconcile finds the same problem, and reports it.
    return undefined;
  }
  return inputs;
}

/** @throws {ApiError} if the server does not serve a kind */
async function recordedIn(
  { client }: Context,
  xr: LiveObject,
  layout: Layout,
  signal: AbortSignal,
): Promise<readonly Recorded[]> {
  const recorded: Recorded[] = [];
  for (const { apiVersion, kind, name, namespace } of recordedReferences(xr, layout))
    recorded.push({ kind: await client.kind(apiVersion, kind, { signal }), name, namespace });
  return recorded;
}

/** Whether a Composition consists only of templates that read no Secrets. */
function isPure(composition: Composition): boolean {
  const { environment, resources } = composition.spec;
  if (callsFunctions(composition) || environment !== undefined) return false;
  return resources.every(({ connectionDetails }) => (connectionDetails ?? []).length === 0);
}
