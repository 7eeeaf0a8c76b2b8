import { DEFAULT_START_EARLY_LIMITS, type DiscardReason, type StartEarly, type StartEarlyLimits } from "./limits.ts";
import type { Kept } from "./spec-pool.ts";
import { Shelf } from "./spec-pool.ts";

/** What the pool needs to know of a recipe. */
export interface PoolRecipe {
  readonly key: string;
  readonly mayStartEarly: boolean;
}

/** What a pool has done for it. */
export interface Mechanism<R, S> {
  /** Makes a sandbox in which nothing runs yet. */
  prepare(recipe: R): Promise<S>;
  /** Does the last that can be done before it is started, which must be soon: a process waits then. */
  load(sandbox: S): void;
  /** Starts one that was not loaded: from now on its function waits for input. */
  start(sandbox: S): void;
  discard(sandbox: S, reason: DiscardReason): void;
  /** Whether the machine has nothing better to do. Asked before each sandbox. */
  isIdle(): boolean;
  /** Milliseconds that only grow. */
  now(): number;
}

/** How much memory and processor time a waiting sandbox has used. */
export interface Measured<S> {
  sandbox: S;
  bytes: number;
  cpuMs: number;
}

// Mounts and a runtime that waits take little, but each keeps eight descriptors open.
const MAX_PREPARED = 8;

/** A recipe whose sandbox could not be made, did not wait, or was busy, gets none for so long. */
const PUT_OFF_MS = 60_000;

/** Two images that are called in turn do not displace each other. */
const DISPLACE_AFTER_MS = 10_000;

/** A function that waits for its input uses nothing; one that uses more than this part of a processor does something else. */
const BUSY_SHARE = 0.1;

/** Until then it may be starting, which takes what it takes. */
const SETTLED_MS = 5_000;

// More images than that in use at once: the least recently used are forgotten.
const MAX_RECIPES = 256;

/** Keeps sandboxes for calls that are to come. Decides; what it decides on is the mechanism's. */
export class EarlyPool<R extends PoolRecipe, S> {
  readonly #mechanism: Mechanism<R, S>;
  readonly #policy: StartEarly;
  readonly #limits: Required<StartEarlyLimits>;
  /** Least recently used first. */
  readonly #shelves = new Map<string, Shelf<R, S>>();
  #filling = false;
  #closed = false;

  constructor(mechanism: Mechanism<R, S>, policy: StartEarly, limits: StartEarlyLimits = {}) {
    this.#mechanism = mechanism;
    this.#policy = policy;
    this.#limits = { ...DEFAULT_START_EARLY_LIMITS, ...limits };
  }

