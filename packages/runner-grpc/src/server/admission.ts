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
  /** Counts an answer until the call leaves. Call it before the slot is released. @param bytes its size */
  answer(bytes: number): void;
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

/** Bounds concurrent runs, waiting calls, and the answers that callers have not received yet. */
export class Admission {
  readonly #maxConcurrent: number;
  readonly #maxQueued: number;
  readonly #maxUnreceivedBytes: number;
  readonly #waiting = new Set<() => void>();
  // One iterator for all steps: a new one would skip each entry that was deleted before the first.
  #oldest = this.#waiting.values();
  readonly #onLeave: () => void;
  #admitted = 0;
  #running = 0;
  #unreceivedBytes = 0;
  #averageMs = FIRST_GUESS_MS;
  #closed: RunnerGrpcError | undefined;

  /** @param maxUnreceivedBytes no run starts while the answers of earlier ones take more */
  constructor(
    maxConcurrent: number,
    maxQueued: number,
    onLeave: () => void = () => undefined,
    maxUnreceivedBytes: number = Number.POSITIVE_INFINITY,
  ) {
    this.#maxConcurrent = maxConcurrent;
    this.#maxQueued = maxQueued;
    this.#onLeave = onLeave;
    this.#maxUnreceivedBytes = maxUnreceivedBytes;
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
    let unreceived = 0;
    return {
      slot: (signal) => this.#slot(signal),
      answer: (bytes) => {
        // The answer to a caller that has gone is dropped.
        if (left) return;
        unreceived += bytes;
        this.#unreceivedBytes += bytes;
      },
      leave: () => {
        if (left) return;
        left = true;
        this.#admitted--;
        this.#unreceivedBytes -= unreceived;
        this.#startWaiting();
        this.#onLeave();
      },
    };
  }

  async #slot(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (!this.#isFree()) {
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
      this.#running--;
      this.#startWaiting();
    };
  }

  #isFree(): boolean {
    return this.#running < this.#maxConcurrent && this.#unreceivedBytes <= this.#maxUnreceivedBytes;
  }

  #startWaiting(): void {
    while (this.#waiting.size > 0 && this.#isFree()) this.#startOldest();
  }

  #startOldest(): void {
    const next = this.#oldest.next();
    if (next.done === true) {
      // A finished iterator returns no later entries.
      this.#oldest = this.#waiting.values();
      return;
    }
    this.#running++;
    this.#waiting.delete(next.value);
    next.value();
  }

  #full(): RunnerGrpcError {
    const expected = (this.#averageMs * (this.#waiting.size + 1)) / this.#maxConcurrent;
    const retryAfterMs = Math.round(Math.min(Math.max(expected, MIN_HINT_MS), MAX_HINT_MS));
    const limits = `${this.#maxConcurrent} runs and ${this.#maxQueued} waiting calls`;
    const message = `the runner is full: it accepts ${limits}; try again in ${retryAfterMs} ms, or use another runner`;
    return new RunnerGrpcError("QueueFull", message, { retryAfterMs });
  }
}
