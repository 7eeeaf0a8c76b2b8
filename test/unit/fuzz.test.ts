import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { fuzz, MAX_MS } from "../fuzz/run.ts";
import { target } from "../fuzz/target.ts";
import { TARGETS, WEIGHTS } from "../fuzz/targets.ts";
import { FuzzThread, share } from "../fuzz/watch.ts";

// The same inputs each time: a change that breaks one is found, and nothing fails now and then. `npm run fuzz` makes new ones.
const SEED = 20_231_101;
// Finds what does not end in time. `npm run fuzz` takes the tenth of it, which a slow and busy machine may fail.
const MAX_TEST_MS = 10 * MAX_MS;
const SHARES = share(20_000, WEIGHTS);

test("every target has its share", () => {
  expect([...SHARES.keys()]).toEqual(Object.keys(TARGETS));
  expect([...SHARES.values()].reduce((sum, runs) => sum + runs, 0)).toBeGreaterThanOrEqual(20_000);
});

describe("hostile input is answered, or refused by a typed error, in time", () => {
  const thread = new FuzzThread();
  afterAll(() => thread.close());

  test.each([...SHARES])("%s, %i times", async (name, runs) => {
    const result = await thread.fuzz({ target: name, runs, seed: SEED, maxMs: MAX_TEST_MS });
    expect(result.failure).toBeUndefined();
    expect(result.runs).toBe(runs);
  });
});

describe("what is wrong is found", () => {
  const typed = Object.assign(new Error("no"), { code: "No", retryable: false });

  test("a crash, with its seed and the smallest input", () => {
    const crashing = target<number>({
      input: fc.nat(1000),
      run: (input) => {
        if (input > 7) throw new TypeError("undefined is not a function");
        if (input > 5) throw typed;
      },
    });
    const { failure } = fuzz(crashing, { runs: 1000, seed: 1 });
    expect(failure).toMatch(/^seed 1, path [0-9:]+/);
    expect(failure).toMatch(/input: 8\n/);
    expect(failure).toMatch(/TypeError/);
  });

  test("an input that is slow each time, and not one that was slow once", () => {
    const slept: number[] = [];
    const slow = (times: number) =>
      target<number>({
        input: fc.constant(1),
        run: () => {
          if (slept.length >= times) return;
          slept.push(1);
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, MAX_MS + 20);
        },
      });
    expect(fuzz(slow(1), { runs: 2, seed: 1 }).failure).toBeUndefined();
    expect(fuzz(slow(Number.POSITIVE_INFINITY), { runs: 1, seed: 1 }).failure).toMatch(/ms/);
  });

  test("a typed error is an answer", () => {
    const refusing = target<number>({
      input: fc.nat(),
      run: () => {
        throw typed;
      },
    });
    expect(fuzz(refusing, { runs: 10, seed: 1 })).toMatchObject({ runs: 10, refused: 10 });
  });
});
