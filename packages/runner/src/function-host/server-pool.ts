import { RunnerError } from "@xfn/runner-contract";
import { BUSY_SHARE } from "../warm-pool/limits.ts";
import type { ServerEndReason } from "../warm-pool/runner-event.ts";

/** A server as the pool sees it. */
export interface PooledServer {
  /** Settles when it has ended. Never rejects. */
  readonly ended: Promise<unknown>;
  /** Kills it. */
  end(): void;
}

/** The limits of all servers together, over all functions. */
export interface ServerPoolLimits {
  /** Idle timeout of a server, in milliseconds. */
  idleMs: number;
  /** The largest number of idle servers. */
  count: number;
  /** The largest memory of all idle servers, in bytes. */
  memoryBytes: number;
  /** The largest number of servers, idle or not. */
  total: number;
}

/** The resource usage of a server. */
export interface ServerUsage {
  readonly bytes: number;
  /** Processor time since its start, in milliseconds. */
  readonly cpuMs: number;
}

/** A server with its users. */
interface Entry<S extends PooledServer> {
  readonly key: string;
  readonly starting: Promise<S>;
  /** Cancels the start, or ends the server. */
  readonly cancel: AbortController;
  users: number;
  server: S | undefined;
  idle: NodeJS.Timeout | undefined;
  bytes: number;
  /** Its processor time at the last measurement since it became idle. */
  idleCpu: { readonly ms: number; readonly at: number } | undefined;
  /** Whether it has been idle since its measurement began. */
  isMeasured: boolean;
  /** The reason for which the pool ended it. */
  reason: ServerEndReason | undefined;
}

/** A use of a server. */
export interface Lease<S> {
  /** Rejects if the server cannot be started. */
  readonly server: Promise<S>;
  /** Whether this lease starts the server. */
  readonly starts: boolean;
  release(): void;
}

/** One server for each key: started on demand, shared by its users, and ended after its idle timeout. */
export class ServerPool<S extends PooledServer> {
  readonly #limits: ServerPoolLimits;
  readonly #onEnd: (server: S, reason: ServerEndReason) => void;
  /** Least recently used first. */
  readonly #entries = new Map<string, Entry<S>>();
  /** Servers with a single user. */
  readonly #others = new Set<Entry<S>>();
  #closed = false;

  /** @param onEnd called when a server that had started has ended */
  constructor(limits: ServerPoolLimits, onEnd: (server: S, reason: ServerEndReason) => void = () => undefined) {
    this.#limits = limits;
    this.#onEnd = onEnd;
  }

  /** The number of servers, both used and idle. */
  get size(): number {
    return this.#entries.size + this.#others.size;
  }

  /** The idle servers, least recently used first. */
  get idle(): S[] {
    return this.#idleEntries().flatMap(({ server }) => server ?? []);
  }

