import type { Action } from "./action.ts";

/** Everything that a reconcile writes before it knows the answers, in order. Empty if all is as desired. */
export interface Plan<As extends string = "own"> {
  readonly stages: readonly Stage<As>[];
}

/** Actions that do not depend on each other, unless they write the same object: those run in their order. */
export interface Stage<As extends string = "own"> {
  readonly name: string;
  readonly actions: readonly Action<As>[];
  /** What a failed action prevents: all later actions of the plan, or only those on the same object. */
  readonly onFailure: "stop" | "collect";
  /** Whether it is skipped after a failure in an earlier stage. Default: no. */
  readonly needs?: "no failure" | undefined;
}
