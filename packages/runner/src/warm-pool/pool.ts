import {
  BUSY_SHARE,
  type DiscardReason,
  type WarmPoolLimits,
  type WarmPoolPolicy,
  withDefaultLimits,
} from "./limits.ts";
import { type PooledSandbox, SpecPool } from "./spec-pool.ts";

/** The fields of a sandbox spec that the pool reads. */
export interface PoolableSpec {
  readonly key: string;
}

/** The operations of a pool on sandboxes. */
export interface Mechanism<Spec, S> {
  /** Prepares a sandbox, in which no process runs yet. */
  prepare(spec: Spec): Promise<S>;
  /** Loads the runtime of a sandbox that will start soon. From now on a process waits. */
  load(sandbox: S): void;
  /** Whether sandboxes of a spec may be started before their call. */
  mayStart(spec: Spec): boolean;
  /** Starts a sandbox that was not loaded. From now on its function waits for input. */
  start(sandbox: S): void;
  discard(sandbox: S, reason: DiscardReason): void;
  /** Whether the machine has capacity to spare. Checked before each sandbox. */
  isIdle(): boolean;
  /** Other resources that count against the limits: idle servers of functions. */
  reserved(): { count: number; bytes: number };
  /** A monotonic clock, in milliseconds. */
  now(): number;
}

/** Memory and processor time of a waiting sandbox. */
export interface Measured<S> {
  sandbox: S;
  bytes: number;
  cpuMs: number;
}

// A mount and a waiting runtime are cheap, but each keeps eight descriptors open.
const MAX_PREPARED = 8;

/** The time that a spec gets no sandbox after one could not be prepared, ended while waiting, or was busy. */
const RETRY_MS = 60_000;

/** Prevents two images that are called alternately from displacing each other. */
const DISPLACE_AFTER_MS = 10_000;

/** Until this age a function may still be starting, which takes processor time. */
const SETTLED_MS = 5_000;

// At most this many specs are in use at once in practice. The least recently used specs are forgotten.
const MAX_SPECS = 256;

/**
 * Decides which sandboxes to prepare, load, start and discard ahead of calls. The mechanism executes these decisions.
 */
export class SandboxPool<Spec extends PoolableSpec, S> {
  readonly #mechanism: Mechanism<Spec, S>;
  readonly #policy: WarmPoolPolicy;
  readonly #limits: ReturnType<typeof withDefaultLimits>;
  /** By key of the spec, least recently used first. */
  readonly #specs = new Map<string, SpecPool<Spec, S>>();
  #filling = false;
  #closed = false;

  constructor(mechanism: Mechanism<Spec, S>, policy: WarmPoolPolicy, limits?: WarmPoolLimits) {
    this.#mechanism = mechanism;
    this.#policy = policy;
    this.#limits = withDefaultLimits(limits);
  }

