/** Queues by source. Sources take turns; within a source, the first in is the first out. */
export class TurnLines<T> {
  // Map order is turn order: a served source moves to the end. Sets, because items may be removed from the middle.
  readonly #lines = new Map<string, Set<T>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(source: string, item: T): void {
    const line = this.#lines.get(source);
    if (line === undefined) this.#lines.set(source, new Set([item]));
    else line.add(item);
    this.#size++;
  }

  shift(): T | undefined {
    for (const [source, line] of this.#lines) {
      this.#lines.delete(source);
      for (const item of line) {
        line.delete(item);
        if (line.size > 0) this.#lines.set(source, line);
        this.#size--;
        return item;
      }
    }
    return undefined;
  }

  remove(source: string, item: T): void {
    const line = this.#lines.get(source);
    if (line?.delete(item) !== true) return;
    this.#size--;
    if (line.size === 0) this.#lines.delete(source);
  }
}
