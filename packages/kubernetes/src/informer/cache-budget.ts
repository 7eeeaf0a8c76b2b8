/** The bytes of whole objects that several informers may have together. */
export class CacheBudget {
  readonly maxBytes: number;
  #usedBytes = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** @param bytes less than 0 to give back */
  use(bytes: number): void {
    this.#usedBytes += bytes;
  }
}
