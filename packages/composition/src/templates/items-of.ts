import { isObject } from "../values/json.ts";

/**
 * The objects of a list, each with its index. Templates of programs are not checked: a value that is not a list has no
 * items, and items that are not objects are skipped.
 */
export function itemsOf<T extends object>(list: readonly T[] | null | undefined): [index: number, item: T][] {
  if (!Array.isArray(list)) return [];
  const items: [number, T][] = [];
  for (const [index, item] of (list as readonly T[]).entries()) if (isObject(item)) items.push([index, item]);
  return items;
}

/** A value if it is a string. */
export function textOrNone(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
