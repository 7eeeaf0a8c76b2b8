import type { FunctionIO } from "@xfn/functionio";
import type { RunOptions } from "@xfn/runner-contract";
import { describe, expect, test } from "vitest";
import { bucket, changes, compositionOf, desires, failure, runOf, spy, xr } from "../../testing/fixtures.ts";
import { runPipeline } from "./run-pipeline.ts";
import { labelled } from "./run-templates.ts";

describe("the input of a function", () => {
  test("has its own config, the observed state, the desired state and the results so far", async () => {
    const seen: FunctionIO[] = [];
    const look = spy(seen);
    const { runner } = runOf(
      (input) => desires({ a: bucket() })(look(input), {}),
      (input) =>
        look(changes((io) => void (io.results = [{ severity: "Normal", message: "hello" }]))(input, {}) as Uint8Array),
      look,
    );
    const composition = compositionOf([
      { name: "one", container: { image: "image-1" }, config: { apiVersion: "c/v1", kind: "C", n: 1 } },
      { name: "two", container: { image: "image-2" } },
      { name: "three", container: { image: "image-3" }, config: { apiVersion: "c/v1", kind: "C", n: 3 } },
    ]);
    const observed = [{ name: "a", resource: bucket(), connectionDetails: [{ name: "user", value: "admin" }] }];
    const connectionDetails = [{ name: "uri", value: "x" }];
    await runPipeline({ composite: xr(), composition, runner, observed, connectionDetails });
    const plain = JSON.parse(JSON.stringify(seen)) as FunctionIO[];
    expect(plain.map((io) => io.config?.["n"])).toEqual([1, undefined, 3]);
    for (const io of plain) {
      expect(io.observed).toEqual({ composite: { resource: xr(), connectionDetails }, resources: observed });
    }
    const composite = { resource: labelled(xr()), connectionDetails };
    expect(plain[0]?.desired).toEqual({ composite });
    expect(plain[0]?.results).toEqual([]);
    expect(plain[2]?.desired).toEqual({ composite, resources: [{ name: "a", resource: bucket() }] });
    expect(plain[2]?.results).toEqual([{ severity: "Normal", message: "hello" }]);
  });

  test("has its own settings, and the runner's defaults for omitted ones", async () => {
    const seen: [image: string, options: RunOptions | undefined][] = [];
    const composition = compositionOf([
      {
        name: "limited",
        container: {
          image: "a",
          timeout: "1m30s",
          network: "Accessible",
          imagePullPolicy: "Always",
          resources: { limits: { memory: "64Mi", cpu: "250m" } },
        },
      },
      { name: "plain", container: { image: "b" } },
    ]);
    await runPipeline({
      composite: xr(),
      composition,
      runner: {
        run: async (image, input, options) => {
          seen.push([image, options]);
          return input;
        },
      },
      auth: async (step) => (step.name === "limited" ? { username: "u" } : undefined),
    });
    const settings = seen.map(([image, options]) => {
      const { onStderr: _onStderr, ...rest } = options ?? {};
      return [image, rest];
    });
    expect(settings).toEqual([
      [
        "a",
        {
          step: "limited",
          timeoutMs: 90_000,
          network: "Accessible",
          pullPolicy: "Always",
          memoryBytes: 64 * 1024 * 1024,
          cpus: 0.25,
          auth: { username: "u" },
        },
      ],
      ["b", { step: "plain", network: "Isolated" }],
    ]);
  });

  test("is a separate buffer: a function that overwrites its input does not affect the next", async () => {
    const seen: FunctionIO[] = [];
    const run = runOf((input) => {
      const output = input.slice();
      input.fill(0);
      return output;
    }, spy(seen));
    await runPipeline(run);
    expect(seen[0]?.observed.composite?.resource?.kind).toBe("XStore");
  });

  test("observed state is printed once for all steps", async () => {
    const reads = async (steps: number): Promise<number> => {
      let count = 0;
      const resource = bucket();
      Object.defineProperty(resource, "counted", { enumerable: true, get: () => ++count && "x" });
      const step = changes((io) => void (io.observed = {}));
      const observed = [{ name: "a", resource }];
      await runPipeline({ ...runOf(...Array.from({ length: steps }, () => step)), observed });
      return count;
    };
    expect(await reads(5)).toBe(await reads(1));
  });

  test("a Composition without functions runs nothing and desires nothing", async () => {
    const result = await runPipeline(runOf());
    expect(result).toMatchObject({ desired: {}, composed: [], deleted: [], results: [] });
  });
});

