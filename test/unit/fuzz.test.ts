import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { fuzz, MAX_MS } from "../fuzz/run.ts";
import { target } from "../fuzz/target.ts";
import { TARGETS, WEIGHTS } from "../fuzz/targets.ts";
import { FuzzThread, share } from "../fuzz/watch.ts";

// A fixed seed makes the test deterministic. `npm run fuzz` generates new inputs.
const SEED = 20_231_101;
// Ten times the limit of `npm run fuzz`, because tests also run on slow and busy machines.
const MAX_TEST_MS = 10 * MAX_MS;
const SHARES = share(20_000, WEIGHTS);

test("every target gets a share of the runs", () => {
  expect([...SHARES.keys()]).toEqual(Object.keys(TARGETS));
  expect([...SHARES.values()].reduce((sum, runs) => sum + runs, 0)).toBeGreaterThanOrEqual(20_000);
});

describe("every target accepts hostile input or rejects it with a typed error, in time", () => {
  const thread = new FuzzThread();
  afterAll(() => thread.close());

  test.each([...SHARES])("%s, %i times", async (name, runs) => {
    const result = await thread.fuzz({ target: name, runs, seed: SEED, maxMs: MAX_TEST_MS });
    expect(result.failure).toBeUndefined();
    expect(result.runs).toBe(runs);
  });
});

describe("fuzz reports", () => {
  const typed = Object.assign(new Error("no"), { code: "No", retryable: false });

  test("a crash, with its seed and the smallest failing input", () => {
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

  test("an input that is slow every time, but not an input that was slow once", () => {
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

  test("a typed error as a rejection, not as a failure", () => {
    const refusing = target<number>({
      input: fc.nat(),
      run: () => {
        throw typed;
      },
    });
    expect(fuzz(refusing, { runs: 10, seed: 1 })).toMatchObject({ runs: 10, refused: 10 });
  });
});
