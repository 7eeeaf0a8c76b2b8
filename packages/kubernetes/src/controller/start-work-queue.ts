import { isApiError } from "../client/api-error.ts";
import { type Backoff, pauseAfter } from "../client/backoff.ts";
import type { RateLimit } from "../client/token-bucket.ts";
import { KeyPace } from "./key-pace.ts";
import type { Gate, Outcome, Reconcile, WorkQueue } from "./work-queue.ts";

/** How a queue works. */
export interface WorkQueueOptions {
  readonly reconcile: Reconcile;
  /** Reconciles at a time. Default {@link DEFAULT_CONCURRENCY}; without effect where there is a gate. */
  readonly concurrency?: number | undefined;
  /** Pauses after failures in a row of one key. Default {@link DEFAULT_BACKOFF}. */
  readonly backoff?: Backoff | undefined;
  /** How often one key is reconciled that is added again and again. Default {@link DEFAULT_PACE}. */
  readonly pace?: RateLimit | undefined;
  /** Places that this queue shares with others. */
  readonly gate?: Gate | undefined;
  /** Told of each failure, and when the key is tried again. */
  readonly onFailure?: ((failure: ReconcileFailure) => void) | undefined;
  /** Told of each reconcile that has ended, for metrics. */
  readonly onReconcile?: ((ended: ReconcileEnd) => void) | undefined;
}

export interface ReconcileFailure {
  readonly key: string;
  readonly error: unknown;
  /** In a row, this one included. */
  readonly failures: number;
  readonly retryInMs: number;
}

export interface ReconcileEnd {
  readonly key: string;
  readonly failed: boolean;
  readonly milliseconds: number;
  /** From the first reason to reconcile until it began. */
  readonly waitedMs: number;
}

export const DEFAULT_CONCURRENCY = 10;
// A conflict is over by the next try; what stays broken is looked at once a minute.
export const DEFAULT_BACKOFF: Backoff = { firstMs: 100, longestMs: 60_000 };
// An object whose reconcile changes it each time, such as one with a time in its status, would be reconciled as fast as the server can.
export const DEFAULT_PACE: RateLimit = { perSecond: 1, burst: 30 };
// A key that failed and is added is tried before its pause is over: what was wrong may have been mended. But not sooner than
// this: what was added may be the trace of the failure itself, a condition with another message each time.
const FAILED_AGAIN_MS = 1_000;
// Until a reconcile whose signal was aborted is waited for no longer.
const ABORTED_MS = 5_000;

interface Line {
  /** Since when each key has been waiting. Keys come out in the order in which they came. */
  readonly keys: Map<string, number>;
}

/**
 * Starts a queue. Keys that failed last time wait in a line of their own, which gets at most half of the places: many
 * broken ones, each slow to fail, do not hold up those that are well.
 */
