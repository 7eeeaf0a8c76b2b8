import type { LiveObject } from "../client/client.ts";

const NONE: readonly string[] = [];

/** One index of a cache: maps each index key to the cache keys of its objects. */
export class CacheIndex {
  readonly #keysOf: (object: LiveObject) => readonly string[];
  readonly #onError: (error: unknown) => void;
  readonly #sets = new Map<string, Set<string>>();
  /** The index keys under which each object is filed. */
  readonly #filedUnder = new Map<string, readonly string[]>();

  constructor(keysOf: (object: LiveObject) => readonly string[], onError: (error: unknown) => void) {
    this.#keysOf = keysOf;
    this.#onError = onError;
  }

  get(key: string): Iterable<string> {
    return this.#sets.get(key) ?? NONE;
  }

  put(objectKey: string, object: LiveObject): void {
    this.remove(objectKey);
    let keys = NONE;
    try {
      keys = this.#keysOf(object);
    } catch (error) {
      // One malformed object must not stop the cache.
      this.#onError(error);
    }
    if (keys.length === 0) return;
    this.#filedUnder.set(objectKey, keys);
    for (const key of keys) {
      let set = this.#sets.get(key);
      if (set === undefined) {
        set = new Set();
        this.#sets.set(key, set);
      }
      set.add(objectKey);
    }
  }

  remove(objectKey: string): void {
    for (const key of this.#filedUnder.get(objectKey) ?? NONE) {
      const set = this.#sets.get(key);
      set?.delete(objectKey);
      if (set?.size === 0) this.#sets.delete(key);
    }
    this.#filedUnder.delete(objectKey);
  }
}
