import type { Desired } from "./functionio.ts";

/**
 * A composed resource in the desired state, which is an overlay on the observed state:
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
