import type { Arbitrary } from "fast-check";

/** Code that reads hostile input. */
export interface Target<T = unknown> {
  /** Inputs, from nearly valid to absurd. */
  input: Arbitrary<T>;
  /**
   * Feeds one input to our code. A typed error, which has a code, is an answer. Any other error is a finding. Must not
   * change the input, because a slow input runs again.
   */
  run(input: T): void;
}

/** Checks that a target's input and function have one type. */
export function target<T>(definition: Target<T>): Target {
  return definition as Target;
}
