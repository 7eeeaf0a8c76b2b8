import type { Output } from "../terminal/output.ts";

/** A terminal that is stopped, or a slow reader of a pipe. Messages keep coming. */
const MAX_WAITING = 1_000;

/** Writes to stdout in order. Drops texts while too many wait, so that a stopped reader costs no more memory. */
export class ProductLine {
  /** Rejects when stdout fails, for example because its reader has ended. */
  readonly failure: Promise<never>;
  readonly #output: Output;
  readonly #fail: (error: unknown) => void;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;
  #dropped = 0;

  constructor(output: Output) {
    this.#output = output;
    const { promise, reject } = Promise.withResolvers<never>();
    this.failure = promise;
    this.#fail = reject;
  }

  print(text: string): void {
    if (this.#waiting >= MAX_WAITING) {
      this.#dropped += 1;
      return;
    }
    this.#waiting += 1;
    this.#last = this.#last.then(() => this.#output.product(text)).then(() => this.#printed(), this.#fail);
  }

  #printed(): void {
    this.#waiting -= 1;
    if (this.#waiting > 0 || this.#dropped === 0) return;
    this.#output.note(`xfn: ${this.#dropped} messages were not printed: they came faster than stdout takes them`);
    this.#dropped = 0;
  }
}
