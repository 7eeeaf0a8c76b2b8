/** A cache with a bound on the memory of its values. Evicts the least recently used ones. */
export class BoundedCache<V> {
  readonly #maxBytes: number;
  readonly #sizeOf: (value: V) => number;
  /** In the order of use. */
  readonly #entries = new Map<string, { readonly value: V; readonly bytes: number }>();
  #bytes = 0;

  /** @param sizeOf estimates the bytes of a value on the heap */
  constructor(maxBytes: number, sizeOf: (value: V) => number) {
    this.#maxBytes = maxBytes;
    this.#sizeOf = sizeOf;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** Adds a value, unless it is larger than the whole cache. */
  set(key: string, value: V): void {
    this.delete(key);
    const bytes = this.#sizeOf(value);
    if (bytes > this.#maxBytes) return;
    this.#entries.set(key, { value, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0;
    this.#entries.delete(key);
  }
}

/** A string's header and its slot in the object that contains it, on a 64-bit machine. */
const BYTES_PER_STRING = 64;

/** Estimates the heap bytes of strings, which have up to two bytes per character. */
export function stringBytes(...lists: readonly (readonly string[] | undefined)[]): number {
  let bytes = 0;
  for (const list of lists) for (const text of list ?? []) bytes += BYTES_PER_STRING + 2 * text.length;
  return bytes;
}
