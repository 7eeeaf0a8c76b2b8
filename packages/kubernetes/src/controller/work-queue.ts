/** What a reconcile says. Nothing: wait for the next event. */
export interface Outcome {
  /** Once more after this time, in milliseconds. */
  readonly requeueAfterMs?: number;
}

/**
 * Brings one thing, named by its key, nearer to what it should be. A throw means: again, later and later.
 * The same key never runs twice at once.
 */
export type Reconcile = (key: string, signal: AbortSignal) => Promise<Outcome | undefined>;

/**
 * Places that several queues share (`gate` of a queue's options): waits for one, and gives back what lets go of it. A key that
 * waits for a place has not begun: what is added meanwhile is no second reconcile. A queue with a gate has no bound of its own.
 */
export type Gate = (key: string, signal: AbortSignal) => Promise<() => void>;

/** A queue of keys, each at most once in it, worked on by a bounded number of reconciles at a time. */
export interface WorkQueue {
  /** Now; while the key is being worked on: as soon as that has ended. */
  add(key: string): void;
  addAfter(key: string, ms: number): void;
  /** Forgets a key: nothing is due for it any more. */
  forget(key: string): void;
  /** Ends: what runs is given `graceMs` to end, then its signal is aborted. */
  stop(graceMs?: number): Promise<void>;
}
