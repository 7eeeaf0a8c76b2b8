import type { Outcome } from "@xfn/kubernetes";
import type { PolledOutcome } from "../objects/requeue-after.ts";

// Spreads the polls of a thousand objects that were created at once over this part of the interval.
const JITTER = 0.2;
// Groups the polls that are due within this part of the interval, so that the process wakes up once for all of them.
const GROUPING = 0.01;
/**
 * The intervals between two polls of a settled object. A poll of 20,000 XRs takes some seconds of CPU time, and can
 * find only what a defect hid from the watches. Other controllers resync every ten hours by default:
 * https://pkg.go.dev/sigs.k8s.io/controller-runtime/pkg/cache#Options
 */
const SETTLED_INTERVALS = 60;

/**
 * The time until an unchanged object is reconciled again, in milliseconds: the interval, up to a tenth more or less,
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
 * The outcome of a reconcile of an existing object: it is polled, unless the reconciler asks for an earlier time.
 *
 * @param random from 0 to 1
 */
export function withPoll(
  outcome: PolledOutcome | undefined,
  intervalMs: number,
  nowMs: number = performance.now(),
  random: number = Math.random(),
): Outcome {
  const pollMs = pollInMs(intervalMs, nowMs, random, intervalsUntilPoll(outcome, random));
  return { requeueAfterMs: Math.min(outcome?.requeueAfterMs ?? pollMs, pollMs) };
}

/** The first polls of objects that settled at once are spread over all intervals, and so are their next ones. */
function intervalsUntilPoll(outcome: PolledOutcome | undefined, random: number): number {
  if (outcome?.settled === undefined) return 1;
  return outcome.settled === "again" ? SETTLED_INTERVALS : 1 + (SETTLED_INTERVALS - 1) * random;
}
