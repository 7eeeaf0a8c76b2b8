/**
 * The most steps of one rule, like Kubernetes' cost limit of a single call. A step is one evaluated node of the
 * expression. Long texts and lists count as several.
 */
const MAX_RULE_STEPS = 1_000_000;

/** The most steps of all rules of one value, like Kubernetes' limit for an object: a second or two. */
const MAX_STEPS_PER_VALUE = 10_000_000;

/** A rule exceeded its steps. One shared object, because loops can throw it a million times while they unwind. */
const EXCEEDED = new Error("the rule takes too many steps");

/** Counts the steps of rules, and stops a rule that exceeds its budget. */
export class Meter {
  #rule = 0;
  #total = 0;

  /** Starts the next rule. */
  start(): void {
    this.#total += this.#rule;
    this.#rule = 0;
  }

  /** Whether the rule was stopped. Its result is void then, because `||` and loops swallow errors. */
  get exceeded(): boolean {
    return this.#rule > MAX_RULE_STEPS || this.exhausted;
  }

  /** Whether no further rule may run. */
  get exhausted(): boolean {
    return this.#total + this.#rule > MAX_STEPS_PER_VALUE;
  }

  /** Counts one evaluated node, and returns its result. */
  count(result: unknown): void {
    let steps = 1;
    // Equality, `in`, concatenation and regular expressions may read all of a text or a list.
    if (typeof result === "string") steps += result.length >> 4;
    else if (Array.isArray(result)) steps += result.length >> 2;
    else if (result instanceof Map) steps += result.size >> 2;
    this.#rule += steps;
    this.check();
  }

  /** @throws when the rule exceeds its steps */
  check(): void {
    if (this.#rule > MAX_RULE_STEPS || this.#total + this.#rule > MAX_STEPS_PER_VALUE) throw EXCEEDED;
  }
}
