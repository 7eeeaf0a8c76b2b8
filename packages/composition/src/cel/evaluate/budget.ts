/** The limit of one expression, as in an API server. A unit is about 50 ns of a server. */
const MAX_COST = 1_000_000;

/** The limit of all rules of one value, as in an API server. */
const MAX_TOTAL_COST = 10_000_000;

/** An expression exceeded its cost. One shared object, because only its identity matters. */
const EXCEEDED = new Error("the expression exceeds its cost");

/** Counts the cost of expressions, and stops one that exceeds its limit. */
export class Budget {
  #cost = 0;
  #left = MAX_TOTAL_COST;

  /** Adds the cost of a step. */
  add(cost: number): void {
    this.#cost += cost;
    if (this.#cost > MAX_COST) throw EXCEEDED;
  }

  /**
   * Evaluates an expression. Returns undefined if it exceeds its own limit, or what is left of the total one.
   */
  run<T>(evaluate: () => T): T | undefined {
    this.#cost = 0;
    try {
      const result = evaluate();
      this.#left -= this.#cost;
      return this.#left < 0 ? undefined : result;
    } catch (error) {
      if (error === EXCEEDED) return undefined;
      throw error;
    }
  }

  /** Whether no further rule may run. */
  get exhausted(): boolean {
    return this.#left <= 0;
  }
}