  /** Sandboxes that wait. */
  get waiting(): S[] {
    return [...this.#shelves.values()].flatMap((shelf) => shelf.waiting.map(({ sandbox }) => sandbox));
  }

  /** Sandboxes that wait, and those in which nothing runs yet. */
  get kept(): S[] {
    return [...this.#shelves.values()].flatMap(({ waiting, prepared }) =>
      [...waiting, ...prepared].map(({ sandbox }) => sandbox),
    );
  }

  /** Whether anything is kept, so that {@link review} has something to do. */
  get isEmpty(): boolean {
    return this.kept.length === 0;
  }

  /** A call began: gives it what is kept for it, if anything is. `ended` is to follow. */
  take(recipe: R): { sandbox: S; started: boolean } | undefined {
    const now = this.#mechanism.now();
    const shelf = this.#shelfOf(recipe);
    shelf.lastUse = now;
    shelf.uses++;
    shelf.demand.began(now);
    for (const [from, started] of [
      [shelf.waiting, true],
      [shelf.prepared, false],
    ] as const) {
      for (let kept = from.shift(); kept !== undefined; kept = from.shift()) {
        if (now - kept.since < this.#limits.idleMs) return { sandbox: kept.sandbox, started };
        this.#mechanism.discard(kept.sandbox, "age");
      }
    }
    return undefined;
  }

  ended(recipe: R): void {
    this.#shelves.get(recipe.key)?.demand.ended(this.#mechanism.now());
  }

  /** A sandbox that waited, or was loaded, has ended by itself. */
  gone(sandbox: S): void {
    for (const shelf of this.#shelves.values()) {
      for (const list of [shelf.waiting, shelf.prepared]) {
        const at = list.findIndex((kept) => kept.sandbox === sandbox);
        if (at === -1) continue;
        list.splice(at, 1);
        shelf.notBefore = this.#mechanism.now() + PUT_OFF_MS;
        this.#mechanism.discard(sandbox, "ended");
      }
    }
  }

  /** Makes what is wanted and lacking, one after the other, while the machine is idle. */
  async refill(): Promise<void> {
    if (this.#filling) return;
    this.#filling = true;
    try {
      while (!this.#closed && this.#mechanism.isIdle()) {
        const lacking = this.#lacking();
        if (lacking === undefined || !(await this.#fill(lacking.shelf, lacking.step))) return;
      }
    } finally {
      this.#filling = false;
    }
  }

  /** Throws away what is too old, no longer wanted, too large or busy. To be called every few seconds. */
  review(measured: readonly Measured<S>[]): void {
    const now = this.#mechanism.now();
    const usages = new Map(measured.map((usage) => [usage.sandbox, usage]));
    for (const [key, shelf] of this.#shelves) {
      const wanted = this.#wanted(shelf, now);
      this.#keep(shelf.waiting, (kept) => {
        const usage = usages.get(kept.sandbox);
        if (usage !== undefined && isBusy(kept, usage, now)) {
          shelf.notBefore = now + PUT_OFF_MS;
          return "busy";
        }
        if (usage !== undefined) {
          [kept.bytes, kept.cpuMs, kept.measuredAt] = [usage.bytes, usage.cpuMs, now];
          shelf.estimate = usage.bytes;
        }
        return now - kept.since >= this.#limits.idleMs ? "age" : undefined;
      });
      this.#keep(shelf.waiting, (_, index) => (index >= wanted ? "unwanted" : undefined));
      const wantedPrepared = this.#wantedPrepared(shelf, now);
      this.#keep(shelf.prepared, (kept, index) =>
        index >= wantedPrepared ? "unwanted" : now - kept.since >= this.#limits.idleMs ? "age" : undefined,
      );
      const idle = shelf.waiting.length + shelf.prepared.length === 0 && shelf.demand.at(now) === 0;
      if (idle && now - shelf.lastUse >= this.#limits.idleMs && typeof this.#policy !== "number")
        this.#shelves.delete(key);
    }
    for (const shelf of [...this.#shelves.values()].slice(0, -MAX_PREPARED))
      this.#keep(shelf.prepared, () => "displaced");
    for (const shelf of this.#shelves.values()) {
      while (this.#bytes() > this.#limits.memoryBytes && shelf.waiting.length > 0) this.#drop(shelf, "memory");
    }
  }

  /** Makes no more of these until they are called again. For recipes of which nothing is kept. */
  forget(isMeant: (recipe: R) => boolean): void {
    for (const [key, { recipe }] of this.#shelves) if (isMeant(recipe)) this.#shelves.delete(key);
  }

  /** Throws everything away, for good or because the sandbox host has gone. */
  clear(): void {
    for (const shelf of this.#shelves.values()) {
      this.#keep(shelf.waiting, () => "closed");
      this.#keep(shelf.prepared, () => "closed");
    }
  }

  close(): void {
    this.#closed = true;
    this.clear();
  }

  #shelfOf(recipe: R): Shelf<R, S> {
    const shelf = this.#shelves.get(recipe.key) ?? new Shelf<R, S>(recipe, this.#limits.idleMs);
    this.#shelves.delete(recipe.key);
    this.#shelves.set(recipe.key, shelf);
    if (this.#shelves.size > MAX_RECIPES) this.#forgetOldest();
    return shelf;
  }

  #forgetOldest(): void {
    const [oldest] = this.#shelves;
    if (oldest === undefined) return;
    const [key, shelf] = oldest;
    this.#keep(shelf.waiting, () => "displaced");
    this.#keep(shelf.prepared, () => "displaced");
    this.#shelves.delete(key);
  }

  #wanted(shelf: Shelf<R, S>, now: number): number {
    if (this.#policy === "off" || !shelf.recipe.mayStartEarly || now < shelf.notBefore) return 0;
    if (typeof this.#policy === "number") return this.#policy;
    return now - shelf.lastUse >= this.#limits.idleMs ? 0 : shelf.demand.at(now);
  }

  // A call that is one of a kind needs nothing kept.
  #wantedPrepared(shelf: Shelf<R, S>, now: number): number {
    const inUse = shelf.uses > 1 && now - shelf.lastUse < this.#limits.idleMs;
    return inUse && now >= shelf.notBefore ? 1 : 0;
  }

  #lacking(): { shelf: Shelf<R, S>; step: "load" | "start" } | undefined {
    const now = this.#mechanism.now();
    const recent = [...this.#shelves.values()].reverse();
    for (const shelf of recent) {
      if (shelf.waiting.length < this.#wanted(shelf, now) && this.#makeRoom(shelf)) return { shelf, step: "start" };
    }
    let prepared = 0;
    for (const shelf of recent) {
      if (++prepared > MAX_PREPARED) break;
      const loaded = shelf.prepared.filter((kept) => kept.loaded).length;
      if (loaded < this.#wantedPrepared(shelf, now)) return { shelf, step: "load" };
    }
    return undefined;
  }

  #makeRoom(shelf: Shelf<R, S>): boolean {
    const { count, memoryBytes } = this.#limits;
    const fits = (): boolean => this.waiting.length < count && this.#bytes() + shelf.estimate <= memoryBytes;
    for (const other of this.#shelves.values()) {
      if (fits()) return true;
      if (other.lastUse > shelf.lastUse - DISPLACE_AFTER_MS) continue;
      while (!fits() && other.waiting.length > 0) this.#drop(other, "displaced");
    }
    return fits();
  }

  async #fill(shelf: Shelf<R, S>, step: "load" | "start"): Promise<boolean> {
    let sandbox: S;
    try {
      sandbox = takeUnloaded(shelf) ?? (await this.#mechanism.prepare(shelf.recipe));
    } catch {
      // Its call will fail too, and say why.
      shelf.notBefore = this.#mechanism.now() + PUT_OFF_MS;
      return true;
    }
    const now = this.#mechanism.now();
    if (this.#closed || this.#shelves.get(shelf.recipe.key) !== shelf) {
      this.#mechanism.discard(sandbox, this.#closed ? "closed" : "unwanted");
      return !this.#closed;
    }
    const kept = (loaded: boolean): Kept<S> => ({
      sandbox,
      loaded,
      since: now,
      bytes: undefined,
      cpuMs: 0,
      measuredAt: now,
    });
    // While it was made a call may have begun, which goes first.
    if (!this.#mechanism.isIdle()) {
      shelf.prepared.push(kept(false));
    } else if (step === "start") {
      shelf.waiting.push(kept(false));
      this.#mechanism.start(sandbox);
    } else {
      // The first to be taken.
      shelf.prepared.unshift(kept(true));
      this.#mechanism.load(sandbox);
    }
    return true;
  }

  #bytes(): number {
    return [...this.#shelves.values()].reduce((sum, shelf) => sum + shelf.bytes, 0);
  }

  #drop(shelf: Shelf<R, S>, reason: DiscardReason): void {
    const kept = shelf.waiting.shift();
    if (kept !== undefined) this.#mechanism.discard(kept.sandbox, reason);
  }

  /** Leaves those for which there is no reason to go. */
  #keep(list: Kept<S>[], reasonToGo: (kept: Kept<S>, index: number) => DiscardReason | undefined): void {
    const stay: Kept<S>[] = [];
    for (const kept of list.splice(0)) {
      const reason = reasonToGo(kept, stay.length);
      if (reason === undefined) stay.push(kept);
      else this.#mechanism.discard(kept.sandbox, reason);
    }
    list.push(...stay);
  }
}

/** Takes one that can still be loaded, or started early. */
function takeUnloaded<R, S>({ prepared }: Shelf<R, S>): S | undefined {
  const at = prepared.findIndex(({ loaded }) => !loaded);
  return at === -1 ? undefined : prepared.splice(at, 1)[0]?.sandbox;
}

function isBusy<S>(kept: Kept<S>, usage: Measured<S>, now: number): boolean {
  // The first measurement holds all that starting took.
  if (kept.bytes === undefined || kept.measuredAt - kept.since < SETTLED_MS) return false;
  return usage.cpuMs - kept.cpuMs > (now - kept.measuredAt) * BUSY_SHARE;
}
