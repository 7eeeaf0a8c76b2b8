import type { Desired } from "./functionio.ts";

/**
 * What the desired state, an overlay on the observed state, says about a composed resource:
 *
 * - `Present`: apply exactly these fields; fields of other writers survive
 * - `Deleted`: delete it (`resource: null`)
 * - `Absent`: leave the existing object alone; it is not created, changed, deleted or counted
 */
export type EntryState = "Present" | "Deleted" | "Absent";

/** The state of an entry in desired state. */
export function entryState(desired: Desired | undefined, name: string): EntryState {
  const entry = desired?.resources?.find((resource) => resource.name === name);
  if (entry === undefined) return "Absent";
  return entry.resource === null ? "Deleted" : "Present";
}
