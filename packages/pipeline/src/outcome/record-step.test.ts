import { describe, expect, test } from "vitest";
import { bucket, changes, desires, prints, runOf } from "../../testing/fixtures.ts";
import { runPipeline } from "../steps/run-pipeline.ts";
import type { StepRecord } from "./step-record.ts";

async function recorded(
  run: ReturnType<typeof runOf>,
): Promise<{ records: StepRecord[]; error: unknown; phases: unknown[] }> {
  const records: StepRecord[] = [];
  const phases: unknown[] = [];
  const onPhase = (...phase: unknown[]): number => phases.push(phase);
  const error = await runPipeline({ ...run, onPhase, onRecord: (record) => records.push(record) }).then(
    () => undefined,
    (cause: unknown) => cause,
  );
  return { records, error, phases };
}

describe("the record of a step", () => {
  test("has the step, its input, its output and its changes", async () => {
    let given = 0;
    const { records } = await recorded(
      runOf(
        (input, options) => {
          given = input.length;
          return desires({ a: bucket() })(input, options);
        },
        changes((io) => void (io.results = [{ severity: "Normal", message: "hello" }])),
      ),
    );
    const [first, second] = records;
    expect(first).toMatchObject({
      name: "step-1",
      kind: "function",
      image: "image-1",
      inputBytes: given,
      results: [],
      before: {},
    });
    expect(first?.outputBytes).toBeGreaterThan(given);
    expect(first?.ms).toBeGreaterThan(0);
    expect(first?.after.resources?.map(({ name }) => name)).toEqual(["a"]);
    expect(second?.before).toBe(first?.after);
    expect(second?.results).toEqual([{ severity: "Normal", step: "step-2", message: "hello" }]);
    expect(first).not.toHaveProperty("error");
  });

  test("adds up the runner's phases, and reports them", async () => {
    const { records, phases } = await recorded(
      runOf((input, { onPhase }) => {
        onPhase?.("start", 2);
        onPhase?.("start", 3);
        onPhase?.("run", 5);
        return input;
      }),
    );
    expect(records[0]?.phases).toEqual({ start: 5, run: 5 });
    expect(phases).toEqual([
      ["step-1", "start", 2],
      ["step-1", "start", 3],
      ["step-1", "run", 5],
    ]);
  });

  test("of a failed step is the last, has the reason, and the state before the step", async () => {
    const { records, error } = await recorded(
      runOf(desires({ a: bucket() }), prints("secret: [unclosed"), desires({ b: bucket() })),
    );
    expect(records).toHaveLength(2);
    expect(records[1]).toMatchObject({ outputBytes: 17, error: { code: "InvalidOutput" } });
    expect(records[1]?.after).toBe(records[1]?.before);
    expect(error).toMatchObject({ message: records[1]?.error?.message });
    expect(JSON.stringify(records[1]?.error)).not.toContain("secret");
  });

  test("of a step that desires an impossible object has the state before the step", async () => {
    const { records } = await recorded(runOf(desires({ a: { kind: "Bucket" } })));
    expect(records[0]).toMatchObject({ after: {}, error: { code: "InvalidDesired" } });
  });

  test("of a step that ends the run by a fatal result has that result", async () => {
    const { records } = await recorded(
      runOf(
        changes((io) => void (io.results = [{ severity: "Fatal", message: "no" }])),
        desires({ b: bucket() }),
      ),
    );
    expect(records).toHaveLength(1);
    expect(records[0]?.results).toEqual([{ severity: "Fatal", step: "step-1", message: "no" }]);
  });
});
