import type { Desired } from "./functionio.ts";

/**
 * What the desired state, an overlay on the observed state, says of a composed resource:
 *
 * - `Present`: apply it, exactly what is named; fields of others survive
 * - `Deleted`: delete it (`resource: null`)
 * - `Absent`: leave what exists alone; not created, changed, deleted, or counted
 */
export type EntryState = "Present" | "Deleted" | "Absent";

/** What a desired state says of the entry of a name. */
export function entryState(desired: Desired | undefined, name: string): EntryState {
  const entry = desired?.resources?.find((resource) => resource.name === name);
  if (entry === undefined) return "Absent";
  return entry.resource === null ? "Deleted" : "Present";
}
