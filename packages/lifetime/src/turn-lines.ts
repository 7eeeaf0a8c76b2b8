/** A queue for several sources, which take turns. The items of one source leave in the order of their arrival. */
export class TurnLines<T> {
  // The order of the map is that of turns: a source that had its turn moves to the end.
  readonly #lines = new Map<string, Set<T>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The number of items that leave before an item that joins the line of a source now. */
  ahead(source: string): number {
    const own = this.#lines.get(source)?.size ?? 0;
    let ahead = own;
    let turns = own + 1;
    for (const [other, line] of this.#lines) {
      if (other === source) turns = own;
      else ahead += Math.min(line.size, turns);
    }
    return ahead;
  }

  push(source: string, item: T): void {
    const line = this.#lines.get(source);
    if (line === undefined) this.#lines.set(source, new Set([item]));
    else line.add(item);
    this.#size++;
  }

  shift(): T | undefined {
    for (const [source, line] of this.#lines) {
      for (const item of line) {
        this.remove(source, item);
        // A line with remaining items moves to the end.
        if (this.#lines.delete(source)) this.#lines.set(source, line);
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
