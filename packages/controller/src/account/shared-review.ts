import { hasElapsed } from "../objects/elapsed.ts";

/** A withdrawn right or a deleted account is noticed after this time. */
const FRESH_MS = 10_000;

/**
 * A question to the API server whose answer reconciles share. Only a positive answer is kept: each retry asks again.
 */
export class SharedReview {
  readonly #ask: (signal: AbortSignal) => Promise<boolean>;
  readonly #now: () => number;
  #asked: { readonly at: number; readonly signal: AbortSignal; readonly isYes: Promise<boolean> } | undefined;

  /** @param now milliseconds since the epoch */
  constructor(ask: (signal: AbortSignal) => Promise<boolean>, now: () => number) {
    this.#ask = ask;
    this.#now = now;
  }

  /** @throws {unknown} the error of the question, unless the signal of another caller was aborted */
  async isYes(signal: AbortSignal): Promise<boolean> {
    if (this.#asked === undefined || hasElapsed(this.#asked.at, this.#now(), FRESH_MS))
      this.#asked = { at: this.#now(), signal, isYes: this.#ask(signal) };
    const asked = this.#asked;
    try {
      const isYes = await asked.isYes;
      if (!isYes) this.#forget(asked);
      return isYes;
    } catch (error) {
      this.#forget(asked);
      if (asked.signal.aborted && !signal.aborted) return await this.isYes(signal);
      throw error;
    }
  }

  // Another caller may have asked again in the meantime.
  #forget(asked: object): void {
    if (this.#asked === asked) this.#asked = undefined;
  }
}