  get waiting(): S[] {
    return [...this.#specs.values()].flatMap((pool) => pool.waiting.map(({ sandbox }) => sandbox));
  }

  /** Pre-started and prepared sandboxes. */
  get all(): S[] {
    return [...this.#specs.values()].flatMap(({ waiting, prepared }) =>
      [...waiting, ...prepared].map(({ sandbox }) => sandbox),
    );
  }

  /** Whether the pool is empty, so that {@link review} has nothing to do. */
  get isEmpty(): boolean {
    return this.all.length === 0;
  }

  /** Takes a sandbox for a call that begins, if the pool has one. The caller must call `ended` afterwards. */
  take(spec: Spec): { sandbox: S; started: boolean } | undefined {
    const now = this.#mechanism.now();
    const pool = this.#poolOf(spec);
    pool.lastUse = now;
    pool.uses++;
    pool.demand.began(now);
    for (const [from, started] of [
      [pool.waiting, true],
      [pool.prepared, false],
    ] as const) {
      for (let pooled = from.shift(); pooled !== undefined; pooled = from.shift()) {
        if (now - pooled.since < this.#limits.idleMs) return { sandbox: pooled.sandbox, started };
        this.#mechanism.discard(pooled.sandbox, "age");
      }
    }
    return undefined;
  }

  ended(spec: Spec): void {
    this.#specs.get(spec.key)?.demand.ended(this.#mechanism.now());
  }

  /** Records that a waiting or loaded sandbox has ended on its own. */
  gone(sandbox: S): void {
    for (const pool of this.#specs.values()) {
      for (const list of [pool.waiting, pool.prepared]) {
        const at = list.findIndex((pooled) => pooled.sandbox === sandbox);
        if (at === -1) continue;
        list.splice(at, 1);
        pool.notBefore = this.#mechanism.now() + RETRY_MS;
        this.#mechanism.discard(sandbox, "ended");
      }
    }
  }

  /** Prepares missing sandboxes one after the other while the machine is idle. */
  async refill(): Promise<void> {
    if (this.#filling) return;
    this.#filling = true;
    try {
      while (!this.#closed && this.#mechanism.isIdle()) {
        const lacking = this.#lacking();
        if (lacking === undefined || !(await this.#fill(lacking.pool, lacking.step))) return;
      }
    } finally {
      this.#filling = false;
    }
  }

  /** Discards sandboxes that are too old, unwanted, too large or busy. Call it every few seconds. */
  review(measured: readonly Measured<S>[]): void {
    const now = this.#mechanism.now();
    const usages = new Map(measured.map((usage) => [usage.sandbox, usage]));
    for (const [key, pool] of this.#specs) {
      const wanted = this.#wanted(pool, now);
      this.#discardIf(pool.waiting, (pooled) => {
        const usage = usages.get(pooled.sandbox);
        if (usage !== undefined && isBusy(pooled, usage, now)) {
          pool.notBefore = now + RETRY_MS;
          return "busy";
        }
        if (usage !== undefined) {
          [pooled.bytes, pooled.cpuMs, pooled.measuredAt] = [usage.bytes, usage.cpuMs, now];
          pool.estimate = usage.bytes;
        }
        return now - pooled.since >= this.#limits.idleMs ? "age" : undefined;
      });
      this.#discardIf(pool.waiting, (_, index) => (index >= wanted ? "unwanted" : undefined));
      const wantedPrepared = this.#wantedPrepared(pool, now);
      this.#discardIf(pool.prepared, (pooled, index) =>
        index >= wantedPrepared ? "unwanted" : now - pooled.since >= this.#limits.idleMs ? "age" : undefined,
      );
      const idle = pool.waiting.length + pool.prepared.length === 0 && pool.demand.at(now) === 0;
      if (idle && now - pool.lastUse >= this.#limits.idleMs && typeof this.#policy !== "number")
        this.#specs.delete(key);
    }
    for (const pool of [...this.#specs.values()].slice(0, -MAX_PREPARED))
      this.#discardIf(pool.prepared, () => "displaced");
    for (const pool of this.#specs.values()) {
      while (this.#overMemory() && pool.waiting.length > 0) this.#drop(pool, "memory");
      while (this.#overCount() && pool.waiting.length > 0) this.#drop(pool, "displaced");
    }
  }

  /** Stops preparing sandboxes of these specs until they are called again. Their pools must be empty. */
  forget(matches: (spec: Spec) => boolean): void {
    for (const [key, { spec }] of this.#specs) if (matches(spec)) this.#specs.delete(key);
  }

  /** Discards all sandboxes, because the pool closes or the sandbox host has ended. */
  clear(): void {
    for (const pool of this.#specs.values()) {
      this.#discardIf(pool.waiting, () => "closed");
      this.#discardIf(pool.prepared, () => "closed");
    }
  }

  close(): void {
    this.#closed = true;
    this.clear();
  }

  #poolOf(spec: Spec): SpecPool<Spec, S> {
    const pool = this.#specs.get(spec.key) ?? new SpecPool<Spec, S>(spec, this.#limits.idleMs);
    this.#specs.delete(spec.key);
    this.#specs.set(spec.key, pool);
    if (this.#specs.size > MAX_SPECS) this.#forgetOldest();
    return pool;
  }

  #forgetOldest(): void {
    const [oldest] = this.#specs;
    if (oldest === undefined) return;
    const [key, pool] = oldest;
    this.#discardIf(pool.waiting, () => "displaced");
    this.#discardIf(pool.prepared, () => "displaced");
    this.#specs.delete(key);
  }

  #wanted(pool: SpecPool<Spec, S>, now: number): number {
    if (this.#policy === "off" || now < pool.notBefore) return 0;
    const idle = now - pool.lastUse >= this.#limits.idleMs;
    const wanted = typeof this.#policy === "number" ? this.#policy : idle ? 0 : pool.demand.at(now);
    return wanted > 0 && this.#mechanism.mayStart(pool.spec) ? wanted : 0;
  }

  // A single call of an image does not justify a prepared sandbox.
  #wantedPrepared(pool: SpecPool<Spec, S>, now: number): number {
    const inUse = pool.uses > 1 && now - pool.lastUse < this.#limits.idleMs;
    return inUse && now >= pool.notBefore ? 1 : 0;
  }

  #lacking(): { pool: SpecPool<Spec, S>; step: "load" | "start" } | undefined {
    const now = this.#mechanism.now();
    const recent = [...this.#specs.values()].reverse();
    for (const pool of recent) {
      if (pool.waiting.length < this.#wanted(pool, now) && this.#makeRoom(pool)) return { pool, step: "start" };
    }
    let prepared = 0;
    for (const pool of recent) {
      if (++prepared > MAX_PREPARED) break;
      const loaded = pool.prepared.filter((pooled) => pooled.loaded).length;
      if (loaded < this.#wantedPrepared(pool, now)) return { pool, step: "load" };
    }
    return undefined;
  }

  #makeRoom(pool: SpecPool<Spec, S>): boolean {
    const fits = (): boolean => !this.#overCount(1) && !this.#overMemory(pool.estimate);
    for (const other of this.#specs.values()) {
      if (fits()) return true;
      if (other.lastUse > pool.lastUse - DISPLACE_AFTER_MS) continue;
      while (!fits() && other.waiting.length > 0) this.#drop(other, "displaced");
    }
    return fits();
  }

  async #fill(pool: SpecPool<Spec, S>, step: "load" | "start"): Promise<boolean> {
    let sandbox: S;
    try {
      sandbox = takeUnloaded(pool) ?? (await this.#mechanism.prepare(pool.spec));
    } catch {
      // The next call will fail too, and report the reason.
      pool.notBefore = this.#mechanism.now() + RETRY_MS;
      return true;
    }
    const now = this.#mechanism.now();
    if (this.#closed || this.#specs.get(pool.spec.key) !== pool) {
      this.#mechanism.discard(sandbox, this.#closed ? "closed" : "unwanted");
      return !this.#closed;
    }
    const pooled = (loaded: boolean): PooledSandbox<S> => ({
      sandbox,
      loaded,
      since: now,
      bytes: undefined,
      cpuMs: 0,
      measuredAt: now,
    });
    // A call may have begun in the meantime, and has priority.
    if (!this.#mechanism.isIdle()) {
      pool.prepared.push(pooled(false));
    } else if (step === "start") {
      pool.waiting.push(pooled(false));
      this.#mechanism.start(sandbox);
    } else {
      // Insert it at the start, because loaded sandboxes are taken first.
      pool.prepared.unshift(pooled(true));
      this.#mechanism.load(sandbox);
    }
    return true;
  }

  #overCount(more = 0): boolean {
    return this.waiting.length + this.#mechanism.reserved().count + more > this.#limits.count;
  }

  #overMemory(more = 0): boolean {
    const bytes = [...this.#specs.values()].reduce((sum, pool) => sum + pool.bytes, 0);
    return bytes + this.#mechanism.reserved().bytes + more > this.#limits.memoryBytes;
  }

  #drop(pool: SpecPool<Spec, S>, reason: DiscardReason): void {
    const pooled = pool.waiting.shift();
    if (pooled !== undefined) this.#mechanism.discard(pooled.sandbox, reason);
  }

  /** Discards the sandboxes for which `reasonFor` returns a reason. */
  #discardIf(
    list: PooledSandbox<S>[],
    reasonFor: (pooled: PooledSandbox<S>, index: number) => DiscardReason | undefined,
  ): void {
    const stay: PooledSandbox<S>[] = [];
    for (const pooled of list.splice(0)) {
      const reason = reasonFor(pooled, stay.length);
      if (reason === undefined) stay.push(pooled);
      else this.#mechanism.discard(pooled.sandbox, reason);
    }
    list.push(...stay);
  }
}

/** Takes a sandbox that can still be loaded or pre-started. */
function takeUnloaded<Spec, S>({ prepared }: SpecPool<Spec, S>): S | undefined {
  const at = prepared.findIndex(({ loaded }) => !loaded);
  return at === -1 ? undefined : prepared.splice(at, 1)[0]?.sandbox;
}

function isBusy<S>(pooled: PooledSandbox<S>, usage: Measured<S>, now: number): boolean {
  // The first measurement includes the processor time of the start.
  if (pooled.bytes === undefined || pooled.measuredAt - pooled.since < SETTLED_MS) return false;
  return usage.cpuMs - pooled.cpuMs > (now - pooled.measuredAt) * BUSY_SHARE;
}
