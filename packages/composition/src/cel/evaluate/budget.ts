import { allowVisits, EXCEEDED, MAX_VISITS } from "../values/visit.ts";

/** The limit of one expression, as in an API server. A unit is about 50 ns of a server. */
const MAX_COST = 1_000_000;

/** The limit of all rules of one value, as in an API server. */
const MAX_TOTAL_COST = 10_000_000;

/** Counts the cost of expressions, and stops one that exceeds its limit. */
export class Budget {
  #cost = 0;
  #left = MAX_TOTAL_COST;
  #visits = MAX_VISITS;

  add(cost: number): void {
    this.#cost += cost;
    if (this.#cost > MAX_COST) throw EXCEEDED;
  }

  /**
   * Evaluates an expression. Returns undefined if it exceeds its own limit, or the rest of the total limit.
   */
  run<T>(evaluate: () => T): T | undefined {
    this.#cost = 0;
    allowVisits(this.#visits);
    try {
      const result = evaluate();
      this.#left -= this.#cost;
      return this.#left < 0 ? undefined : result;
    } catch (error) {
      // A RangeError means a stack overflow, or a text that is too long for JavaScript.
      if (error === EXCEEDED || error instanceof RangeError) return undefined;
      throw error;
    } finally {
      this.#visits = allowVisits(MAX_VISITS);
    }
  }

  /** Whether no further rule may run. */
  get exhausted(): boolean {
    return this.#left <= 0;
  }
}
