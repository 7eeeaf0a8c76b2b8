import type { BreakerLimits } from "../../objects/context.ts";
import { hasElapsed } from "../../objects/elapsed.ts";

/**
 * A person who edits an object by hand causes fewer repeated writes than the burst. A provider causes this many within
 * seconds.
 */
export const BREAKER: BreakerLimits = { burst: 10, refillRate: 0, cooldownMs: 5 * 60_000 };

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
 * each apply, or that functions alternate between two intents. It then allows one write every 30 seconds, until the
 * cooldown passes without a write. An intent that differs from the last ones is written at once.
 */
export class FightBreaker {
  readonly #now: () => number;
  readonly #limits: BreakerLimits;
  readonly #fights: Map<string, Fight> = new Map();

  /** @param now milliseconds since the epoch */
  constructor(now: () => number, limits: BreakerLimits = BREAKER) {
    this.#now = now;
    this.#limits = limits;
  }

  /** The time in milliseconds until this intent may be written to the object; 0 if it may be written now. */
  waitMs(object: string, intent: string): number {
    const fight = this.#current(object);
    if (fight === undefined || fight.repeats < this.#limits.burst || !fight.intents.has(intent)) return 0;
    return Math.max(0, fight.lastWriteAt + COOLDOWN_MS - this.#now());
  }

  wrote(object: string, intent: string): void {
    const fight = this.#current(object) ?? { intents: new Set(), repeats: 0, lastWriteAt: 0 };
    this.#fights.set(object, fight);
    const { burst, refillRate } = this.#limits;
    const refilled = ((this.#now() - fight.lastWriteAt) / 1_000) * refillRate;
    if (fight.repeats < burst) fight.repeats = Math.max(0, fight.repeats - refilled);
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
    if (fight === undefined || fight.repeats < this.#limits.burst) return undefined;
    if (describe !== undefined) fight.description = describe();
    return fight.description;
  }

  #current(object: string): Fight | undefined {
    const fight = this.#fights.get(object);
    if (fight === undefined || !hasElapsed(fight.lastWriteAt, this.#now(), this.#limits.cooldownMs)) return fight;
    this.#fights.delete(object);
    return undefined;
  }
}
