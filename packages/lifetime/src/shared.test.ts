import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Shared } from "./shared.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const IDLE_MS = 1000;

/** Shared values, which have numbers, and those that were closed. */
function numbered(idleMs?: number): { shared: Shared<string, number>; open: () => number; closed: number[] } {
  const closed: number[] = [];
  let opened = 0;
  return { shared: new Shared((value) => void closed.push(value), idleMs), open: () => ++opened, closed };
}

test("opens a value for its first user, and closes it after the last one", () => {
  const { shared, open, closed } = numbered();
  const [first, second, other] = [shared.use("a", open), shared.use("a", open), shared.use("b", open)];
  expect([first, second, other].map(({ value, isFirst }) => [value, isFirst])).toEqual([
    [1, true],
    [1, false],
    [2, true],
  ]);
  first.release();
  first.release();
  expect(closed).toEqual([]);
  expect(shared.peek("a")).toBe(1);
  second.release();
  expect(closed).toEqual([1]);
  expect(shared.peek("a")).toBeUndefined();
  expect(shared.use("a", open).value).toBe(3);
});

test("keeps an idle value for a while", () => {
  const { shared, open, closed } = numbered(IDLE_MS);
  shared.use("a", open).release();
  vi.advanceTimersByTime(IDLE_MS - 1);
  const again = shared.use("a", open);
  expect(again.value).toBe(1);
  vi.advanceTimersByTime(IDLE_MS);
  expect(closed).toEqual([]);
  again.release();
  vi.advanceTimersByTime(IDLE_MS);
  expect(closed).toEqual([1]);
  expect(shared.size).toBe(0);
});

test("a forgotten value serves its users to their end, and others get a new one", () => {
  const { shared, open, closed } = numbered(IDLE_MS);
  const old = shared.use("a", open);
  old.forget();
  const next = shared.use("a", open);
  expect(next.value).toBe(2);
  // The name belongs to the next value.
  old.forget();
  expect(shared.peek("a")).toBe(2);
  old.release();
  expect(closed).toEqual([1]);
});

test("a key can be forgotten, whether its value is used or idle, or there is none", () => {
  const { shared, open, closed } = numbered(IDLE_MS);
  const used = shared.use("a", open);
  shared.use("b", open).release();
  for (const key of ["a", "b", "c"]) shared.forget(key);
  expect(closed).toEqual([2]);
  used.release();
  vi.advanceTimersByTime(IDLE_MS);
  expect(closed).toEqual([2, 1]);
});

test("a value for one use is neither shared nor kept", () => {
  const { shared, open, closed } = numbered(IDLE_MS);
  const alone = shared.use("a", open, true);
  expect(shared.use("a", open).value).toBe(2);
  expect(shared.size).toBe(1);
  alone.release();
  expect(closed).toEqual([1]);
});

test("closes all values once, also those in use", () => {
  const { shared, open, closed } = numbered(IDLE_MS);
  const used = shared.use("a", open);
  shared.use("b", open).release();
  shared.close();
  used.release();
  vi.advanceTimersByTime(IDLE_MS);
  expect(closed).toEqual([1, 2]);
});

test("gives an idle value to its caller, and no other", () => {
  const { shared, open, closed } = numbered(IDLE_MS);
  const used = shared.use("a", open);
  expect(shared.takeIdle()).toBeUndefined();
  shared.use("b", open).release();
  expect(shared.takeIdle()).toBe(2);
  expect(shared.takeAll()).toEqual([1]);
  used.release();
  vi.advanceTimersByTime(IDLE_MS);
  expect(closed).toEqual([]);
});

test("gives the least recently used value first", () => {
  const { shared, open } = numbered(IDLE_MS);
  for (const key of ["a", "b", "a"]) shared.use(key, open).release();
  expect([shared.takeIdle(), shared.takeIdle(), shared.takeIdle()]).toEqual([2, 1, undefined]);
});

test("a value that cannot be opened leaves nothing behind", () => {
  const { shared, open } = numbered();
  const fail = (): number => {
    throw new Error("no");
  };
  expect(() => shared.use("a", fail)).toThrow("no");
  expect(shared.use("a", open).value).toBe(1);
});