  /** Memory of idle servers at their last measurement, in bytes. */
  get idleBytes(): number {
    return this.#idleEntries().reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /**
   * Uses the server of a key.
   *
   * @param start starts a server. When its signal is aborted, it must end what it has started, and reject.
   * @param alone whether the server is never shared, and ends on release
   * @throws RunnerError `TooManyServers`
   */
  acquire(key: string, start: (cancelled: AbortSignal) => Promise<S>, alone = false): Lease<S> {
    const known = alone ? undefined : this.#entries.get(key);
    const entry = known ?? this.#start(key, start, alone);
    clearTimeout(entry.idle);
    entry.idleCpu = undefined;
    entry.isMeasured = false;
    entry.users++;
    if (!alone) this.#touch(entry);
    let released = false;
    return {
      server: entry.starting,
      starts: known === undefined,
      release: () => {
        if (released) return;
        released = true;
        this.#release(entry);
      },
    };
  }

  /**
   * Measures idle servers. Ends servers that use the processor, and the least recently used servers beyond the limits.
   *
   * @param now milliseconds, with any origin
   */
  async review(measure: (servers: readonly S[]) => Promise<ReadonlyMap<S, ServerUsage>>, now: number): Promise<void> {
    const entries = this.#idleEntries();
    for (const entry of entries) entry.isMeasured = true;
    const usages = await measure(entries.flatMap(({ server }) => server ?? []));
    for (const entry of entries) {
      const usage = entry.server && usages.get(entry.server);
      // A call in the meantime may have used the time.
      if (usage === undefined || !entry.isMeasured) continue;
      const before = entry.idleCpu;
      entry.bytes = usage.bytes;
      entry.idleCpu = { ms: usage.cpuMs, at: now };
      // The first measurement includes the processor time of calls.
      if (before !== undefined && usage.cpuMs - before.ms > (now - before.at) * BUSY_SHARE) this.#end(entry, "busy");
    }
    this.#enforce();
  }

  /** Ends all servers. Servers that start later end at once. */
  close(): void {
    this.#closed = true;
    this.clear();
  }

  /** Forgets all servers, because their sandbox host has ended. */
  clear(): void {
    for (const entry of [...this.#entries.values(), ...this.#others]) this.#end(entry, "closed");
  }

  #start(key: string, start: (cancelled: AbortSignal) => Promise<S>, alone: boolean): Entry<S> {
    this.#makeRoom();
    const cancel = new AbortController();
    const starting = start(cancel.signal);
    const unused = { users: 0, server: undefined, idle: undefined, reason: undefined };
    const unmeasured = { bytes: 0, idleCpu: undefined, isMeasured: false };
    const entry: Entry<S> = { key, starting, cancel, ...unused, ...unmeasured };
    if (alone) this.#others.add(entry);
    else this.#entries.set(key, entry);
    void this.#follow(entry);
    return entry;
  }

  /** Keeps an entry until its server has ended, or could not be started. */
  async #follow(entry: Entry<S>): Promise<void> {
    try {
      const server = await entry.starting;
      entry.server = server;
      if (this.#closed || entry.cancel.signal.aborted) this.#end(entry, "closed");
      await server.ended;
      this.#onEnd(server, entry.reason ?? "exited");
    } catch {
      // The users that wait for the server get the error.
    }
    this.#forget(entry);
  }

  #release(entry: Entry<S>): void {
    entry.users--;
    if (entry.users > 0) return;
    const stays = this.#entries.get(entry.key) === entry && entry.server !== undefined && !this.#closed;
    if (!stays) return this.#end(entry, "released");
    this.#touch(entry);
    entry.idle = setTimeout(() => this.#end(entry, "idle"), this.#limits.idleMs).unref();
    this.#enforce();
  }

  /** Ends idle servers until one more server may start. */
  #makeRoom(): void {
    const { total } = this.#limits;
    while (this.size >= total) {
      const [oldest] = this.#idleEntries();
      if (oldest === undefined) {
        const message = `${total} servers of functions are in use, and no more may run at a time`;
        throw new RunnerError("TooManyServers", message, { phase: "start" });
      }
      this.#end(oldest, "displaced");
    }
  }

  #enforce(): void {
    for (const entry of this.#idleEntries()) {
      if (this.idle.length <= this.#limits.count && this.idleBytes <= this.#limits.memoryBytes) return;
      this.#end(entry, "displaced");
    }
  }

  #idleEntries(): Entry<S>[] {
    return [...this.#entries.values()].filter(({ users }) => users === 0);
  }

  // The last entry of the map is the most recently used one.
  #touch(entry: Entry<S>): void {
    this.#entries.delete(entry.key);
    this.#entries.set(entry.key, entry);
  }

  #end(entry: Entry<S>, reason: ServerEndReason): void {
    entry.reason ??= reason;
    this.#forget(entry);
    entry.cancel.abort();
    entry.server?.end();
  }

  #forget(entry: Entry<S>): void {
    clearTimeout(entry.idle);
    this.#others.delete(entry);
    if (this.#entries.get(entry.key) === entry) this.#entries.delete(entry.key);
  }
}
