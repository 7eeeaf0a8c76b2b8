import type { Composition } from "@xfn/composition";
import { describe, expect, test } from "vitest";
import { bucket, changes, compositionOf, desires, prints, xr } from "../../testing/fixtures.ts";
import type { InProcessFunction } from "../in-process.ts";
import type { PipelineInput } from "../steps/pipeline-input.ts";
import { type PipelineResult, runPipeline } from "../steps/run-pipeline.ts";
import { ResponseCache } from "./response-cache.ts";

const STEP = { container: { image: "image" }, cache: { ttl: "1m" } };

const asFunctions = (step: object): Composition => compositionOf([{ name: "only", ...step }]);
const asPipeline = (step: object): Composition =>
  compositionOf([], { mode: "Pipeline", pipeline: [{ step: "only", ...step }] });

/** Runs one function with one store, and counts its calls. */
class Runs {
  calls = 0;
  /** Milliseconds of the store's clock. */
  now = 0;
  fn: InProcessFunction;
  readonly #responses = new ResponseCache({ maxBytes: 1_000_000, now: () => this.now });

  constructor(fn: InProcessFunction) {
    this.fn = fn;
  }

  async run(composition = asFunctions(STEP), more: Partial<PipelineInput> = {}): Promise<PipelineResult> {
    return await this.runWithoutStore(composition, { responses: this.#responses, ...more });
  }

  async runWithoutStore(composition: Composition, more: Partial<PipelineInput> = {}): Promise<PipelineResult> {
    const runner = {
      run: async (_: string, input: Uint8Array) => {
        this.calls++;
        return await this.fn(input, {});
      },
    };
    return await runPipeline({ composite: xr(), composition, runner, ...more });
  }
}

describe("a step with cache", () => {
  test.each([
    ["functions", asFunctions],
    ["pipeline", asPipeline],
  ])("in %s is called once for the same input, until its time to live has passed", async (_, compositionWith) => {
    const wants = desires({ a: bucket() });
    const runs = new Runs((input, options) => {
      const output = wants(input, options);
      // The key is that of the input as the pipeline made it.
      input.fill(0);
      return output;
    });
    const composition = compositionWith(STEP);
    const { desired, results } = await runs.run(composition);
    expect(desired.resources).toMatchObject([{ name: "a" }]);
    runs.now = 59_999;
    expect(await runs.run(composition)).toMatchObject({ desired, results });
    expect(runs.calls).toBe(1);
    // A use does not extend the time.
    runs.now = 60_000;
    await runs.run(composition);
    expect(runs.calls).toBe(2);
  });

  test("is called again if its input, container or time to live changes", async () => {
    const runs = new Runs(changes(() => {}));
    const config = { apiVersion: "c/v1", kind: "C", n: 1 };
    const runsOf: [step: object, more?: Partial<PipelineInput>][] = [
      [STEP],
      [STEP, { composite: xr({}, { spec: { size: 4 } }) }],
      [STEP, { observed: [{ name: "a", resource: bucket() }] }],
      [{ ...STEP, config }],
      [{ ...STEP, container: { image: "image-2" } }],
      [{ ...STEP, cache: { ttl: "2m" } }],
    ];
    for (const [index, [step, more]] of runsOf.entries()) {
      for (let count = 0; count < 2; count++) await runs.run(asFunctions(step), more);
      expect(runs.calls).toBe(index + 1);
    }
  });

  test("is called again after a fatal result, an invalid output or a failure", async () => {
    const failing: InProcessFunction[] = [
      changes((io) => void (io.results = [{ severity: "Fatal", message: "no" }])),
      prints("nonsense"),
      desires({ a: { spec: {} } }),
      () => Promise.reject(new Error("it crashed")),
    ];
    const runs = new Runs(changes(() => {}));
    for (const fn of failing) {
      runs.fn = fn;
      await runs.run().catch(() => undefined);
    }
    expect(runs.calls).toBe(failing.length);
    runs.fn = changes(() => {});
    for (let count = 0; count < 2; count++) expect((await runs.run()).fatal).toBeUndefined();
    expect(runs.calls).toBe(failing.length + 1);
  });

  test("needs no credentials for its image while its output is used again", async () => {
    let asked = 0;
    const auth: PipelineInput["auth"] = async () => {
      asked++;
      return await Promise.resolve(undefined);
    };
    const runs = new Runs(changes(() => {}));
    for (let count = 0; count < 2; count++) await runs.run(undefined, { auth });
    expect(asked).toBe(1);
  });
});

test("a step without cache is called in each run, and so is one whose output nothing stores", async () => {
  const runs = new Runs(changes(() => {}));
  for (let count = 0; count < 2; count++) await runs.run(asFunctions({ container: STEP.container }));
  expect(runs.calls).toBe(2);
  for (let count = 0; count < 2; count++) await runs.runWithoutStore(asFunctions(STEP));
  expect(runs.calls).toBe(4);
});
