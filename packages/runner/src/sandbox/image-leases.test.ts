import type { Image } from "@xfn/oci-rootfs";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ImageLeases } from "./image-leases.ts";

const IDLE_MS = 1000;
const digest = "sha256:1";
const image = { digest } as Image;
let released: string[];
let isKept: boolean;
let isDiskFull: boolean;
let leases: ImageLeases;
beforeEach(() => {
  vi.useFakeTimers();
  released = [];
  isKept = false;
  isDiskFull = false;
  const store = {
    release: (digest: string): void => {
      if (isDiskFull) throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
      released.push(digest);
    },
  };
  leases = new ImageLeases(store, () => !isKept, IDLE_MS);
});
afterEach(() => {
  leases.close();
  vi.useRealTimers();
});
const found = (): Promise<Image> => Promise.resolve(image);

test("releases an image after its idle time", async () => {
  await leases.lookUp(found);
  await leases.lookUp(found);
  leases.release(digest);
  vi.advanceTimersByTime(10 * IDLE_MS);
  expect(released).toEqual([]);
  leases.release(digest);
  vi.advanceTimersByTime(IDLE_MS - 1);
  expect(released).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(released).toEqual([digest]);
  vi.advanceTimersByTime(10 * IDLE_MS);
  expect(released).toEqual([digest]);
});

test("a call within the idle time keeps it", async () => {
  await leases.lookUp(found);
  leases.release(digest);
  vi.advanceTimersByTime(IDLE_MS - 1);
  await leases.lookUp(found);
  vi.advanceTimersByTime(10 * IDLE_MS);
  expect(released).toEqual([]);
});

test("a waiting sandbox keeps it", async () => {
  isKept = true;
  await leases.lookUp(found);
  leases.release(digest);
  vi.advanceTimersByTime(10 * IDLE_MS);
  expect(released).toEqual([]);
  isKept = false;
  vi.advanceTimersByTime(IDLE_MS);
  expect(released).toEqual([digest]);
});

test("retries a release that the store could not record", async () => {
  isDiskFull = true;
  await leases.lookUp(found);
  leases.release(digest);
  expect(() => vi.advanceTimersByTime(10 * IDLE_MS)).not.toThrow();
  isDiskFull = false;
  vi.advanceTimersByTime(IDLE_MS);
  expect(released).toEqual([digest]);
});

test("releases nothing while a lookup is running", async () => {
  await leases.lookUp(found);
  leases.release(digest);
  const { promise, resolve } = Promise.withResolvers<Image>();
  const call = leases.lookUp(() => promise);
  vi.advanceTimersByTime(10 * IDLE_MS);
  resolve(image);
  await call;
  vi.advanceTimersByTime(10 * IDLE_MS);
  expect(released).toEqual([]);
});

test("a failed lookup delays no release", async () => {
  await leases.lookUp(found);
  leases.release(digest);
  await expect(leases.lookUp(() => Promise.reject(new Error("none")))).rejects.toThrow("none");
  vi.advanceTimersByTime(IDLE_MS);
  expect(released).toEqual([digest]);
});

test("releases nothing after close", async () => {
  await leases.lookUp(found);
  leases.release(digest);
  leases.close();
  vi.advanceTimersByTime(10 * IDLE_MS);
  expect(released).toEqual([]);
});
