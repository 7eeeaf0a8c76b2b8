import type { LiveObject, ResourceKind } from "@xfn/kubernetes";
import type { ComposedWatches } from "../../objects/context.ts";
import { hasElapsed } from "../../objects/elapsed.ts";
import { isControlledBy } from "../../objects/owner.ts";

// The engine's polls may run a tenth of the interval early.
const DUE_AFTER_INTERVALS = 0.9;

/** A composed resource that a cache had. */
interface CachedRead {
  readonly kind: ResourceKind;
  readonly object: LiveObject;
}

/** The objects that a reconcile of an XR read, all from caches. */
interface Reads {
  /** As cached. */
  readonly xr: LiveObject;
  /** Undefined if none was selected, such as for a paused XR. */
  revision: LiveObject | undefined;
  readonly composed: CachedRead[];
}

/**
 * Recognizes reconciles of an XR that would change nothing. Templates are pure. They render the same from the same
 * cached objects as in the last reconcile, if that succeeded without a requeue. Each change of such an object is an
 * event, so polls of 20,000 XRs can be rare.
 *
 * The reads of a reconcile are recorded where they happen. A cache replaces an object when it changes, so object
 * identity identifies the version.
 */
export class SettledReads {
  /** Undefined if the reconcile needed something else. */
  #reads: Reads | undefined;
  /** When the reads settled the XR, in milliseconds since the epoch; undefined if they did not. */
  #since: number | undefined;

  /** Starts a reconcile. @param xr as cached */
  begin(xr: LiveObject): void {
    this.#reads = { xr, revision: undefined, composed: [] };
    this.#since = undefined;
  }

  sawRevision(revision: LiveObject): void {
    if (this.#reads !== undefined) this.#reads.revision = revision;
  }

  /** Records a read of a composed resource. @param object undefined if no cache has it */
  sawComposed(kind: ResourceKind, object: LiveObject | undefined): void {
    // The XR receives events only for objects that it controls.
    if (this.#reads === undefined || object === undefined || !isControlledBy(object, this.#reads.xr)) this.sawOther();
    else this.#reads.composed.push({ kind, object });
  }

  /** Records that the reconcile depends on something else, which each reconcile must read again. */
  sawOther(): void {
    this.#reads = undefined;
  }

  /** Ends a reconcile that changed nothing. @returns whether the same reads need no other reconcile */
  settle(now: number): boolean {
    this.#since = this.#reads && now;
    return this.#reads !== undefined;
  }

  /** Whether the last reconcile settled the XR, and would read the same objects again. */
  async isUnchanged(
    xr: LiveObject,
    composed: Pick<ComposedWatches, "cache">,
    select: () => Promise<{ readonly revision: LiveObject }>,
  ): Promise<boolean> {
    if (this.#reads === undefined || this.#since === undefined || xr !== this.#reads.xr) return false;
    const { revision, composed: objects } = this.#reads;
    // The reconcile finds the same problem, and reports it.
    if (revision !== undefined && revision !== (await select().catch(() => undefined))?.revision) return false;
    return objects.every(({ kind, object }) => {
      const { name, namespace } = object.metadata;
      return composed.cache(kind)?.get(name, namespace) === object;
    });
  }

  /**
   * Whether a complete reconcile is due even with the same reads: a poll also drops the process's records of earlier
   * writes.
   */
  isDue(now: number, pollIntervalMs: number): boolean {
    return hasElapsed(this.#since ?? 0, now, pollIntervalMs * DUE_AFTER_INTERVALS);
  }
}
