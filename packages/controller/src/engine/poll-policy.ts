// Polls of a thousand objects that were made at once are spread over this part of the interval.
const JITTER = 0.2;
// Those that are due within the same hundredth of it are looked at together, so that a process wakes up once for all of them.
const TOGETHER = 0.01;

/**
 * In how many milliseconds an object that was looked at now is looked at again, if nothing happens: after the interval, a tenth
 * sooner or later, with others that are due then.
 *
 * @param random from 0 to 1
 */
export function pollInMs(intervalMs: number, nowMs: number, random: number): number {
  const dueMs = nowMs + intervalMs * (1 - JITTER / 2 + JITTER * random);
  const togetherMs = intervalMs * TOGETHER;
  return Math.ceil(dueMs / togetherMs) * togetherMs - nowMs;
}
