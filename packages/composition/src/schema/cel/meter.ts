/**
 * One rule may take a million steps, as Kubernetes' cost limit of a single call; a step is a node of the expression that
 * is evaluated, and long texts and lists count for more.
 */
export const MAX_RULE_STEPS = 1_000_000;

/** All rules of one value together, as Kubernetes' limit for an object: at most a second or two. */
export const MAX_STEPS_PER_VALUE = 10_000_000;

/** A rule took more steps than it may. One object for all, as it can be thrown a million times while loops unwind. */
const EXCEEDED = new Error("the rule takes too many steps");

/** Counts what the evaluation of rules costs, and stops it when it costs too much. */
export class Meter {
  #rule = 0;
  #total = 0;

  /** Begins the next rule. */
  start(): void {
    this.#total += this.#rule;
    this.#rule = 0;
  }

  /** Whether the rule has been stopped: what it returned means nothing then, as `||` and loops pass over errors. */
  get exceeded(): boolean {
    return this.#rule > MAX_RULE_STEPS || this.exhausted;
  }

  /** Whether no further rule may run. */
  get exhausted(): boolean {
    return this.#total + this.#rule > MAX_STEPS_PER_VALUE;
  }

  /** Counts one evaluated node and passes its result on. */
  count(result: unknown): void {
    let steps = 1;
    // Whoever gets a text or a list may walk all of it: equality, `in`, concatenation, regular expressions.
    if (typeof result === "string") steps += result.length >> 4;
    else if (Array.isArray(result)) steps += result.length >> 2;
    else if (result instanceof Map) steps += result.size >> 2;
    this.#rule += steps;
    this.check();
  }

  /** @throws when the rule has taken its steps */
  check(): void {
    if (this.#rule > MAX_RULE_STEPS || this.#total + this.#rule > MAX_STEPS_PER_VALUE) throw EXCEEDED;
  }
}
