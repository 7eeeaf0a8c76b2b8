import { expect, test } from "vitest";
import { type Clock, withElapsedTime } from "./elapsed-time.ts";
import type { Output } from "./output.ts";

function terminal(interactive = true): Output & { statuses: (string | undefined)[] } {
  const statuses: (string | undefined)[] = [];
  return {
    statuses,
    interactive,
    columns: 30,
    product: async () => undefined,
    note: () => undefined,
    status: (line) => void statuses.push(line),
  };
}

/** A clock that the test moves: each call passes a second. */
function steppedClock(): Clock & { second: () => void; isRunning: () => boolean } {
  let time = 0;
  let ticking: (() => void) | undefined;
  return {
    now: () => time,
    start: (tick) => {
      ticking = tick;
      return () => (ticking = undefined);
    },
    second: () => {
      time += 1000;
      ticking?.();
    },
    isRunning: () => ticking !== undefined,
  };
}

test("shows the work and its seconds after two seconds of silence, and clears the line at the end", async () => {
  const output = terminal();
  const clock = steppedClock();
  const result = await withElapsedTime(
    output,
    () => "pulling a",
    async (shown) => {
      clock.second();
      expect(output.statuses).toEqual([]);
      clock.second();
      clock.second();
      // Its own progress begins a new silence.
      shown.status("10%");
      clock.second();
      return "done";
    },
    clock,
  );
  expect(result).toBe("done");
  expect(output.statuses).toEqual(["pulling a, 2 s", "pulling a, 3 s", "10%", undefined]);
  expect(clock.isRunning()).toBe(false);
});

test("keeps to the width of the terminal, and ends with work that fails", async () => {
  const output = terminal();
  const clock = steppedClock();
  const failing = withElapsedTime(
    output,
    () => "a".repeat(40),
    async () => {
      for (let at = 0; at < 2; at++) clock.second();
      throw new Error("failed");
    },
    clock,
  );
  await expect(failing).rejects.toThrow("failed");
  expect(output.statuses).toEqual(["a".repeat(29), undefined]);
  expect(clock.isRunning()).toBe(false);
});

test("shows nothing without a terminal", async () => {
  const output = terminal(false);
  const clock = steppedClock();
  await withElapsedTime(
    output,
    () => "a",
    async () => expect(clock.isRunning()).toBe(false),
    clock,
  );
  expect(output.statuses).toEqual([]);
});
