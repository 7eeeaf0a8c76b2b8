import { RunnerGrpcError } from "../wire/runner-grpc-error.ts";

/** An admitted call. Calls are admitted by their headers, so that no message is read for a rejected call. */
export interface Ticket {
  /**
   * Acquires a slot for a run, in the order of requests.
   *
   * @returns releases the slot
   * @throws the signal's reason
   */
  slot(signal: AbortSignal): Promise<() => void>;
  /** Ends the admission. An acquired slot stays acquired: an aborted run lasts until its container is gone. */
  leave(): void;
}

/** Numbers of admitted calls. */
export interface AdmissionCounts {
  running: number;
  waiting: number;
}

// Duration of a run in the retry hint before the first run has ended.
const FIRST_GUESS_MS = 1_000;
const MIN_HINT_MS = 100;
const MAX_HINT_MS = 30_000;

// Weight of the latest run in the moving average.
const WEIGHT = 0.2;

/** Bounds concurrent runs and waiting calls. */
export class Admission {
  readonly #maxConcurrent: number;
  readonly #maxQueued: number;
  readonly #waiting = new Set<() => void>();
  readonly #onLeave: () => void;
  #admitted = 0;
  #running = 0;
  #averageMs = FIRST_GUESS_MS;
  #closed: RunnerGrpcError | undefined;

  constructor(maxConcurrent: number, maxQueued: number, onLeave: () => void = () => undefined) {
    this.#maxConcurrent = maxConcurrent;
    this.#maxQueued = maxQueued;
    this.#onLeave = onLeave;
  }

  /** Whether no call is admitted, not even one whose message is still arriving. */
  get empty(): boolean {
    return this.#admitted === 0;
  }

  get counts(): AdmissionCounts {
    return { running: this.#running, waiting: this.#waiting.size };
  }

  /** Rejects all further calls. */
  close(reason: RunnerGrpcError): void {
    this.#closed = reason;
  }

  /** Admits a call. @throws RunnerGrpcError `QueueFull`, or the reason given to `close` */
  admit(): Ticket {
    if (this.#closed !== undefined) throw this.#closed;
    if (this.#admitted >= this.#maxConcurrent + this.#maxQueued) throw this.#full();
    this.#admitted++;
    let left = false;
    return {
      slot: (signal) => this.#slot(signal),
      leave: () => {
        if (left) return;
        left = true;
        this.#admitted--;
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
      // The slot was handed over, so #running already counts it.
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
    const message = `the runner is full: it accepts ${limits}; try again in ${retryAfterMs} ms, or use another runner`;
    return new RunnerGrpcError("QueueFull", message, { retryAfterMs });
  }
}
