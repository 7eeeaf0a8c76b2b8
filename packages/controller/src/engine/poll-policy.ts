import type { Outcome } from "@xfn/kubernetes";

// Spreads the polls of a thousand objects that were created at once over this part of the interval.
const JITTER = 0.2;
// Groups the polls that are due within this part of the interval, so that the process wakes up once for all of them.
const GROUPING = 0.01;

/**
 * The time until an unchanged object is reconciled again, in milliseconds: the interval, up to a tenth more or less,
 * rounded up so that several objects are due together.
 *
 * @param random from 0 to 1
 */
export function pollInMs(intervalMs: number, nowMs: number, random: number): number {
  const dueMs = nowMs + intervalMs * (1 - JITTER / 2 + JITTER * random);
  const groupMs = intervalMs * GROUPING;
  return Math.ceil(dueMs / groupMs) * groupMs - nowMs;
}

/** The outcome of a reconcile of an existing object: it is polled, unless the reconciler asks for an earlier time. */
export function withPoll(outcome: Outcome | undefined, intervalMs: number): Outcome {
  const pollMs = pollInMs(intervalMs, performance.now(), Math.random());
  return { requeueAfterMs: Math.min(outcome?.requeueAfterMs ?? pollMs, pollMs) };
}
