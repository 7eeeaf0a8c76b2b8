import { describe, expect, test } from "vitest";
import { compareCel, describeDisagreement } from "../fuzz/cel/run-cel.ts";
import { needs } from "../harness/needs.ts";

// A fixed seed makes the test deterministic. `npm run fuzz -- cel` generates new rules.
const SEED = 20_261_127;

describe("CEL rules and schemas", needs("api-server"), () => {
  test("are accepted, refused, defaulted, pruned and reported as by a real API server", async () => {
    const { counts, unexplained, obsolete } = await compareCel({ rules: 240, seed: SEED });
    expect(unexplained.map(describeDisagreement)).toEqual([]);
    expect(obsolete).toEqual([]);
    expect(counts.rules).toBeGreaterThanOrEqual(240);
    expect(Math.min(counts.refused, counts.rules - counts.refused, counts.invalid)).toBeGreaterThan(20);
  });
});
