import { Failure, type Value } from "../values/value.ts";
import type { Budget } from "./budget.ts";

/** The state of one evaluation. */
export interface Frame {
  readonly budget: Budget;
  /** The values of the variables, at their places. */
  readonly values: (Value | undefined)[];
}

/** A part of an expression, ready to run. */
export type Step = (frame: Frame) => Value;

/** No function takes values of these types. */
export const NO_OVERLOAD: Failure = new Failure("no such overload");
