import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { OwnWrites } from "./own-writes.ts";

const REFERENCE = { apiVersion: "example.org/v1", kind: "Thing", name: "a" };
const thing = (resourceVersion: string, uid = "u"): LiveObject => ({
  apiVersion: "example.org/v1",
  kind: "Thing",
  metadata: { name: "a", uid, resourceVersion },
});

test("a cache that lags behind our own write is not believed, one that has caught up is", () => {
  const own = new OwnWrites(() => 0);
  own.saw(thing("10"));
  expect(own.newest(REFERENCE, thing("9"))?.metadata.resourceVersion).toBe("10");
  expect(own.newest(REFERENCE, thing("11"))?.metadata.resourceVersion).toBe("11");
  // What was written is known to be old now.
  expect(own.newest(REFERENCE, thing("9"))?.metadata.resourceVersion).toBe("9");
});

test("resource versions that are no numbers say nothing: the cache is believed", () => {
  const own = new OwnWrites(() => 0);
  own.saw(thing("b"));
  expect(own.newest(REFERENCE, thing("a"))?.metadata.resourceVersion).toBe("a");
});

test("what no cache has shown is believed for some seconds, and it has to be looked again", () => {
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

test("an object that is known to be gone is not there, whatever a cache says; another of its name is", () => {
  const own = new OwnWrites(() => 0);
  own.saw(thing("10"));
  own.sawGone("u");
  expect(own.newest(REFERENCE, thing("10"))).toBeUndefined();
  expect(own.newest(REFERENCE, undefined)).toBeUndefined();
  expect(own.newest(REFERENCE, thing("12", "v"))?.metadata.uid).toBe("v");
});

test("what is gone is forgotten, some time after any cache could show it", () => {
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

test("an object is the same in whatever version it is named", () => {
  const own = new OwnWrites(() => 0);
  own.saw(thing("10"));
  expect(own.newest({ ...REFERENCE, apiVersion: "example.org/v2" }, undefined)).toBeDefined();
});
