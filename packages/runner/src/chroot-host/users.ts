import { readdirSync } from "node:fs";
import { readText } from "../base/read-text.ts";

/** The number of users of one runner, which limits the number of concurrent functions in chroots. */
export const USERS_OF_RUNNER = 256;

/**
 * The first user of the first runner. Other programs do not use these ids: they are above the ranges of systemd's
 * containers and of subordinate ids. Process ids are below 2^22, so the last user is below 2^32 - 1.
 */
const FIRST_USER = 3_000_000_000;

/** The first user of a runner. No other runner in its pid namespace has the same users. */
export function firstUserOf(runnerPid: number): number {
  return FIRST_USER + runnerPid * USERS_OF_RUNNER;
}

/** Whether this process's user namespace contains the users of a runner, by the text of /proc/self/uid_map. */
export function hasUsers(runnerPid: number, uidMap: string): boolean {
  const first = firstUserOf(runnerPid);
  return uidMap.split("\n").some((line) => {
    const [start = Number.NaN, , count = 0] = line.trim().split(/\s+/).map(Number);
    return start <= first && first + USERS_OF_RUNNER <= start + count;
  });
}

/** Running processes of users from `first` on. Zombies do not count, because they execute no code. */
export function processesOf(first: number, count: number = 1): number[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    // The owner of the folder is root if the process hides its memory.
    const status = readText(`/proc/${name}/status`);
    if (/^State:\s+[ZX]/m.test(status)) return [];
    const ids = /^Uid:\s+(.*)$/m.exec(status)?.[1]?.split(/\s+/).map(Number) ?? [];
    return ids.some((id) => id >= first && id < first + count) ? [Number(name)] : [];
  });
}

/**
 * Assigns the users of a runner to its functions. A released user is reused after all others. Another function is
 * therefore unlikely to find leftovers under its id.
 */
export class UserPool {
  /** The user that has been free for the longest time comes first. */
  readonly #free: number[];
  readonly #count: number;

  constructor(first: number, count: number = USERS_OF_RUNNER) {
    this.#free = Array.from({ length: count }, (_, index) => first + index);
    this.#count = count;
  }

  get isUnused(): boolean {
    return this.#free.length === this.#count;
  }

  /** Undefined if all users are in use. */
  take(): number | undefined {
    return this.#free.shift();
  }

  giveBack(user: number): void {
    this.#free.push(user);
  }
}
