/** How a key's last reconcile went: what it may get when not everybody can have a place at once. */
export type Standing =
  /** It succeeded in good time, or it is new. */
  | "good"
  /** It failed: whoever did not fail goes first. */
  | "failing"
  /** It took long, whether it failed or not: such ones have a few places at a time, as each holds its place for long. */
  | "slow";

/** A bounded number of places in which reconciles run. */
export interface FairSlots {
  /**
   * Waits for a place.
   *
   * @param source whose turn it is: sources with the same standing take turns, however many keys each has waiting
   * @returns gives the place back; more than once does nothing
   * @throws the signal's reason
   */
  take(source: string, standing: Standing, signal?: AbortSignal): Promise<() => void>;
  readonly running: number;
  readonly waiting: number;
}

// Every so many grants go to who failed, if there is one, so that it is not waiting for ever behind a stream of good ones.
const TURN_OF_FAILING = 8;

// What is slow may hold up to this part of all places.
const SLOW_PART = 1 / 8;

interface Waiter {
  readonly standing: Standing;
  readonly grant: () => void;
}

/** @param size places in all, at least 1 */
export function fairSlots(size: number): FairSlots {
  const lines: Record<Standing, TurnTaking<Waiter>> = { good: turnTaking(), failing: turnTaking(), slow: turnTaking() };
  const maxSlow = Math.max(1, Math.floor(size * SLOW_PART));
  let running = 0;
  let slow = 0;
  let grants = 0;

  const next = (): Waiter | undefined => {
    const order: readonly Standing[] =
      (grants + 1) % TURN_OF_FAILING === 0 ? ["failing", "slow", "good"] : ["good", "failing", "slow"];
    for (const standing of order) {
      if (standing === "slow" && slow >= maxSlow) continue;
      const waiter = lines[standing].shift();
      if (waiter !== undefined) return waiter;
    }
    return undefined;
  };
  const fill = (): void => {
    while (running < size) {
      const waiter = next();
      if (waiter === undefined) return;
      grants++;
      running++;
      if (waiter.standing === "slow") slow++;
      waiter.grant();
    }
  };
  return {
    get running() {
      return running;
    },
    get waiting() {
      return lines.good.size + lines.failing.size + lines.slow.size;
    },
    take(source, standing, signal) {
      const { promise, resolve, reject } = Promise.withResolvers<() => void>();
      if (signal?.aborted === true) {
        reject(signal.reason as Error);
        return promise;
      }
      let held = false;
      const giveBack = (): void => {
        if (!held) return;
        held = false;
        running--;
        if (standing === "slow") slow--;
        fill();
      };
      const abort = (): void => {
        lines[standing].remove(source, waiter);
        reject(signal?.reason as Error);
      };
      const waiter: Waiter = {
        standing,
        grant: () => {
          held = true;
          signal?.removeEventListener("abort", abort);
          resolve(giveBack);
        },
      };
      signal?.addEventListener("abort", abort, { once: true });
      lines[standing].push(source, waiter);
      fill();
      return promise;
    },
  };
}

/** Lines, one for each source, that are served in turns. */
interface TurnTaking<T> {
  readonly size: number;
  push(source: string, item: T): void;
  shift(): T | undefined;
  remove(source: string, item: T): void;
}

function turnTaking<T>(): TurnTaking<T> {
  // In the order of turns: who was served goes to the end. Sets, as one who gives up leaves from the middle of its line.
  const lines = new Map<string, Set<T>>();
  let size = 0;
  return {
    get size() {
      return size;
    },
    push(source, item) {
      const line = lines.get(source);
      if (line === undefined) lines.set(source, new Set([item]));
      else line.add(item);
      size++;
    },
    shift() {
      for (const [source, line] of lines) {
        lines.delete(source);
        for (const item of line) {
          line.delete(item);
          if (line.size > 0) lines.set(source, line);
          size--;
          return item;
        }
      }
      return undefined;
    },
    remove(source, item) {
      const line = lines.get(source);
      if (line?.delete(item) !== true) return;
      size--;
      if (line.size === 0) lines.delete(source);
    },
  };
}
