/** The number of recent concurrent calls: the peak of the current and of the previous period. */
export class Demand {
  readonly #periodMs: number;
  #period = 0;
  #running = 0;
  #peak = 0;
  #lastPeak = 0;

  /** @param windowMs a call counts for at least this long and at most twice as long */
  constructor(windowMs: number) {
    this.#periodMs = windowMs;
  }

  began(now: number): void {
    this.#advance(now);
    this.#running++;
    this.#peak = Math.max(this.#peak, this.#running);
  }

  ended(now: number): void {
    this.#advance(now);
    this.#running--;
  }

  at(now: number): number {
    this.#advance(now);
    return Math.max(this.#peak, this.#lastPeak);
  }

  #advance(now: number): void {
    const period = Math.floor(now / this.#periodMs);
    if (period === this.#period) return;
    this.#lastPeak = period === this.#period + 1 ? this.#peak : this.#running;
    this.#peak = this.#running;
    this.#period = period;
  }
}
