import type { FieldPath, FieldPathSegment } from "@xfn/composition";
import { Hidden, type Masked, sameMasked } from "./masked.ts";
import type { TraceOrigin } from "./trace.ts";

/** The origins of a value, in the form of the value: one origin if all its fields have the same. */
export type OriginTree = TraceOrigin | OriginTree[] | Map<string, OriginTree>;

/** A field that differs. Fields are leaves. */
export interface LeafChange {
  op: "added" | "changed" | "removed";
  path: FieldPath;
  before?: Masked;
  after?: Masked;
  origin?: TraceOrigin;
}

/** The result of {@link compare}. */
export interface Comparison {
  changes: LeafChange[];
  /** The origins of `after`; undefined if there is no `after`. */
  origins: OriginTree | undefined;
}

/**
 * Compares a value before and after a step, and keeps the origins of its fields. Unchanged fields keep their origin,
 * even in lists that became longer or shorter in one place.
 *
 * @param originAt the origin of the field at a path, if this step set it
 */
export function compare(
  before: Masked | undefined,
  after: Masked | undefined,
  origins: OriginTree | undefined,
  originAt: (path: FieldPath) => TraceOrigin,
): Comparison {
  const walk = new Walk(originAt);
  if (after !== undefined) return { origins: walk.compare(before, after, origins), changes: walk.changes };
  if (before !== undefined) walk.removed(before);
  return { origins: undefined, changes: walk.changes };
}

/** Whether a value has no fields. */
export function isLeaf(value: Masked): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return !(value instanceof Map) || value.size === 0;
}

/** The origin of the value at a key or an index. */
export function childOrigin(origins: OriginTree | undefined, segment: FieldPathSegment): OriginTree | undefined {
  if (Array.isArray(origins)) return origins[segment as number];
  return origins instanceof Map ? origins.get(segment as string) : origins;
}

class Walk {
  readonly changes: LeafChange[] = [];
  readonly #path: FieldPathSegment[] = [];
  readonly #originAt: (path: FieldPath) => TraceOrigin;

  constructor(originAt: (path: FieldPath) => TraceOrigin) {
    this.#originAt = originAt;
  }

  compare(before: Masked | undefined, after: Masked, origins: OriginTree | undefined): OriginTree {
    if (before === undefined) return this.#added(after);
    if (before instanceof Map && after instanceof Map) return this.#maps(before, after, origins);
    if (Array.isArray(before) && Array.isArray(after)) return this.#lists(before, after, origins);
    if (isLeaf(before) && isLeaf(after)) {
      if (sameMasked(before, after)) return origins ?? this.#originAt(this.#path);
      return this.#leaf({ op: "changed", before, after });
    }
    this.removed(before);
    return this.#added(after);
  }

  removed(before: Masked): void {
    if (isLeaf(before)) this.changes.push({ op: "removed", path: [...this.#path], before });
    else if (Array.isArray(before)) before.forEach((item, index) => this.#at(index, () => this.removed(item)));
    else if (before instanceof Map) for (const [key, item] of before) this.#at(key, () => this.removed(item));
  }

  #added(after: Masked): OriginTree {
    if (isLeaf(after)) return this.#leaf({ op: "added", after });
    if (Array.isArray(after)) return after.map((item, index) => this.#at(index, () => this.#added(item)));
    const origins = new Map<string, OriginTree>();
    if (after instanceof Map) {
      for (const [key, item] of after)
        origins.set(
          key,
          this.#at(key, () => this.#added(item)),
        );
    }
    return origins;
  }

  #leaf(change: Omit<LeafChange, "path" | "origin">): TraceOrigin {
    const path = [...this.#path];
    const origin = this.#originAt(path);
    this.changes.push({ ...change, path, origin });
    return origin;
  }

  #maps(before: Map<string, Masked>, after: Map<string, Masked>, origins: OriginTree | undefined): OriginTree {
    for (const [key, item] of before) if (!after.has(key)) this.#at(key, () => this.removed(item));
    if (after.size === 0) return this.#empty(before.size === 0, origins);
    const made = new Map<string, OriginTree>();
    for (const [key, item] of after) {
      made.set(
        key,
        this.#at(key, () => this.compare(before.get(key), item, childOrigin(origins, key))),
      );
    }
    return made;
  }

  /** The equal items at the start and the end of both lists have only moved; the others are compared one by one. */
  #lists(before: Masked[], after: Masked[], origins: OriginTree | undefined): OriginTree {
    const shorter = Math.min(before.length, after.length);
    let start = 0;
    while (start < shorter && sameMasked(before[start], after[start])) start++;
    let end = 0;
    while (end < shorter - start && sameMasked(before.at(-1 - end), after.at(-1 - end))) end++;
    const moved = after.length - before.length;
    for (let index = start + Math.max(0, after.length - end - start); index < before.length - end; index++) {
      this.#at(index, () => this.removed(before[index] as Masked));
    }
    if (after.length === 0) return this.#empty(before.length === 0, origins);
    return after.map((item, index) => {
      const isAtEnd = index >= after.length - end;
      const was = isAtEnd ? index - moved : index;
      const known = isAtEnd || was < before.length - end ? before[was] : undefined;
      return this.#at(index, () => this.compare(known, item, childOrigin(origins, was)));
    });
  }

  #empty(wasEmpty: boolean, origins: OriginTree | undefined): OriginTree {
    const known = wasEmpty && origins !== undefined && !Array.isArray(origins) && !(origins instanceof Map);
    return known ? origins : this.#originAt(this.#path);
  }

  #at<T>(segment: FieldPathSegment, work: () => T): T {
    this.#path.push(segment);
    const result = work();
    this.#path.pop();
    return result;
  }
}

/** The value of a leaf for the trace; undefined if it is hidden. */
export function leafValue(
  leaf: Masked,
): null | boolean | number | bigint | string | [] | Record<string, never> | undefined {
  if (leaf instanceof Hidden) return undefined;
  if (Array.isArray(leaf)) return [];
  return leaf instanceof Map ? {} : leaf;
}
