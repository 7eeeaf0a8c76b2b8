import { onAbort, TurnLines } from "@xfn/lifetime";
import { RunnerGrpcError } from "../wire/runner-grpc-error.ts";
import { type SlotlessCall, SlotlessCalls } from "./slotless-calls.ts";

/** An admitted call. Calls are admitted by their headers, so that the message of a rejected call is not read. */
export interface Ticket {
  /**
   * Acquires a slot for a run. Callers take turns; the calls of one caller are in the order of their requests.
   *
   * @returns a function that releases the slot
   * @throws RunnerGrpcError `QueueFull` if the queue is too long for the call's deadline
   * @throws the signal's reason
   */
  slot(signal: AbortSignal): Promise<() => void>;
  /**
   * Counts bytes of the call's message, until the call acquires a slot or leaves. Call it before the bytes take memory,
   * or as they arrive.
   *
   * @throws RunnerGrpcError `QueueFull` if the messages of waiting calls take too much memory
   */
  input(bytes: number): void;
  /** Counts an answer until the call leaves. Call it before the slot is released. @param bytes its size */
  answer(bytes: number): void;
  /** Ends the admission. An acquired slot stays acquired: an aborted run lasts until its container has ended. */
  leave(): void;
}

/** Numbers of admitted calls. */
export interface AdmissionCounts {
  running: number;
  waiting: number;
}

// Assumed duration of a run in the retry hint before the first run has ended.
const FIRST_GUESS_MS = 1_000;
const MIN_HINT_MS = 100;
const MAX_HINT_MS = 30_000;

// Weight of the latest run in the moving average.
const WEIGHT = 0.2;

// Functions differ, and a run may pull an image. The quickest of this many runs is a lower bound for the next ones.
const RECENT_RUNS = 16;

/** The limits of an {@link Admission}. */
export interface AdmissionLimits {
  /** The largest number of concurrent runs. */
  readonly maxConcurrent: number;
  /** The largest number of waiting calls. */
  readonly maxQueued: number;
  /** Unreceived answers, in bytes, above which no run starts. Default: no limit. */
  readonly maxUnreceivedBytes?: number;
  /**
   * Memory for the messages of calls without a slot, in bytes. A call that waits alone may exceed it, and so may calls
   * for which slots are free. Default: no limit.
   */
  readonly maxQueuedBytes?: number;
}

/** Limits concurrent runs, waiting calls and their messages, and the answers that callers have not received yet. */
export class Admission {
  readonly #maxConcurrent: number;
  readonly #maxQueued: number;
  readonly #maxUnreceivedBytes: number;
  readonly #maxQueuedBytes: number;
  readonly #waiting = new TurnLines<() => void>();
  readonly #onLeave: () => void;
  #admitted = 0;
  #running = 0;
  #unreceivedBytes = 0;
  readonly #slotless = new SlotlessCalls();
  #averageMs = FIRST_GUESS_MS;
  readonly #recentMs: number[] = [];
  #closed: RunnerGrpcError | undefined;

  /** @param onLeave called when a call has left */
  constructor(limits: AdmissionLimits, onLeave: () => void = () => undefined) {
    const { maxUnreceivedBytes = Number.POSITIVE_INFINITY, maxQueuedBytes = Number.POSITIVE_INFINITY } = limits;
    this.#maxConcurrent = limits.maxConcurrent;
    this.#maxQueued = limits.maxQueued;
    this.#maxUnreceivedBytes = maxUnreceivedBytes;
    this.#maxQueuedBytes = maxQueuedBytes;
    this.#onLeave = onLeave;
  }

  /** Whether there is no admitted call, including calls whose message is still arriving. */
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

