import type { LiveObject, Outcome } from "@xfn/kubernetes";
import { tryParseDuration } from "@xfn/units";
import { ANNOTATION_POLL_INTERVAL } from "./labels.ts";

/**
 * The requeue delays of reconcilers, in milliseconds, for changes that no watch reports. All other reconciles are
 * caused by an event, by the back-off of the queue, or by the poll.
 */
export const REQUEUE_AFTER_MS = {
  /** A CRD was written: the API server establishes it within tens of milliseconds. */
  crdPending: 50,
  /** The same, but a watch reports it unless the watch is broken. The last CRD of several hundred takes seconds. */
  watchedCrdPending: 5_000,
  /** A CRD without instances is being deleted. */
  crdDeletion: 100,
  /** Instances of a definition are being deleted, which takes as long as the deletion of their composed resources. */
  instancesDeletion: 1_000,
  /** The composite of a claim is being deleted. Its watch reports the end, unless the watch is broken. */
  compositeDeletion: 2_000,
  /** Composed resources are being deleted, perhaps of a kind that cannot be watched. */
  composedDeletion: 10_000,
  /** The object that uses another is being deleted, and its usage after it. */
  usingDeletion: 5_000,
  /** The lower bound for the time for which a function lets its response be used. */
  shortestTtl: 1_000,
  /** A user must act first, and not all actions of users are watched. */
  userAction: 10_000,
} as const;

const SHORTEST_POLL_MS = 1_000;

/** The interval in milliseconds at which an object asks to be polled; undefined for none or an invalid one. */
export function pollIntervalOf({ metadata }: LiveObject): number | undefined {
  const text = metadata.annotations?.[ANNOTATION_POLL_INTERVAL];
  const ms = text === undefined ? undefined : tryParseDuration(text);
  return ms === undefined || ms <= 0 ? undefined : Math.max(ms, SHORTEST_POLL_MS);
}

/** The result of a reconcile of a polled object. */
export interface PolledOutcome extends Outcome {
  /**
   * Set if events report every change that the next reconcile could see, so that polls can be rare. `again`: the
   * previous reconcile was settled with the same inputs.
   */
  readonly settled?: "first" | "again";
}

/** A reconciler of polled objects. */
export type PolledReconcile = (key: string, signal: AbortSignal) => Promise<PolledOutcome | undefined>;