describe("a runner that fails", () => {
  const failing = (error: unknown) =>
    runOf(
      (input) => input,
      () => {
        throw error;
      },
    );

  test("its error is wrapped: step, image, code of the cause, stderr, and what to change", async () => {
    const cause = Object.assign(new Error("it did not end within 10 s"), {
      code: "Timeout",
      phase: "timeout",
      stderr: "still waiting",
      retryable: true,
    });
    const error = await failure(runPipeline(failing(cause)));
    expect(error).toMatchObject({
      code: "RunFailed",
      step: "step-2",
      image: "image-2",
      stderr: "still waiting",
      retryable: true,
    });
    expect(error.cause).toBe(cause);
    expect(error.message).toContain('step "step-2": it did not end within 10 s (image image-2)');
    expect(error.message).toContain("container.timeout");
    expect(error.message).not.toContain("still waiting");
  });

  test("a step that the runner's message names is not repeated", async () => {
    const cause = new Error("function image-2 (step step-2): it exited with code 3");
    expect((await failure(runPipeline(failing(cause)))).message).toBe(
      'step "step-2": it exited with code 3 (image image-2)',
    );
  });

  test.each([["a string"], [undefined], [null], [{}]])("with any value: %s", async (thrown) => {
    expect(await failure(runPipeline(failing(thrown)))).toMatchObject({
      code: "RunFailed",
      step: "step-2",
      retryable: false,
    });
  });

  test("an unknown image is reported", async () => {
    const { runner } = runOf();
    const error = await failure(runPipeline({ ...runOf((input) => input), runner }));
    expect(error).toMatchObject({ code: "RunFailed", cause: { code: "PullFailed" } });
  });

  test("missing credentials fail the step", async () => {
    const run = runPipeline({
      ...runOf((input) => input),
      auth: () => Promise.reject(new Error("no such secret")),
    });
    expect(await failure(run)).toMatchObject({ code: "RunFailed", step: "step-1" });
  });
});

describe("ending a run", () => {
  test("no step starts after the caller aborted, even with a runner that ignores the signal", async () => {
    const controller = new AbortController();
    let ran = 0;
    const run = async (_image: string, input: Uint8Array): Promise<Uint8Array> => {
      ran++;
      controller.abort();
      return input;
    };
    const input = {
      ...runOf(
        (io) => io,
        (io) => io,
      ),
      runner: { run },
      signal: controller.signal,
    };
    expect(await failure(runPipeline(input))).toMatchObject({ code: "Aborted", step: "step-2", retryable: true });
    expect(ran).toBe(1);
  });

  test("a running step is aborted", async () => {
    const controller = new AbortController();
    const run = runOf(() => new Promise<never>(() => controller.abort()));
    expect(await failure(runPipeline({ ...run, signal: controller.signal }))).toMatchObject({
      code: "Aborted",
      step: "step-1",
    });
  });
});

describe("the XR", () => {
  test.each([
    ["kind", xr({}, { kind: "XOther" })],
    ["version", xr({}, { apiVersion: "example.org/v1" })],
    ["group", xr({}, { apiVersion: "example.com/v1alpha1" })],
  ])("of another %s than the Composition's is refused before anything runs", async (_what, composite) => {
    const run = runOf(() => {
      throw new Error("ran");
    });
    const error = await failure(runPipeline({ ...run, composite }));
    expect(error.code).toBe("CompositionMismatch");
    expect(error.message).toContain("XStore of example.org/v1alpha1");
  });

  test.each([
    ["without a name", { ...xr(), metadata: {} }],
    ["without metadata", { apiVersion: "example.org/v1alpha1", kind: "XStore" }],
    ["without a kind", { apiVersion: "example.org/v1alpha1", metadata: { name: "x" } }],
    ["with labels that are not strings", xr({ labels: { a: 1 } })],
    ["with a uid that is not a string", xr({ uid: 7 })],
  ])("%s is refused", async (_what, composite) => {
    const run = runPipeline({ ...runOf(), composite });
    expect(await failure(run)).toMatchObject({ code: "InvalidComposite" });
  });
});

test("steps and phases are reported as they happen", async () => {
  const reported: string[] = [];
  const run = runOf(
    (input, { onPhase }) => {
      onPhase?.("pull", 1);
      onPhase?.("run", 2);
      return input;
    },
    (input) => input,
  );
  await runPipeline({
    ...run,
    onStep: (step, index) => reported.push(`${index} ${step.name}`),
    onPhase: (step, phase, ms) => reported.push(`${step} ${phase} ${ms}`),
  });
  expect(reported).toEqual(["0 step-1", "step-1 pull 1", "step-1 run 2", "1 step-2"]);
});