  /**
   * Admits a call. If the queue is full, a caller with fewer waiting calls displaces the newest call of the caller with
   * the most.
   *
   * @param caller identifies the caller
   * @param deadline of the call, in milliseconds since the epoch
   * @param onDisplaced called if another call takes this call's place before it has a slot. The call has then left.
   * @throws RunnerGrpcError `QueueFull`, or the reason given to `close`
   */
  admit(
    caller = "",
    deadline: number = Number.POSITIVE_INFINITY,
    onDisplaced: (error: RunnerGrpcError) => void = () => undefined,
  ): Ticket {
    if (this.#closed !== undefined) throw this.#closed;
    const isFull = this.#admitted >= this.#maxConcurrent + this.#maxQueued;
    if (isFull && !this.#slotless.makeRoom(caller, 1, () => 1)) throw this.#tooMany();
    this.#admitted++;
    let left = false;
    let unreceived = 0;
    let isQueued = true;
    const leaveQueue = (): void => {
      isQueued = false;
      this.#slotless.remove(call);
    };
    const leave = (): void => {
      if (left) return;
      left = true;
      leaveQueue();
      this.#admitted--;
      this.#unreceivedBytes -= unreceived;
      this.#startWaiting();
      this.#onLeave();
    };
    const displace = (): void => {
      leave();
      onDisplaced(this.#tooMany());
    };
    const call: SlotlessCall = { caller, bytes: 0, displace };
    this.#slotless.add(call);
    return {
      slot: async (signal) => {
        const release = await this.#slot(caller, deadline, signal);
        leaveQueue();
        return release;
      },
      input: (bytes) => {
        if (!isQueued) return;
        this.#makeRoomFor(call, bytes);
        call.bytes += bytes;
      },
      answer: (bytes) => {
        // If the caller has gone, its answer is dropped.
        if (left) return;
        unreceived += bytes;
        this.#unreceivedBytes += bytes;
      },
      leave,
    };
  }

  async #slot(caller: string, deadline: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (!this.#isFree()) {
      this.#checkDeadline(caller, deadline);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      this.#waiting.push(caller, resolve);
      const forget = onAbort(signal, () => {
        this.#waiting.remove(caller, resolve);
        reject(signal.reason as Error);
      });
      await promise;
      forget();
      // The slot was handed over, so #running already counts it.
    } else {
      this.#running++;
    }
    const started = performance.now();
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      this.#measure(performance.now() - started);
      this.#running--;
      this.#startWaiting();
    };
  }

  #measure(ms: number): void {
    this.#averageMs += WEIGHT * (ms - this.#averageMs);
    this.#recentMs.push(ms);
    if (this.#recentMs.length > RECENT_RUNS) this.#recentMs.shift();
  }

  /** Rejects a call that would start after its deadline even if each run were as short as the quickest recent one. */
  #checkDeadline(caller: string, deadline: number): void {
    const ahead = this.#waiting.ahead(caller);
    const rounds = Math.floor(ahead / this.#maxConcurrent);
    const quickest = Math.min(...this.#recentMs);
    if (rounds === 0 || this.#recentMs.length === 0 || rounds * quickest <= deadline - Date.now()) return;
    const bound = `${ahead} calls wait before this one, at least ${Math.round(quickest)} ms each`;
    throw this.#refusal(`the queue is too long for the call's deadline: ${bound}`);
  }

  #isFree(): boolean {
    return this.#running < this.#maxConcurrent && this.#unreceivedBytes <= this.#maxUnreceivedBytes;
  }

  /** @throws RunnerGrpcError `QueueFull` if more bytes of a call's message would take too much memory */
  #makeRoomFor(call: SlotlessCall, more: number): void {
    const limit = this.#maxQueuedBytes;
    for (;;) {
      const willWait = this.#slotless.size > this.#maxConcurrent - this.#running;
      if (!willWait || this.#slotless.isAlone(call) || this.#slotless.bytes(limit) + more <= limit) return;
      if (!this.#slotless.makeRoom(call.caller, more, ({ bytes }) => bytes))
        throw this.#full(`${limit} bytes of messages of waiting calls`);
    }
  }

  #startWaiting(): void {
    while (this.#isFree()) {
      const start = this.#waiting.shift();
      if (start === undefined) return;
      this.#running++;
      start();
    }
  }

  #tooMany(): RunnerGrpcError {
    return this.#full(`${this.#maxConcurrent} runs and ${this.#maxQueued} waiting calls`);
  }

  #full(limits: string): RunnerGrpcError {
    return this.#refusal(`the runner is full: it accepts ${limits}`);
  }

  #refusal(why: string): RunnerGrpcError {
    const expected = (this.#averageMs * (this.#waiting.size + 1)) / this.#maxConcurrent;
    const retryAfterMs = Math.round(Math.min(Math.max(expected, MIN_HINT_MS), MAX_HINT_MS));
    const message = `${why}; try again in ${retryAfterMs} ms, or use another runner`;
    return new RunnerGrpcError("QueueFull", message, { retryAfterMs });
  }
}
