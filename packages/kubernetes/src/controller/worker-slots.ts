import { TurnLines } from "@xfn/lifetime";

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

// A reconcile that runs for longer waits for a server or a function that may never answer.
const LEND_AFTER_MS = 5_000;

const NORMAL_FIRST: readonly Priority[] = ["normal", "failing", "slow"];
const FAILING_FIRST: readonly Priority[] = ["failing", "slow", "normal"];

/**
 * A bounded number of slots for reconciles, which several work queues can share. At most one reconcile starts in a turn
 * of the event loop. While requests wait, a reconcile that has run for some seconds lends its slot: hanging reconciles
 * of one kind must not stop all others. At most twice as many reconciles run as there are slots.
 */
export class WorkerSlots {
  readonly #size: number;
  readonly #maxSlow: number;
  readonly #lines: Readonly<Record<Priority, TurnLines<SlotRequest>>> = {
    normal: new TurnLines(),
    failing: new TurnLines(),
    slow: new TurnLines(),
  };
  /** The running requests with the time of their start, the oldest first. */
  readonly #running = new Map<SlotRequest, number>();
  /** The running requests that have lent their slots. */
  readonly #lenders = new Set<SlotRequest>();
  readonly #lendAfterMs: number;
  #slow = 0;
  #grants = 0;
  #scheduled = false;
  #progressAt = performance.now();
  #lendTimer: NodeJS.Timeout | undefined;

  /**
   * @param size number of slots, at least 1
   * @param lendAfterMs how long a reconcile runs before it lends its slot, in milliseconds
   */
  constructor(size: number, lendAfterMs: number = LEND_AFTER_MS) {
    this.#size = size;
    this.#lendAfterMs = lendAfterMs;
    this.#maxSlow = Math.max(1, Math.floor(size * SLOW_PART));
  }

  /** Running reconciles. */
  get running(): number {
    return this.#running.size;
  }

  /** How long requests have waited without any start or end of a reconcile, in milliseconds. */
  get stuckMs(): number {
    return this.waiting > 0 && this.#free <= 0 ? performance.now() - this.#progressAt : 0;
  }

  get waiting(): number {
    return this.#lines.normal.size + this.#lines.failing.size + this.#lines.slow.size;
  }

  /** Queues a request. It starts in a later turn of the event loop, never within this call. */
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
    this.#running.delete(request);
    this.#lenders.delete(request);
    this.#progressAt = performance.now();
    if (request.priority === "slow") this.#slow--;
    this.#schedule();
  }

  get #free(): number {
    return this.#size + this.#lenders.size - this.#running.size;
  }

  #schedule(): void {
    if (this.#scheduled || this.waiting === 0) return;
    if (this.#free <= 0) return this.#lendLater();
    this.#scheduled = true;
    // One reconcile a turn of the event loop. Reconciles without I/O end in microtasks: granted by those, thousands of
    // them would run in one turn, without timers, probes and renewals of the lease.
    setImmediate(() => {
      this.#scheduled = false;
      this.#grant();
    });
  }

  #grant(): void {
    const request = this.#free > 0 ? this.#next() : undefined;
    if (request === undefined) return;
    this.#grants++;
    this.#progressAt = performance.now();
    this.#running.set(request, this.#progressAt);
    if (request.priority === "slow") this.#slow++;
    request.start();
    this.#schedule();
  }

  /** Lends the slot of the oldest reconcile once it has run for long enough. */
  #lendLater(): void {
    if (this.#lendTimer !== undefined || this.#lenders.size >= this.#size) return;
    const oldest = this.#oldest();
    if (oldest === undefined) return;
    const [request, since] = oldest;
    const waitMs = since + this.#lendAfterMs - performance.now();
    if (waitMs <= 0) {
      this.#lenders.add(request);
      return this.#schedule();
    }
    this.#lendTimer = setTimeout(() => {
      this.#lendTimer = undefined;
      this.#schedule();
    }, waitMs);
    this.#lendTimer.unref();
  }

  /** The oldest reconcile that has not lent its slot. */
  #oldest(): [SlotRequest, number] | undefined {
    for (const entry of this.#running) if (!this.#lenders.has(entry[0])) return entry;
    return undefined;
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
