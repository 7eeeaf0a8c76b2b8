import { type Backoff, pauseAfter } from "@xfn/lifetime";
import type { RateLimit } from "../client/token-bucket.ts";
import { KeyPace } from "./key-pace.ts";
import { KeyTimers } from "./key-timers.ts";
import type { Outcome, Reconcile, WorkQueue } from "./work-queue.ts";
import { type Priority, type SlotRequest, WorkerSlots } from "./worker-slots.ts";

export interface WorkQueueOptions {
  readonly reconcile: Reconcile;
  /** Concurrent reconciles of a queue without shared slots. Default 10. */
  readonly concurrency?: number | undefined;
  /** Worker slots that several queues share. */
  readonly slots?: WorkerSlots | undefined;
  /** Identifies this queue among those that share the slots. Queues with equal priorities take turns. */
  readonly source?: string | undefined;
  /** Backoff after consecutive failures of one key. Default: from 100 ms to 60 s. */
  readonly backoff?: Backoff | undefined;
  /**
   * How often the queue reconciles one key that is added again and again. Default: 30 turns at once, then one a second.
   */
  readonly pace?: RateLimit | undefined;
  /** Called for each failure. */
  readonly onFailure?: ((failure: ReconcileFailure) => void) | undefined;
  /** Called after each reconcile, for metrics. */
  readonly onReconcile?: ((ended: ReconcileEnd) => void) | undefined;
}

export interface ReconcileFailure {
  readonly key: string;
  readonly error: unknown;
  /** Consecutive failures, this one included. */
  readonly failures: number;
  readonly retryInMs: number;
}

export interface ReconcileEnd {
  readonly key: string;
  readonly failed: boolean;
  readonly milliseconds: number;
  /** Time from the addition of the key to the start of its reconcile. */
  readonly waitedMs: number;
}

const CONCURRENCY = 10;
// A conflict is usually over after the first pause. Permanent failures are retried once a minute.
const BACKOFF: Backoff = { firstMs: 100, longestMs: 60_000 };
// Bounds a key whose reconcile changes its own object each time, such as a timestamp in its status.
const PACE: RateLimit = { perSecond: 1, burst: 30 };
// An event ends the pause of a failed key early, because its cause may be fixed. But a failure
// that writes a condition with a new message causes an event each time. So the pause lasts at least this long.
const FAILED_AGAIN_MS = 1_000;
// A server that is full answers within a minute or two again. A longer pause could be a mistake of its clock.
const LONGEST_ASKED_MS = 5 * 60_000;
// A reconcile that takes longer waits for something: a function, or an API server that is down. One of three requests
// takes some tens of milliseconds on a busy machine.
const SLOW_MS = 3_000;
// A stop waits this long for reconciles whose signal was aborted.
const ABORTED_MS = 5_000;

/** Starts a queue. Keys whose last reconcile failed or took long have lower priorities: see {@link Priority}. */
export function workQueue(options: WorkQueueOptions): WorkQueue {
  return new SlotQueue(options);
}

/** A key that waits for a slot or runs in one. */
interface Turn extends SlotRequest {
  readonly key: string;
  readonly addedAt: number;
  /** `forgotten`: it still runs, and its result is ignored. */
  state: "waiting" | "running" | "forgotten";
  /** The key was added while it ran. */
  addedAgain: boolean;
}

