import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { OwnWrites } from "./own-writes.ts";

const REFERENCE = { apiVersion: "example.org/v1", kind: "Thing", name: "a" };
const thing = (resourceVersion: string, uid = "u"): LiveObject => ({
  apiVersion: "example.org/v1",
  kind: "Thing",
  metadata: { name: "a", uid, resourceVersion },
});

test("an own write wins over a stale cache until the cache has caught up", () => {
  const own = new OwnWrites(() => 0);
  own.saw(thing("10"));
  expect(own.newest(REFERENCE, thing("9"))?.metadata.resourceVersion).toBe("10");
  expect(own.newest(REFERENCE, thing("11"))?.metadata.resourceVersion).toBe("11");
  // The newer cached version has replaced the recorded write.
  expect(own.newest(REFERENCE, thing("9"))?.metadata.resourceVersion).toBe("9");
});

test("the cache wins if resource versions are not numbers", () => {
  const own = new OwnWrites(() => 0);
  own.saw(thing("b"));
  expect(own.newest(REFERENCE, thing("a"))?.metadata.resourceVersion).toBe("a");
});

test("an object that no cache shows counts as existing for some seconds, and requires a requeue", () => {
  let now = 0;
  const own = new OwnWrites(() => now);
  own.saw(thing("10"));
  own.begin();
  expect(own.requeueAfterMs).toBeUndefined();
  expect(own.newest(REFERENCE, undefined)?.metadata.resourceVersion).toBe("10");
  const again = own.requeueAfterMs ?? 0;
  expect(again).toBeGreaterThan(0);
  now = again + 1;
  own.begin();
  expect(own.newest(REFERENCE, undefined)).toBeUndefined();
  expect(own.requeueAfterMs).toBeUndefined();
});

test("a deleted object is missing even if a cache shows it; another one of its name is not", () => {
  const own = new OwnWrites(() => 0);
  own.saw(thing("10"));
  own.sawGone("u");
  expect(own.newest(REFERENCE, thing("10"))).toBeUndefined();
  expect(own.newest(REFERENCE, undefined)).toBeUndefined();
  expect(own.newest(REFERENCE, thing("12", "v"))?.metadata.uid).toBe("v");
});

test("a deletion is forgotten when no cache can show the object any more", () => {
  let now = 0;
  const own = new OwnWrites(() => now);
  own.sawGone("u");
  now = 60_000;
  own.begin();
  expect(own.newest(REFERENCE, thing("10"))).toBeUndefined();
  now = 24 * 3_600_000;
  own.begin();
  expect(own.newest(REFERENCE, thing("10"))).toBeDefined();
});

test("a write is found in every version of the kind", () => {
  const own = new OwnWrites(() => 0);
  own.saw(thing("10"));
  expect(own.newest({ ...REFERENCE, apiVersion: "example.org/v2" }, undefined)).toBeDefined();
});

test("an object that no cache shows does not count as existing when the clock goes back", () => {
  let now = 3_600_000;
  const own = new OwnWrites(() => now);
  own.saw(thing("10"));
  now = 0;
  expect(own.newest(REFERENCE, undefined)).toBeUndefined();
});
