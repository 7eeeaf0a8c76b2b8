import { AppliedMemory } from "../objects/apply-changed.ts";
import { OwnWrites } from "../objects/own-writes.ts";

/**
 * What a process remembers of one XR between reconciles. It only saves requests and events: with an empty memory the same comes
 * about.
 */
export interface CompositeMemory {
  readonly uid: string;
  readonly own: OwnWrites;
  readonly applied: AppliedMemory;
  /** What the last reconcile told by events: what it tells again is not news. */
  said: ReadonlySet<string>;
  /** Conflicts in a row. */
  conflicts: number;
}

/** Of an XR that is new to this process. */
export function emptyMemory(uid: string, now: () => number): CompositeMemory {
  return { uid, own: new OwnWrites(now), applied: new AppliedMemory(), said: new Set(), conflicts: 0 };
}
