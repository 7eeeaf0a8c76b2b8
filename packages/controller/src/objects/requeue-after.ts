import type { Outcome } from "@xfn/kubernetes";

/**
 * When a reconciler looks again by itself, in milliseconds, for changes that no watch reports. Every other reconcile
 * is due to an event, to the back-off of the queue, or to the poll.
 */
export const REQUEUE_AFTER_MS = {
  /** A CRD was written: the API server establishes it within some tens of milliseconds. */
  crdPending: 50,
  /** The same, and a watch reports it, unless the watch is broken. Of hundreds of CRDs the last one takes seconds. */
  watchedCrdPending: 5_000,
  /** A CRD without instances is being deleted. */
  crdDeletion: 100,
  /** Instances of a definition are being deleted, which takes as long as their composed resources take. */
  instancesDeletion: 1_000,
  /** The composite of a claim is being deleted. Its watch reports the end, unless the watch is broken. */
  compositeDeletion: 2_000,
  /** Composed resources are being deleted, perhaps of a kind that cannot be watched. */
  composedDeletion: 10_000,
  /** A function lets its response be used for a shorter time. */
  shortestTtl: 1_000,
  /** A user must act first, and not everything that a user can do is watched. */
  userAction: 10_000,
} as const;

/** The result of a reconcile of an object that is polled. */
export interface PolledOutcome extends Outcome {
  /**
   * Set if events report every change that the next reconcile could see, so that polls can be rare. `again`: the
   * previous reconcile saw the same.
   */
  readonly settled?: "first" | "again";
}

/** A reconciler of objects that are polled. */
export type PolledReconcile = (key: string, signal: AbortSignal) => Promise<PolledOutcome | undefined>;
