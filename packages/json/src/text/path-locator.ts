import type { JsonPath } from "../value/json-value.ts";

interface Place {
  /** The start of the value; undefined if the text has none, or if the walk has not reached it. */
  offset: number | undefined;
  inner: Map<string | number, Place> | undefined;
}

/**
 * Finds the positions of many paths in one walk over a text. A walk takes as long as parsing. One walk for each of a
 * hundred findings would take minutes for a large file.
 */
export class PathLocator {
  readonly #paths: readonly JsonPath[];
  readonly #root: Place = { offset: undefined, inner: undefined };

  constructor(paths: readonly JsonPath[]) {
    this.#paths = paths;
    for (const path of paths) {
      let place = this.#root;
      for (const part of path) {
        place.inner ??= new Map();
        let inner = place.inner.get(part);
        if (inner === undefined) place.inner.set(part, (inner = { offset: undefined, inner: undefined }));
        place = inner;
      }
    }
  }

  /**
   * Must be called for everything in the text, in order: for a field first its key, then its value. The key is the
   * position.
   */
  visit(path: JsonPath, offset: number): void {
    let place: Place | undefined = this.#root;
    for (const part of path) {
      place = place.inner?.get(part);
      if (place === undefined) return;
    }
    place.offset ??= offset;
  }

  /** The offset of each path, in the order of the input, or of its nearest ancestor if the path does not exist. */
  offsets(): number[] {
    return this.#paths.map((path) => {
      let place: Place | undefined = this.#root;
      let offset = place.offset ?? 0;
      for (const part of path) {
        place = place.inner?.get(part);
        if (place?.offset === undefined) break;
        ({ offset } = place);
      }
      return offset;
    });
  }
}
