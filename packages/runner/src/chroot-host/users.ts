import { readdirSync } from "node:fs";
import { readText } from "../base/read-text.ts";

/** Users of one runner: as many functions in chroots can run at a time. */
export const USERS_OF_RUNNER = 256;

/**
 * The first user of the first runner. No other program uses these ids: they are above the ranges of systemd's
 * containers and of subordinate ids. Process ids are below 2^22, so that the last user is below 2^32 - 1.
 */
const FIRST_USER = 3_000_000_000;

/** The users of a runner: no other runner of its pid namespace has them. */
export function firstUserOf(runnerPid: number): number {
  return FIRST_USER + runnerPid * USERS_OF_RUNNER;
}

/** Whether this process's user namespace has the users of a runner, by the text of /proc/self/uid_map. */
export function hasUsers(runnerPid: number, uidMap: string): boolean {
  const first = firstUserOf(runnerPid);
  return uidMap.split("\n").some((line) => {
    const [start = Number.NaN, , count = 0] = line.trim().split(/\s+/).map(Number);
    return start <= first && first + USERS_OF_RUNNER <= start + count;
  });
}

/** Running processes of users from `first` on. Zombies do not count: nothing of them runs. */
export function processesOf(first: number, count: number = 1): number[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    // The owner of the folder is root for a process that hides its memory.
    const status = readText(`/proc/${name}/status`);
    if (/^State:\s+[ZX]/m.test(status)) return [];
    const ids = /^Uid:\s+(.*)$/m.exec(status)?.[1]?.split(/\s+/).map(Number) ?? [];
    return ids.some((id) => id >= first && id < first + count) ? [Number(name)] : [];
  });
}

/**
 * Gives the users of a runner to its functions. A user that a function had comes after all others. So another function
 * is unlikely to meet what is left under its id.
 */
export class UserPool {
  /** The one that has been free for the longest time comes first. */
  readonly #free: number[];
  readonly #count: number;

  constructor(first: number, count: number = USERS_OF_RUNNER) {
    this.#free = Array.from({ length: count }, (_, index) => first + index);
    this.#count = count;
  }

  get isUnused(): boolean {
    return this.#free.length === this.#count;
  }

  /** Undefined if functions have all users. */
  take(): number | undefined {
    return this.#free.shift();
  }

  giveBack(user: number): void {
    this.#free.push(user);
  }
}
