import type { RunOrder } from "../objects/context.ts";

/** If other XRs have run within this time, more of them will probably follow. */
const QUIET_MS = 200;

/** A postponed run begins at the latest after this time, regardless of other runs. */
const LONGEST_MS = 5_000;

/**
 * Postpones runs for which no caller waits until the first runs of a burst of XRs are done. Without a burst, all runs
 * begin at once.
 */
export class BurstOrder implements RunOrder {
  readonly #now: () => number;
  readonly #running = new Set<string>();
  #last = { uid: "", at: Number.NEGATIVE_INFINITY };
  #lastOfAnother = Number.NEGATIVE_INFINITY;

  /** @param now milliseconds since the epoch */
  constructor(now: () => number) {
    this.#now = now;
  }

  began(uid: string): void {
    this.#running.add(uid);
    this.#record(uid);
  }

  ended(uid: string): void {
    this.#running.delete(uid);
    this.#record(uid);
  }

  postponedMs(uid: string, since: number): number | undefined {
    const now = this.#now();
    const passedMs = now - since;
    // The clock can be set back.
    if (passedMs < 0 || passedMs >= LONGEST_MS || !this.#isBusy(uid, now)) return undefined;
    // Grows with the elapsed time, so that each XR asks only a few times.
    return Math.min(LONGEST_MS - passedMs, Math.max(QUIET_MS, passedMs));
  }

  #isBusy(uid: string, now: number): boolean {
    if (this.#running.size > (this.#running.has(uid) ? 1 : 0)) return true;
    const lastOfAnother = this.#last.uid === uid ? this.#lastOfAnother : this.#last.at;
    return now - lastOfAnother < QUIET_MS;
  }

  #record(uid: string): void {
    if (this.#last.uid !== uid) this.#lastOfAnother = this.#last.at;
    this.#last = { uid, at: this.#now() };
  }
}
