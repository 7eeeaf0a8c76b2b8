/**
 * Whether a time has elapsed since a moment. All values are in milliseconds. If the wall clock was set back, the time
 * counts as elapsed, because the age of the known state is unknown.
 */
export function hasElapsed(since: number, now: number, ms: number): boolean {
  const age = now - since;
  return age < 0 || age >= ms;
}
