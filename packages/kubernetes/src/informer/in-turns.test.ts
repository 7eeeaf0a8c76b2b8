import { expect, test } from "vitest";
import { inTurns } from "./in-turns.ts";

const numbers = Array.from({ length: 10_000 }, (_, index) => index);

test("items are handled in order, a bounded number of them in each turn of the event loop", async () => {
  const handled: number[] = [];
  const inOneTurn: number[] = [];
  let before = 0;
  let ended = false;
  const done = inTurns(numbers, (item) => void handled.push(item)).then(() => (ended = true));
  while (!ended) {
    inOneTurn.push(handled.length - before);
    before = handled.length;
    await new Promise((resolve) => setImmediate(resolve));
  }
  await done;
  expect(handled).toEqual(numbers);
  expect(Math.max(...inOneTurn)).toBeLessThanOrEqual(500);
});

test("a few items are handled at once, and a signal ends the handling", async () => {
  const handled: number[] = [];
  const few = inTurns([1, 2, 3], (item) => void handled.push(item));
  expect(handled).toEqual([1, 2, 3]);
  await few;
  const ending = new AbortController();
  await inTurns(numbers, (item) => void (item === 300 && ending.abort()), ending.signal);
  const begun = inTurns(numbers, (item) => void handled.push(item), ending.signal);
  expect(handled).toHaveLength(3);
  await begun;
});

test("a handler that waits is awaited, and its failure ends the handling", async () => {
  const handled: number[] = [];
  const failing = inTurns([1, 2, 3], async (item) => {
    await Promise.resolve();
    if (item === 2) throw new Error("two");
    handled.push(item);
  });
  await expect(failing).rejects.toThrow("two");
  expect(handled).toEqual([1]);
});
