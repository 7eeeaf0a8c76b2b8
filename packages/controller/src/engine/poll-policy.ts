import type { Outcome } from "@xfn/kubernetes";
import type { PolledOutcome } from "../objects/requeue-after.ts";

// Spreads the polls of objects that were created together over this part of the interval.
const JITTER = 0.2;
// Groups polls that are due within this part of the interval, so that the process wakes up once for all of them.
const GROUPING = 0.01;
/**
 * The number of intervals between two polls of a settled object. A poll of 20,000 XRs takes several seconds of CPU
 * time, and finds only changes that the watches missed because of a defect. Other controllers resync every ten hours by
 * default: https://pkg.go.dev/sigs.k8s.io/controller-runtime/pkg/cache#Options
 */
const SETTLED_INTERVALS = 60;

/**
 * The time until a settled object is reconciled again, in milliseconds: the interval, varied by up to a tenth, and
 * rounded up so that several objects are due together.
 *
 * @param random from 0 to 1
 * @param intervals the number of intervals to wait
 */
export function pollInMs(intervalMs: number, nowMs: number, random: number, intervals = 1): number {
  const dueMs = nowMs + intervalMs * intervals * (1 - JITTER / 2 + JITTER * random);
  const groupMs = intervalMs * GROUPING;
  return Math.ceil(dueMs / groupMs) * groupMs - nowMs;
}

/**
 * The time in milliseconds until an object that is not settled is polled. Each object has its own offset within the
 * interval. Its next poll is at that offset, at least half an interval later. So functions are called evenly, even if
 * all objects were created, listed or changed at once.
 *
 * @param key identifies the object
 */
export function turnInMs(intervalMs: number, nowMs: number, key: string): number {
  const groupMs = intervalMs * GROUPING;
  const ownMs = Math.floor(placeOf(key) / GROUPING) * groupMs;
  const fromMs = nowMs + intervalMs / 2;
  return ownMs + Math.ceil((fromMs - ownMs) / intervalMs) * intervalMs - nowMs;
}

/**
 * The outcome of a reconcile of an existing object. The object is polled, unless the reconciler requests an earlier
 * time.
 *
 * @param key identifies the object
 * @param random from 0 to 1
 */
export function withPoll(
  outcome: PolledOutcome | undefined,
  intervalMs: number,
  key: string,
  nowMs: number = performance.now(),
  random: number = Math.random(),
): Outcome {
  const intervals = settledIntervals(outcome, random);
  const pollMs =
    intervals === undefined ? turnInMs(intervalMs, nowMs, key) : pollInMs(intervalMs, nowMs, random, intervals);
  return { requeueAfterMs: Math.min(outcome?.requeueAfterMs ?? pollMs, pollMs) };
}

/** The same for an object with an interval of its own, which holds even if nothing has changed. */
export function withOwnPoll(
  outcome: PolledOutcome | undefined,
  intervalMs: number,
  random: number = Math.random(),
): Outcome {
  const pollMs = intervalMs * (1 - JITTER / 2 + JITTER * random);
  return { requeueAfterMs: Math.min(outcome?.requeueAfterMs ?? pollMs, pollMs) };
}

/** Spreads the first polls of objects that settled at once over all intervals, and therefore also their next polls. */
function settledIntervals(outcome: PolledOutcome | undefined, random: number): number | undefined {
  if (outcome?.settled === undefined) return undefined;
  return outcome.settled === "again" ? SETTLED_INTERVALS : 1 + (SETTLED_INTERVALS - 1) * random;
}

/** A number from 0 to 1 (exclusive) that depends only on the text: FNV-1a, with its bits mixed once more. */
function placeOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return ((hash ^ (hash >>> 13)) >>> 0) / 2 ** 32;
}
