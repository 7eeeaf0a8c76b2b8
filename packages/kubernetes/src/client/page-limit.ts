// Objects have 3 MB at most with their managed fields, and usually some KB. So a first page has some tens of MB at
// most.
const FIRST_ITEMS = 20;
// The page size of Kubernetes' own controllers: some hundred KB a page.
const MOST_ITEMS = 500;
// A page is in memory as bytes, as text and as objects. Parsing it takes some tens of milliseconds.
const PAGE_BYTES = 4 * 1024 * 1024;
// One large object among many small ones must not make the next page much larger than the target.
const GROWTH = 8;

/** The number of objects to ask for in the next page of a list: few at first, then as many as their sizes allow. */
export class PageLimit {
  readonly #most: number;
  #items: number;

  /** @param most objects in a page */
  constructor(most: number = MOST_ITEMS) {
    this.#most = most;
    this.#items = Math.min(FIRST_ITEMS, most);
  }

  get items(): number {
    return this.#items;
  }

  /** Adapts to the page that was read. */
  read(items: number, bytes: number): void {
    const fitting = Math.floor((PAGE_BYTES * Math.max(1, items)) / Math.max(1, bytes));
    this.#items = Math.max(1, Math.min(this.#most, fitting, this.#items * GROWTH));
  }
}
