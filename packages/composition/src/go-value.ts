import type { JsonValue } from "@xfn/functionio";

/**
 * A float64 whose value is an integer that a JavaScript number holds exactly, such as the `2.0` that a `map` transform
 * returns for `2`. Go tells it from the int64 2 (`%d` prints `%!d(float64=2)`), JavaScript does not, hence this box.
 *
 * It lives between transforms only: what is written into a document is read again as JSON, where `2.0` becomes `2`.
 */
export class Float64 {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }

  /** The plain number. */
  toJSON(): number {
    return this.value;
  }
}

/**
 * A value as Go sees it while it is transformed. Numbers:
 *
 * - `number`, a safe integer: int64
 * - `bigint` within 64 bits: int64
 * - any other `number` (a fraction, beyond 2^53, NaN, infinite): float64
 * - {@link Float64}: float64 with the value of a safe integer
 */
export type GoValue = JsonValue | Float64;
