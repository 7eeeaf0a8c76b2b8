/** A use of a shared value. */
export interface Lease<T> {
  readonly value: T;
  /** Whether this use opened the value. */
  readonly isFirst: boolean;
  /** Makes later uses open another value. This value is closed after its last use. */
  forget(): void;
  /** Ends the use. Further calls have no effect. */
  release(): void;
}

interface Entry<T> {
  readonly value: T;
  users: number;
  idle: NodeJS.Timeout | undefined;
  isClosed: boolean;
}

/**
 * Values by key, such as connections. A value is opened for its first user, and closed some time after its last. Their
 * order is that of their last uses.
 */
export class Shared<K, T> {
  readonly #close: (value: T) => void;
  readonly #idleMs: number;
  readonly #entries = new Map<K, Entry<T>>();

  /**
   * @param close called once for each value
   * @param idleMs how long an idle value stays open, in milliseconds; by default it is closed at once
   */
  constructor(close: (value: T) => void, idleMs = 0) {
    this.#close = close;
    this.#idleMs = idleMs;
  }

  /** The number of values for further uses. */
  get size(): number {
    return this.#entries.size;
  }

  /** The value of a key, without a use. */
  peek(key: K): T | undefined {
    return this.#entries.get(key)?.value;
  }

  /**
   * Uses the value of a key.
   *
   * @param open opens the value if there is none; its error is thrown
   * @param alone whether the value is for this use only
   */
  use(key: K, open: () => T, alone = false): Lease<T> {
    const known = alone ? undefined : this.#entries.get(key);
    const entry = known ?? { value: open(), users: 0, idle: undefined, isClosed: false };
    this.#forget(key, entry);
    if (!alone) this.#entries.set(key, entry);
    entry.users++;
    let isReleased = false;
    return {
      value: entry.value,
      isFirst: known === undefined,
      forget: () => this.#forget(key, entry),
      release: () => {
        if (isReleased) return;
        isReleased = true;
        if (--entry.users === 0) this.#unused(key, entry);
      },
    };
  }

  /** Makes later uses of a key open another value. The present one is closed at once if it is idle. */
  forget(key: K): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#forget(key, entry);
    if (entry.users === 0) this.#close(entry.value);
  }

  /** Forgets a value without users, and returns it for the caller to close. */
  takeIdle(): T | undefined {
    for (const [key, entry] of this.#entries) if (entry.users === 0) return this.#take(key, entry);
    return undefined;
  }

  /** Forgets all values, and returns them for the caller to close. */
  takeAll(): T[] {
    return [...this.#entries].map(([key, entry]) => this.#take(key, entry));
  }

  /** Closes all values, also those in use. */
  close(): void {
    for (const value of this.takeAll()) this.#close(value);
  }

  #take(key: K, entry: Entry<T>): T {
    this.#forget(key, entry);
    entry.isClosed = true;
    return entry.value;
  }

  #forget(key: K, entry: Entry<T>): void {
    clearTimeout(entry.idle);
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
  }

  #unused(key: K, entry: Entry<T>): void {
    if (entry.isClosed) return;
    const end = (): void => this.#close(this.#take(key, entry));
    if (this.#idleMs === 0 || this.#entries.get(key) !== entry) end();
    else entry.idle = setTimeout(end, this.#idleMs).unref();
  }
}
