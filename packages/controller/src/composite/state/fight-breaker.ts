import { hasElapsed } from "../../objects/elapsed.ts";

// Repeated writes of one object within this time are a fight with another writer.
const WINDOW_MS = 5 * 60_000;
// A person who edits an object by hand causes fewer repeated writes than this. A provider causes this many within
// seconds.
const MAX_REPEATS = 10;
/** The interval at which the controller writes an object that another writer changes back. */
export const COOLDOWN_MS = 30_000;
// An XR whose functions alternate between more intents than this is not detected.
const MAX_INTENTS = 16;

interface Fight {
  /** The digests of the last intents, oldest first. */
  readonly intents: Set<string>;
  repeats: number;
  lastWriteAt: number;
  /** Absent until a difference was observed. */
  description?: string;
}

/**
 * A circuit breaker for each composed resource of an XR. It detects that another writer changes the object back after
 * each apply, or that functions alternate between two intents. It then allows one write every 30 seconds, until five
 * minutes pass without a write. An intent that differs from the last ones is written at once.
 */
export class FightBreaker {
  readonly #now: () => number;
  readonly #fights: Map<string, Fight> = new Map();

  /** @param now milliseconds since the epoch */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** The time in milliseconds until this intent may be written to the object; 0 if it may be written now. */
  waitMs(object: string, intent: string): number {
    const fight = this.#current(object);
    if (fight === undefined || fight.repeats < MAX_REPEATS || !fight.intents.has(intent)) return 0;
    return Math.max(0, fight.lastWriteAt + COOLDOWN_MS - this.#now());
  }

  wrote(object: string, intent: string): void {
    const fight = this.#current(object) ?? { intents: new Set(), repeats: 0, lastWriteAt: 0 };
    this.#fights.set(object, fight);
    if (fight.intents.delete(intent)) fight.repeats++;
    fight.intents.add(intent);
    fight.lastWriteAt = this.#now();
    const [oldest] = fight.intents;
    if (fight.intents.size > MAX_INTENTS && oldest !== undefined) fight.intents.delete(oldest);
  }

  /**
   * The description of a fight; undefined if the object's writes are not delayed, or if no difference was observed yet.
   *
   * @param describe creates a new description; absent: the last one is returned
   */
  describe(object: string, describe?: () => string): string | undefined {
    const fight = this.#current(object);
    if (fight === undefined || fight.repeats < MAX_REPEATS) return undefined;
    if (describe !== undefined) fight.description = describe();
    return fight.description;
  }

  #current(object: string): Fight | undefined {
    const fight = this.#fights.get(object);
    if (fight === undefined || !hasElapsed(fight.lastWriteAt, this.#now(), WINDOW_MS)) return fight;
    this.#fights.delete(object);
    return undefined;
  }
}
