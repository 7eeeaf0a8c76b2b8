/** The result of a reconcile. Undefined: wait for the next event. */
export interface Outcome {
  /** Requeues the key after this time, in milliseconds. */
  readonly requeueAfterMs?: number;
}

/**
 * Moves the object of a key towards its desired state. If it throws, the queue retries with backoff. The same key never
 * runs twice at once.
 */
export type Reconcile = (key: string, signal: AbortSignal) => Promise<Outcome | undefined>;

/** A queue of keys, each at most once in it, reconciled by a bounded number of workers. */
export interface WorkQueue {
  /** Reconciles a key as soon as possible: while it runs, after that run. */
  add(key: string): void;
  addAfter(key: string, ms: number): void;
  /** Forgets a key: cancels everything that is due for it. */
  forget(key: string): void;
  /** Stops the queue. Running reconciles get `graceMs` to end, then their signal aborts. */
  stop(graceMs?: number): Promise<void>;
  /** Keys that wait for a slot. */
  readonly size: number;
  readonly running: number;
}
