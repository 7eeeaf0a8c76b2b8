import { TurnLines } from "./turn-lines.ts";

/** The order in which waiting keys get slots. */
export type Priority =
  /** The last reconcile succeeded in good time, or there was none. */
  | "normal"
  /** The last reconcile failed: normal keys go first. */
  | "failing"
  /**
   * The last reconcile took long: such keys occupy only a part of the slots, because each occupies its slot for long.
   */
  | "slow";

/** A request for a slot. */
export interface SlotRequest {
  /** Sources with the same priority take turns, however many requests each has waiting. */
  readonly source: string;
  readonly priority: Priority;
  /** Called when the request gets its slot. `release` returns the slot. */
  start(): void;
}

// Every eighth slot goes to a failing key, if one waits, so that a stream of normal keys cannot starve it.
const FAILING_TURN = 8;
// The part of all slots that slow keys may occupy.
const SLOW_PART = 1 / 8;

const NORMAL_FIRST: readonly Priority[] = ["normal", "failing", "slow"];
const FAILING_FIRST: readonly Priority[] = ["failing", "slow", "normal"];

/** A bounded number of slots for reconciles, which several work queues can share. */
export class WorkerSlots {
  readonly #size: number;
  readonly #maxSlow: number;
  readonly #lines: Readonly<Record<Priority, TurnLines<SlotRequest>>> = {
    normal: new TurnLines(),
    failing: new TurnLines(),
    slow: new TurnLines(),
  };
  #running = 0;
  #slow = 0;
  #grants = 0;
  #scheduled = false;

  /** @param size number of slots, at least 1 */
  constructor(size: number) {
    this.#size = size;
    this.#maxSlow = Math.max(1, Math.floor(size * SLOW_PART));
  }

  /** Occupied slots. */
  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#lines.normal.size + this.#lines.failing.size + this.#lines.slow.size;
  }

  /** Queues a request. It starts in a later microtask, never within this call. */
  request(request: SlotRequest): void {
    this.#lines[request.priority].push(request.source, request);
    this.#schedule();
  }

  /** Withdraws a request that has not started. */
  cancel(request: SlotRequest): void {
    this.#lines[request.priority].remove(request.source, request);
  }

  /** Returns the slot of a started request. Call it once. */
  release(request: SlotRequest): void {
    this.#running--;
    if (request.priority === "slow") this.#slow--;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || this.#running >= this.#size || this.waiting === 0) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#grant();
    });
  }

  #grant(): void {
    while (this.#running < this.#size) {
      const request = this.#next();
      if (request === undefined) return;
      this.#grants++;
      this.#running++;
      if (request.priority === "slow") this.#slow++;
      request.start();
    }
  }

  #next(): SlotRequest | undefined {
    const order = (this.#grants + 1) % FAILING_TURN === 0 ? FAILING_FIRST : NORMAL_FIRST;
    for (const priority of order) {
      if (priority === "slow" && this.#slow >= this.#maxSlow) continue;
      const request = this.#lines[priority].shift();
      if (request !== undefined) return request;
    }
    return undefined;
  }
}
