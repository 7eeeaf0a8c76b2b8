import { RunnerGrpcError } from "../wire/runner-grpc-error.ts";

/** A call's place in the house: given when its headers are there, so that no message is read for a call that is turned away. */
export interface Ticket {
  /**
   * Waits for a run to end, first come, first served.
   *
   * @returns what to call when this one has ended
   * @throws the signal's reason
   */
  slot(signal: AbortSignal): Promise<() => void>;
  /** Gives the place back. A slot that is still held stays held: an aborted run is not over before its container is gone. */
  leave(): void;
}

/** How many calls there are. */
export interface AdmissionCounts {
  running: number;
  waiting: number;
}

// For the hint before any run has ended.
const FIRST_GUESS_MS = 1_000;
const MIN_HINT_MS = 100;
const MAX_HINT_MS = 30_000;

// How much the latest run counts in the average.
const WEIGHT = 0.2;

/** Bounds the runs at a time, and the calls that wait for one. */
export class Admission {
  readonly #maxConcurrent: number;
  readonly #maxQueued: number;
  readonly #waiting = new Set<() => void>();
  readonly #onLeave: () => void;
  #inside = 0;
  #running = 0;
  #averageMs = FIRST_GUESS_MS;
  #closed: RunnerGrpcError | undefined;

  constructor(maxConcurrent: number, maxQueued: number, onLeave: () => void = () => undefined) {
    this.#maxConcurrent = maxConcurrent;
    this.#maxQueued = maxQueued;
    this.#onLeave = onLeave;
  }

  /** Whether no call is in the house, not even one whose message is on its way. */
  get empty(): boolean {
    return this.#inside === 0;
  }

  get counts(): AdmissionCounts {
    return { running: this.#running, waiting: this.#waiting.size };
  }

  /** Turns away all calls from now on. */
  close(reason: RunnerGrpcError): void {
    this.#closed = reason;
  }

  /** Lets a call in. @throws RunnerGrpcError `QueueFull`, or the reason that `close` was given */
  admit(): Ticket {
    if (this.#closed !== undefined) throw this.#closed;
    if (this.#inside >= this.#maxConcurrent + this.#maxQueued) throw this.#full();
    this.#inside++;
    let left = false;
    return {
      slot: (signal) => this.#slot(signal),
      leave: () => {
        if (left) return;
        left = true;
        this.#inside--;
        this.#onLeave();
      },
    };
  }

  async #slot(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#running >= this.#maxConcurrent) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const abort = (): void => {
        this.#waiting.delete(resolve);
        reject(signal.reason as Error);
      };
      this.#waiting.add(resolve);
      signal.addEventListener("abort", abort, { once: true });
      await promise;
      signal.removeEventListener("abort", abort);
      // The slot has been handed over: #running counts it already.
    } else {
      this.#running++;
    }
    const started = performance.now();
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      this.#averageMs += WEIGHT * (performance.now() - started - this.#averageMs);
      this.#next();
    };
  }

  #next(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#running--;
      return;
    }
    this.#waiting.delete(next);
    next();
  }

  #full(): RunnerGrpcError {
    const expected = (this.#averageMs * (this.#waiting.size + 1)) / this.#maxConcurrent;
    const retryAfterMs = Math.round(Math.min(Math.max(expected, MIN_HINT_MS), MAX_HINT_MS));
    const limits = `${this.#maxConcurrent} runs and ${this.#maxQueued} waiting calls`;
    const message = `the runner is full: it takes ${limits}; try again in ${retryAfterMs} ms, or use another runner`;
    return new RunnerGrpcError("QueueFull", message, { retryAfterMs });
  }
}
