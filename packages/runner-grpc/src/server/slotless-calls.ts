/** An admitted call without a slot, whose message is arriving or waits. */
export interface SlotlessCall {
  readonly caller: string;
  /** The bytes of its message so far. */
  bytes: number;
  /** Ends the call, and removes it. */
  displace(): void;
}

/** The admitted calls without a slot. */
export class SlotlessCalls {
  readonly #calls = new Set<SlotlessCall>();

  get size(): number {
    return this.#calls.size;
  }

  add(call: SlotlessCall): void {
    this.#calls.add(call);
  }

  remove(call: SlotlessCall): void {
    this.#calls.delete(call);
  }

  /** Whether no other call has a part of its message. */
  isAlone(call: SlotlessCall): boolean {
    return [...this.#calls].every((other) => other === call || other.bytes === 0);
  }

  /**
   * The bytes of all messages. One message above the limit is not counted: it was accepted because it waited alone, and
   * must not keep the small messages of others out.
   */
  bytes(limit: number): number {
    const sizes = [...this.#calls].map(({ bytes }) => bytes);
    const largest = Math.max(0, ...sizes);
    return sizes.reduce((sum, bytes) => sum + bytes, largest > limit ? -largest : 0);
  }

  /**
   * Displaces the newest call of the caller that takes the most. That caller must still take at least as much as the
   * other one then. Otherwise the two would displace each other in turn.
   *
   * @param take by the caller in addition
   * @param measure of a call: its bytes, or 1
   * @returns whether it displaced a call
   */
  makeRoom(caller: string, take: number, measure: (call: SlotlessCall) => number): boolean {
    const totals = new Map([[caller, take]]);
    for (const call of this.#calls) totals.set(call.caller, (totals.get(call.caller) ?? 0) + measure(call));
    // The caller is the first entry, and wins a tie.
    const [most, total] = [...totals].reduce((a, b) => (b[1] > a[1] ? b : a));
    if (most === caller) return false;
    const newest = [...this.#calls].findLast((call) => call.caller === most && measure(call) > 0);
    if (newest === undefined || total - measure(newest) < (totals.get(caller) ?? take)) return false;
    newest.displace();
    return true;
  }
}
