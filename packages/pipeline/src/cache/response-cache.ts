import type { ResponseStore } from "@xfn/function-grpc";

/** The longest time for which a response is kept, as in Crossplane. */
const MAX_TTL_MS = 24 * 60 * 60 * 1000;

/** Heap bytes that an entry needs in addition to its key and its response. */
const ENTRY_BYTES = 256;

interface Entry {
  readonly bytes: Uint8Array;
  readonly size: number;
  /** In milliseconds of the clock. */
  readonly expiresAt: number;
}

/** Options of {@link ResponseCache}. */
export interface ResponseCacheOptions {
  /** The most memory of all entries, in bytes. */
  readonly maxBytes: number;
  /** Milliseconds of a clock that never goes back. Default: that of the process. */
  readonly now?: () => number;
  /** Called for each request for which a response could be stored. */
  readonly onLookup?: (isHit: boolean, name: string) => void;
}

/**
 * Responses of functions in memory, by the function and the digest of its whole input. An entry expires after its time
 * to live, at most a day. The least recently used entries are evicted first.
 */
export class ResponseCache {
  readonly #options: ResponseCacheOptions;
  readonly #now: () => number;
  /** In the order of use. */
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(options: ResponseCacheOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** The bytes of all entries. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The responses of one function. @param fn identifies it and its options. @param name for metrics */
  of(fn: string, name: string = fn): ResponseStore {
    return {
      get: (tag) => this.#get(`${fn}\n${tag}`, name),
      set: (tag, bytes, ttlMs) => this.#set(`${fn}\n${tag}`, bytes, ttlMs),
    };
  }

  #get(key: string, name: string): ReturnType<ResponseStore["get"]> {
    const entry = this.#entries.get(key);
    const leftMs = entry === undefined ? 0 : entry.expiresAt - this.#now();
    const isHit = entry !== undefined && leftMs > 0;
    this.#options.onLookup?.(isHit, name);
    this.#delete(key);
    if (!isHit) return undefined;
    this.#entries.set(key, entry);
    this.#bytes += entry.size;
    return { bytes: entry.bytes, leftMs };
  }

  #set(key: string, bytes: Uint8Array, ttlMs: number): void {
    this.#delete(key);
    const size = 2 * key.length + bytes.length + ENTRY_BYTES;
    if (size > this.#options.maxBytes) return;
    const expiresAt = this.#now() + Math.min(ttlMs, MAX_TTL_MS);
    // A copy: a response can be a small part of a large buffer, which it would keep in memory.
    this.#entries.set(key, { bytes: new Uint8Array(bytes), size, expiresAt });
    this.#bytes += size;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#options.maxBytes) break;
      this.#delete(oldest);
    }
  }

  #delete(key: string): void {
    this.#bytes -= this.#entries.get(key)?.size ?? 0;
    this.#entries.delete(key);
  }
}