class SlotQueue implements WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #slots: WorkerSlots;
  readonly #source: string;
  readonly #backoff: Backoff;
  readonly #pace: KeyPace;
  readonly #turns = new Map<string, Turn>();
  readonly #timers = new KeyTimers((key) => this.#enqueue(key));
  readonly #failures = new Map<string, { count: number; notBefore: number }>();
  readonly #slow = new Set<string>();
  readonly #aborting = new AbortController();
  #running = 0;
  #stopping = false;
  #onIdle: (() => void) | undefined;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    this.#slots = options.slots ?? new WorkerSlots(options.concurrency ?? CONCURRENCY);
    this.#source = options.source ?? "";
    this.#backoff = options.backoff ?? BACKOFF;
    this.#pace = new KeyPace(options.pace ?? PACE);
  }

  get size(): number {
    return this.#turns.size - this.#running;
  }

  get running(): number {
    return this.#running;
  }

  add(key: string): void {
    const failedUntil = this.#failures.get(key)?.notBefore ?? 0;
    this.addAfter(key, Math.max(failedUntil - performance.now(), this.#pace.waitMs(key)));
  }

  addAfter(key: string, ms: number): void {
    if (this.#stopping) return;
    if (ms <= 0) this.#enqueue(key);
    else this.#timers.set(key, ms);
  }

  forget(key: string): void {
    this.#timers.cancel(key);
    this.#failures.delete(key);
    this.#slow.delete(key);
    this.#pace.forget(key);
    const turn = this.#turns.get(key);
    if (turn === undefined) return;
    if (turn.state === "waiting") this.#cancel(turn);
    else {
      turn.state = "forgotten";
      turn.addedAgain = false;
    }
  }

  async stop(graceMs = 0): Promise<void> {
    this.#stopping = true;
    this.#timers.clear();
    for (const turn of this.#turns.values()) if (turn.state === "waiting") this.#cancel(turn);
    const abort = (): void => this.#aborting.abort(new Error("the queue was stopped"));
    if (this.#running > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onIdle = resolve;
      const graceEnd = setTimeout(abort, graceMs);
      const giveUp = setTimeout(resolve, graceMs + ABORTED_MS);
      await promise;
      clearTimeout(graceEnd);
      clearTimeout(giveUp);
    }
    abort();
  }

  #enqueue(key: string): void {
    if (this.#stopping) return;
    this.#timers.cancel(key);
    const current = this.#turns.get(key);
    if (current !== undefined) {
      if (current.state !== "waiting") current.addedAgain = true;
      return;
    }
    const turn: Turn = {
      key,
      source: this.#source,
      priority: this.#priorityOf(key),
      addedAt: performance.now(),
      state: "waiting",
      addedAgain: false,
      start: () => this.#begin(turn),
    };
    this.#turns.set(key, turn);
    this.#slots.request(turn);
  }

  #priorityOf(key: string): Priority {
    if (this.#slow.has(key)) return "slow";
    return this.#failures.has(key) ? "failing" : "normal";
  }

  #cancel(turn: Turn): void {
    this.#slots.cancel(turn);
    this.#turns.delete(turn.key);
  }

  #begin(turn: Turn): void {
    turn.state = "running";
    this.#running++;
    this.#pace.began(turn.key);
    void this.#run(turn);
  }

  async #run(turn: Turn): Promise<void> {
    const { key } = turn;
    const begin = performance.now();
    let outcome: Outcome | undefined;
    let error: unknown;
    let failed = false;
    try {
      outcome = await this.#options.reconcile(key, this.#aborting.signal);
    } catch (caught) {
      failed = true;
      error = caught;
    }
    const milliseconds = performance.now() - begin;
    this.#turns.delete(key);
    this.#running--;
    this.#options.onReconcile?.({ key, failed, milliseconds, waitedMs: begin - turn.addedAt });
    if (!this.#stopping && turn.state !== "forgotten") {
      if (milliseconds > SLOW_MS) this.#slow.add(key);
      else this.#slow.delete(key);
      if (failed) this.#onFailure(key, error);
      else this.#onSuccess(key, outcome);
    }
    if (turn.addedAgain) this.add(key);
    this.#slots.release(turn);
    if (this.#running === 0) this.#onIdle?.();
  }

  #onSuccess(key: string, outcome: Outcome | undefined): void {
    this.#failures.delete(key);
    if (outcome?.requeueAfterMs !== undefined) this.addAfter(key, outcome.requeueAfterMs);
  }

  #onFailure(key: string, error: unknown): void {
    const failures = (this.#failures.get(key)?.count ?? 0) + 1;
    const retryInMs = Math.max(askedMs(error), pauseAfter(failures, this.#backoff));
    const notBefore = performance.now() + Math.min(retryInMs, FAILED_AGAIN_MS);
    this.#failures.set(key, { count: failures, notBefore });
    this.#options.onFailure?.({ key, error, failures, retryInMs });
    this.addAfter(key, retryInMs);
  }
}

/** The pause for which a failure asks with `retryAfterMs`: an API server's, or that of a runner without room. */
function askedMs(error: unknown): number {
  const asked = typeof error === "object" && error !== null && "retryAfterMs" in error ? error.retryAfterMs : undefined;
  return typeof asked === "number" && asked > 0 ? Math.min(asked, LONGEST_ASKED_MS) : 0;
}
