/**
 * Whether a time has passed since a moment. All are in milliseconds. The wall clock can go back, such as when it is
 * corrected: then the time counts as passed, because what is known may be of any age.
 */
export function hasElapsed(since: number, now: number, ms: number): boolean {
  const age = now - since;
  return age < 0 || age >= ms;
}
