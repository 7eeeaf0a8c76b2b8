import { type CallOptions, FunctionClient } from "@xfn/function-grpc";
import { DEFAULT_OUTPUT_BYTES, type FunctionRunner } from "@xfn/runner-contract";
import { describe, expect, test } from "vitest";
import { changes, packagesOf } from "../../testing/fixtures.ts";
import { run, type TestStep } from "../../testing/packages.ts";
import type { PipelineInput } from "./pipeline-input.ts";

test.each([
  [undefined, DEFAULT_OUTPUT_BYTES],
  [50_000_000, 50_000_000],
])("the response of a package has the bound of a function's output: %s", async (maxOutputBytes, expected) => {
  const seen: (number | undefined)[] = [];
  const packages = packagesOf(() => () => ({}), []);
  const runner: FunctionRunner = {
    run: () => Promise.reject(new Error("no containers")),
    ...(maxOutputBytes && { maxOutputBytes }),
  };
  await run([{ step: "a", handler: () => ({}) }], {
    runner,
    functions: {
      connect: async (step) => {
        const caller = await packages.connect(step);
        return {
          run: (request, options: CallOptions) => {
            seen.push(options.maxResponseBytes);
            return caller.run(request, options);
          },
        };
      },
    },
  });
  expect(seen).toEqual([expected]);
});

describe("a step that returns more than 10,000 entries of a kind ends the run", () => {
  const entries = (count: number): Partial<PipelineInput> => {
    // Results without content.
    const response = Buffer.alloc(2 * count, Buffer.of(0x1a, 0));
    const caller = new FunctionClient({ call: () => Promise.resolve(response) });
    return { functions: { connect: () => Promise.resolve(caller) } };
  };

  test("a package", async () => {
    const steps = [{ step: "a", handler: () => ({}) }];
    const { results } = await run(steps, entries(10_000));
    expect(results).toHaveLength(10_000);
    await expect(run(steps, entries(10_001))).rejects.toMatchObject({
      name: "PipelineError",
      code: "RunFailed",
      step: "a",
      retryable: false,
      message:
        'step "a": cannot read the response: it has more than 10000 entries in results; ' +
        "the function must return fewer (function function-a)",
      cause: { name: "FunctionCallError", code: "TooLarge" },
    });
  });

  test("a FunctionIO container", async () => {
    const io = (count: number): TestStep[] => [
      {
        step: "a",
        io: changes((io) => {
          io.results = Array.from({ length: count }, () => ({ severity: "Normal", message: "m" }));
        }),
      },
    ];
    const { results } = await run(io(10_000));
    expect(results).toHaveLength(10_000);
    await expect(run(io(10_001))).rejects.toMatchObject({
      name: "PipelineError",
      code: "InvalidOutput",
      step: "a",
      message:
        'step "a": its output on stdout has more than 10000 entries in results; ' +
        "the function must return fewer (image image-a)",
    });
  });
});
