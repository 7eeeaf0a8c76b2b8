import type { Arbitrary } from "fast-check";

/** Something of ours that takes hostile input. */
export interface Target<T = unknown> {
  /** Inputs, from nearly valid to absurd. */
  input: Arbitrary<T>;
  /**
   * Feeds one input to our code. May throw a typed error (one with a code), which is an answer; anything else that is
   * thrown is a finding. Runs again on the same input if it was slow, so it must not change it.
   */
  run(input: T): void;
}

/** A target's input and what is done with it, of one type. */
export function target<T>(definition: Target<T>): Target {
  return definition as Target;
}
