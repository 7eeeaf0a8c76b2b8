import type { LiveObject } from "@xfn/kubernetes";

/** A cache of composed resources that has all of them whole. */
export function wholeCache(cache: { get(name: string, namespace?: string): LiveObject | undefined }): {
  get(name: string, namespace?: string): LiveObject | undefined;
  isWhole(): boolean;
  complete(): boolean;
} {
  return { get: (...key) => cache.get(...key), isWhole: () => true, complete: () => true };
}
