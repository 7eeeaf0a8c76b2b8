import { isObject } from "../values/json.ts";

/**
 * The items of a list, each with its index. Templates may come from an API server that has not checked them, or from a
 * program: what is no list has no items, and items that are no objects are passed over.
 */
export function itemsOf<T extends object>(list: readonly T[] | null | undefined): [index: number, item: T][] {
  if (!Array.isArray(list)) return [];
  const items: [number, T][] = [];
  for (const [index, item] of (list as readonly T[]).entries()) if (isObject(item)) items.push([index, item]);
  return items;
}

/** A text, or undefined for anything else. */
export function textOrNone(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
