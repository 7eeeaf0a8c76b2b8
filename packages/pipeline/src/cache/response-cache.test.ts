import { expect, test } from "vitest";
import { ResponseCache } from "./response-cache.ts";

const bytes = (length: number): Uint8Array => new Uint8Array(length);

test("a response is used until its time to live has passed, at most a day, and only for its function", () => {
  let now = 0;
  const lookups: [boolean, string][] = [];
  const cache = new ResponseCache({
    maxBytes: 10_000,
    now: () => now,
    onLookup: (...lookup) => void lookups.push(lookup),
  });
  cache.of("a").set("tag", bytes(1), 1_000);
  cache.of("a").set("long", bytes(1), 1e12);
  expect(cache.of("b").get("tag")).toBeUndefined();
  now = 999;
  expect(cache.of("a", "name of a").get("tag")).toEqual({ bytes: bytes(1), leftMs: 1 });
  now = 1_000;
  expect(cache.of("a").get("tag")).toBeUndefined();
  expect(lookups).toEqual([
    [false, "b"],
    [true, "name of a"],
    [false, "a"],
  ]);
  now = 86_399_999;
  expect(cache.of("a").get("long")?.leftMs).toBe(1);
  now = 86_400_000;
  expect(cache.of("a").get("long")).toBeUndefined();
  expect(cache.bytes).toBe(0);
});

test("the least recently used responses make room, and what is too large is not stored", () => {
  const cache = new ResponseCache({ maxBytes: 3_000, now: () => 0 });
  const fn = cache.of("a");
  fn.set("1", bytes(1_000), 1_000);
  fn.set("2", bytes(1_000), 1_000);
  fn.get("1");
  fn.set("3", bytes(1_000), 1_000);
  expect(["1", "2", "3"].map((tag) => fn.get(tag) !== undefined)).toEqual([true, false, true]);
  expect(cache.bytes).toBeLessThanOrEqual(3_000);
  fn.set("4", bytes(4_000), 1_000);
  expect(fn.get("4")).toBeUndefined();
  expect(fn.get("3")).toBeDefined();
  fn.set("3", bytes(10), 1_000);
  for (const tag of ["1", "3"]) fn.set(tag, bytes(0), 0);
  fn.get("1");
  fn.get("3");
  expect(cache.bytes).toBe(0);
});

test("a stored response keeps no larger buffer in memory", () => {
  const cache = new ResponseCache({ maxBytes: 3_000, now: () => 0 });
  cache.of("a").set("tag", new Uint8Array(100_000).subarray(10, 20), 1_000);
  expect(cache.of("a").get("tag")?.bytes.buffer.byteLength).toBe(10);
});