export function workQueue(options: WorkQueueOptions): WorkQueue & { readonly size: number; readonly running: number } {
  const { reconcile, gate, concurrency = DEFAULT_CONCURRENCY, backoff = DEFAULT_BACKOFF } = options;
  const healthy: Line = { keys: new Map() };
  const failing: Line = { keys: new Map() };
  /** Keys that wait for a place of the gate, and since when. */
  const atGate = new Map<string, number>();
  // Also when nobody else waits: who comes next is not to wait for a failing one to be done.
  const maxFailing = Math.max(1, Math.floor(concurrency / 2));
  const running = new Map<string, { again: boolean; forgotten: boolean }>();
  const timers = new Map<string, { at: number; timer: NodeJS.Timeout }>();
  const failures = new Map<string, { count: number; notBefore: number }>();
  const pace = new KeyPace(options.pace ?? DEFAULT_PACE);
  const aborting = new AbortController();
  let runningFailing = 0;
  let stopping = false;
  let turn = 0;
  let idle: (() => void) | undefined;

  const add = (key: string): void => {
    const wait = Math.max((failures.get(key)?.notBefore ?? 0) - performance.now(), pace.waitMs(key));
    if (wait > 0) addAfter(key, wait);
    else enqueue(key);
  };
  const enqueue = (key: string): void => {
    if (stopping) return;
    cancelTimer(key);
    const run = running.get(key);
    if (run !== undefined) {
      run.again = true;
      return;
    }
    if (healthy.keys.has(key) || failing.keys.has(key) || atGate.has(key)) return;
    (failures.has(key) ? failing : healthy).keys.set(key, performance.now());
    fill();
  };
  const cancelTimer = (key: string): void => {
    clearTimeout(timers.get(key)?.timer);
    timers.delete(key);
  };
  const addAfter = (key: string, ms: number): void => {
    if (stopping) return;
    if (ms <= 0) return enqueue(key);
    const at = performance.now() + ms;
    const before = timers.get(key);
    // The earlier of two is meant by both: the later one asks for no more than to be looked at by then.
    if (before !== undefined && before.at <= at) return;
    cancelTimer(key);
    timers.set(key, { at, timer: setTimeout(enqueue, Math.min(ms, MAX_TIMER_MS), key) });
  };
  const next = (): { key: string; since: number; line: Line } | undefined => {
    const mayFail = gate !== undefined || runningFailing < maxFailing;
    // Taking turns where both wait and both may: neither starves.
    const order = mayFail && turn++ % 2 === 0 ? [failing, healthy] : [healthy, ...(mayFail ? [failing] : [])];
    for (const line of order) {
      const first = line.keys.entries().next().value;
      if (first === undefined) continue;
      line.keys.delete(first[0]);
      return { key: first[0], since: first[1], line };
    }
    return undefined;
  };
  const fill = (): void => {
    while (!stopping && (gate !== undefined || running.size < concurrency)) {
      const found = next();
      if (found === undefined) return;
      if (gate === undefined) void work(found.key, found.since, found.line === failing);
      else void workBehind(gate, found.key, found.since);
    }
  };
  const workBehind = async (enter: Gate, key: string, since: number): Promise<void> => {
    atGate.set(key, since);
    let leave: () => void;
    try {
      leave = await enter(key, aborting.signal);
    } catch (error) {
      // The gate is not there to judge keys: one that it does not let in comes again, unless all is over.
      if (atGate.delete(key) && !stopping) failed(key, error);
      return;
    }
    // Forgotten, or the queue was stopped, while it waited.
    if (!atGate.delete(key) || stopping) return leave();
    try {
      await work(key, since, false);
    } finally {
      leave();
    }
  };
  const work = async (key: string, since: number, wasFailing: boolean): Promise<void> => {
    const run = { again: false, forgotten: false };
    running.set(key, run);
    pace.began(key);
    if (wasFailing) runningFailing++;
    const begin = performance.now();
    let outcome: Outcome | undefined;
    let error: unknown;
    let threw = false;
    try {
      outcome = await reconcile(key, aborting.signal);
    } catch (caught) {
      threw = true;
      error = caught;
    }
    running.delete(key);
    if (wasFailing) runningFailing--;
    options.onReconcile?.({ key, failed: threw, milliseconds: performance.now() - begin, waitedMs: begin - since });
    if (!stopping && !run.forgotten) {
      if (threw) failed(key, error);
      else {
        failures.delete(key);
        if (outcome?.requeueAfterMs !== undefined) addAfter(key, outcome.requeueAfterMs);
      }
    }
    if (run.again) add(key);
    if (running.size === 0) idle?.();
    fill();
  };
  const failed = (key: string, error: unknown): void => {
    const count = (failures.get(key)?.count ?? 0) + 1;
    const asked = isApiError(error) ? (error.retryAfterMs ?? 0) : 0;
    const retryInMs = Math.max(asked, pauseAfter(count, backoff));
    failures.set(key, { count, notBefore: performance.now() + Math.min(retryInMs, FAILED_AGAIN_MS) });
    options.onFailure?.({ key, error, failures: count, retryInMs });
    addAfter(key, retryInMs);
  };
  return {
    get size() {
      return healthy.keys.size + failing.keys.size + atGate.size;
    },
    get running() {
      return running.size;
    },
    add,
    addAfter,
    forget(key) {
      cancelTimer(key);
      healthy.keys.delete(key);
      failing.keys.delete(key);
      atGate.delete(key);
      failures.delete(key);
      pace.forget(key);
      const run = running.get(key);
      if (run !== undefined) {
        run.again = false;
        run.forgotten = true;
      }
    },
    async stop(graceMs = 0) {
      stopping = true;
      for (const { timer } of timers.values()) clearTimeout(timer);
      for (const map of [timers, healthy.keys, failing.keys]) map.clear();
      if (running.size > 0) {
        const { promise, resolve } = Promise.withResolvers<void>();
        idle = resolve;
        const abort = setTimeout(() => aborting.abort(new Error("the queue was stopped")), graceMs);
        const giveUp = setTimeout(resolve, graceMs + ABORTED_MS);
        await promise;
        clearTimeout(abort);
        clearTimeout(giveUp);
      }
      aborting.abort(new Error("the queue was stopped"));
    },
  };
}

// The longest that a timer of Node can be set to; longer ones would fire at once.
const MAX_TIMER_MS = 2 ** 31 - 1;
