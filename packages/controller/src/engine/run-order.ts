import type { RunOrder } from "../objects/context.ts";

/** While other XRs run within this time, more of them are probably on their way. */
const QUIET_MS = 200;

/** A postponed run begins after this time, however many others there are. */
const LONGEST_MS = 5_000;

/** Lets the first runs of a burst of XRs precede those that nothing waits for. Without a burst, all begin at once. */
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
    // The clock can go back.
    if (passedMs < 0 || passedMs >= LONGEST_MS || !this.#isBusy(uid, now)) return undefined;
    // Grows with the time that has passed, so that each XR asks a few times only.
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
