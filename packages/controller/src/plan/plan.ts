import type { Action } from "./action.ts";

/** All writes of a reconcile before it knows the server's answers, in order. Empty if everything is as desired. */
export interface Plan<As extends string = "own"> {
  readonly stages: readonly Stage<As>[];
}

/** Independent actions. Actions on the same object run in order. */
export interface Stage<As extends string = "own"> {
  readonly name: string;
  readonly actions: readonly Action<As>[];
  /**
   * The actions that a failed action prevents: all later actions of the plan, or only later actions on the same object.
   */
  readonly onFailure: "stop" | "collect";
  /** Whether the stage is skipped after a failure in an earlier stage. Default: no. */
  readonly needs?: "no failure" | undefined;
  /** The number of concurrent actions. Default: 1. More than one requires actions on different objects. */
  readonly lanes?: number | undefined;
}

/** Whether a plan changes nothing. */
export function isEmpty<As extends string>({ stages }: Plan<As>): boolean {
  return stages.every(({ actions }) => actions.length === 0);
}

/** A plan of one stage, in which a failure prevents all later actions. */
export function planInOrder<As extends string>(name: string, actions: readonly Action<As>[]): Plan<As> {
  return { stages: [{ name, actions, onFailure: "stop" }] };
}
