import { expect, test } from "vitest";
import { BoundedCache, stringBytes } from "./bounded-cache.ts";

const cacheOf = (maxBytes: number): BoundedCache<string> => new BoundedCache(maxBytes, (value) => value.length);

test("evicts the least recently used values", () => {
  const cache = cacheOf(6);
  cache.set("a", "aa");
  cache.set("b", "bb");
  cache.set("c", "cc");
  cache.get("a");
  cache.set("d", "dd");
  expect(["a", "b", "c", "d"].map((key) => cache.get(key))).toEqual(["aa", undefined, "cc", "dd"]);
  cache.set("e", "eeee");
  expect(["a", "c", "d", "e"].map((key) => cache.get(key))).toEqual([undefined, undefined, "dd", "eeee"]);
});

test("counts a replaced or deleted value no longer, and does not add one that is too large", () => {
  const cache = cacheOf(4);
  cache.set("a", "aaaa");
  cache.set("a", "a");
  cache.set("b", "bbb");
  expect([cache.get("a"), cache.get("b")]).toEqual(["a", "bbb"]);
  cache.delete("b");
  cache.set("c", "ccc");
  cache.set("a", "too large");
  expect([cache.get("a"), cache.get("b"), cache.get("c")]).toEqual([undefined, undefined, "ccc"]);
});

test("many short strings count with their headers", () => {
  expect(stringBytes(["a", "b"], undefined, [""])).toBeGreaterThan(3 * 24);
});
