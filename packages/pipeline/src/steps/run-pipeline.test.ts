import { inspect } from "node:util";
import { type FunctionIO, parseFunctionIO } from "@xfn/functionio";
import type { RunOptions } from "@xfn/runner-contract";
import { describe, expect, test } from "vitest";
import { bucket, changes, compositionOf, desires, prints, runOf, xr } from "../../test/fixtures.ts";
import { PipelineError } from "../outcome/pipeline-error.ts";
import type { StepResult } from "../outcome/step-result.ts";
import { runPipeline } from "./run-pipeline.ts";

async function failure(run: Promise<unknown>): Promise<PipelineError> {
  try {
    await run;
  } catch (error) {
    if (error instanceof PipelineError) return error;
    throw error;
  }
  throw new Error("expected a PipelineError");
}

/** A function that notes what it was given and returns it unchanged. */
function spy(seen: FunctionIO[]): (input: Uint8Array) => Uint8Array {
  return (input) => {
    seen.push(parseFunctionIO(input));
    return input;
  };
}

const header = `{"apiVersion":"apiextensions.crossplane.io/v1alpha1","kind":"FunctionIO"`;

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
    expect(plain[0]?.desired).toEqual({});
    expect(plain[0]?.results).toEqual([]);
    expect(plain[2]?.desired).toEqual({ resources: [{ name: "a", resource: bucket() }] });
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
      const composite = xr();
      Object.defineProperty(composite.spec, "counted", { enumerable: true, get: () => ++count && "x" });
      const step = changes((io) => void (io.observed = {}));
      await runPipeline({ ...runOf(...Array.from({ length: steps }, () => step)), composite });
      return count;
    };
    expect(await reads(5)).toBe(await reads(1));
  });

  test("a Composition without functions runs nothing and desires nothing", async () => {
    const result = await runPipeline(runOf());
    expect(result).toMatchObject({ desired: {}, composed: [], deleted: [], results: [] });
  });
});

describe("the output of functions", () => {
  test("a different observed state changes nothing and causes a warning that names the step and path", async () => {
    const seen: FunctionIO[] = [];
    const warnings: StepResult[] = [];
    const run = runOf(
      changes((io) => {
        const resource = io.observed.composite?.resource;
        if (resource) resource["spec"] = { size: 99 };
      }),
      spy(seen),
    );
    const { results } = await runPipeline({ ...run, onWarning: (warning) => warnings.push(warning) });
    expect(results).toEqual([
      {
        severity: "Warning",
        step: "step-1",
        message: expect.stringContaining("observed.composite.resource.spec.size"),
      },
    ]);
    expect(warnings).toEqual(results);
    expect(JSON.stringify(seen[0]?.observed.composite?.resource?.["spec"])).toBe('{"size":3}');
  });

  test("a dropped entry is reported, and neither applied nor deleted", async () => {
    const run = runOf(
      desires({ a: bucket(), b: bucket() }),
      changes((io) => void io.desired?.resources?.shift()),
    );
    const { composed, deleted, results } = await runPipeline(run);
    expect(composed.map((one) => one.name)).toEqual(["b"]);
    expect(deleted).toEqual([]);
    expect(results).toEqual([{ severity: "Warning", step: "step-2", message: expect.stringContaining('"a"') }]);
  });

  test("results keep their step, even if later steps pass them on or drop them", async () => {
    const says = (message: string, severity = "Normal") =>
      changes((io) => void (io.results = [...(io.results ?? []), { severity, message, reason: "R" }]));
    const run = runOf(
      says("one"),
      changes((io) => void delete io.results),
      says("three", "Chatty"),
    );
    const { results } = await runPipeline(run);
    expect(results).toEqual([
      { severity: "Normal", step: "step-1", message: "one", reason: "R" },
      { severity: "Warning", step: "step-3", message: "three", reason: "R" },
    ]);
  });

  test("a step that drops earlier results does not hide them from the next", async () => {
    const seen: FunctionIO[] = [];
    const run = runOf(
      changes((io) => void (io.results = [{ severity: "Normal", message: "one" }])),
      changes((io) => void delete io.results),
      spy(seen),
    );
    await runPipeline(run);
    expect(seen[0]?.results).toEqual([expect.objectContaining({ message: "one" })]);
  });

  test.each(["Fatal", "Error"])(
    "a result of severity %s ends the run: nothing is applied or deleted",
    async (severity) => {
      let ran = false;
      const run = runOf(
        desires({ a: bucket(), gone: null }),
        changes((io) => void (io.results = [{ severity, message: "no such region" }])),
        (input) => {
          ran = true;
          return input;
        },
      );
      const result = await runPipeline(run);
      expect(ran).toBe(false);
      expect(result.fatal).toEqual({ severity: "Fatal", step: "step-2", message: "no such region" });
      expect(result).toMatchObject({ composed: [], deleted: [], results: [result.fatal] });
      expect(result.connectionDetails.size).toBe(0);
    },
  );

  test("integers beyond 2^53 are exact from step to step", async () => {
    const big = bucket({ spec: { big: 9223372036854775807n } });
    const run = runOf(desires({ a: big }), (input) => input);
    const { composed } = await runPipeline({ ...run, composite: xr({}, { spec: { big: 9007199254740993n } }) });
    expect(composed[0]?.resource["spec"]).toEqual({ big: 9223372036854775807n });
  });

  test("prototype: __proto__ and constructor are data, and no prototype changes", async () => {
    const resource = `{"apiVersion":"v1","kind":"K","__proto__":{"polluted":1},"metadata":{"labels":{"__proto__":"x"}},"constructor":{"prototype":{"polluted":1}}}`;
    const run = runOf(
      prints(`${header},"desired":{"resources":[{"name":"__proto__","resource":${resource}}]}}`),
      (input) => input,
    );
    const { composed } = await runPipeline(run);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(composed[0]?.name).toBe("__proto__");
    const applied = composed[0]?.resource ?? {};
    expect(Object.keys(applied)).toContain("__proto__");
    expect(Object.getOwnPropertyDescriptor(applied, "__proto__")?.value).toMatchObject({ polluted: 1 });
    expect(Object.keys(applied.metadata?.labels ?? {})).toContain("__proto__");
  });
});

describe("output that is not a FunctionIO", () => {
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${[..."bcdefghij"].map((c, i) => `${c}: &${c} [${`*${"abcdefghij"[i]},`.repeat(9)}]`).join("\n")}`;
  test.each([
    ["nothing", "", "EmptyOutput"],
    ["white space", " \n\n", "EmptyOutput"],
    ["a comment", "# done\n", "EmptyOutput"],
    ["two documents", `${header},"observed":{}}\n---\n${header},"observed":{}}`, "MultipleDocuments"],
    ["a log line", "Starting up...", "InvalidOutput"],
    ["a log line before the answer", `Starting: up\n${header},"observed":{}}`, "InvalidOutput"],
    ["half an answer", `${header},"observed":{"composite":`, "InvalidOutput"],
    ["another apiVersion", header.replace("v1alpha1", "v1"), "InvalidOutput"],
    ["another kind", `${header.replace("FunctionIO", "ResourceList")}}`, "InvalidOutput"],
    ["no kind", `{"observed":{}}`, "InvalidOutput"],
    ["a list", "[]", "InvalidOutput"],
    ["NaN", `${header},"desired":{"composite":{"resource":{"n":NaN}}}}`, "InvalidOutput"],
    ["a duplicate key", `${header},"kind":"FunctionIO"}`, "InvalidOutput"],
    [
      "duplicate names",
      `${header},"desired":{"resources":[{"name":"a","resource":null},{"name":"a","resource":null}]}}`,
      "InvalidOutput",
    ],
    ["an alias bomb", bomb, "InvalidOutput"],
    ["100,000 levels", `${"[".repeat(100_000)}${"]".repeat(100_000)}`, "InvalidOutput"],
    ["bytes that are not UTF-8", "\ufffd\ufffd", "InvalidOutput"],
  ])("%s", async (_what, text, code) => {
    const error = await failure(
      runPipeline(
        runOf(
          (input) => input,
          prints(text),
          () => {
            throw new Error("ran on");
          },
        ),
      ),
    );
    expect(error).toMatchObject({ code, step: "step-2", image: "image-2", retryable: false });
    expect(error.message).toContain('step "step-2"');
    expect(error.message).toContain("image-2");
    expect(error.message.length).toBeLessThan(3000);
  });

  test.each([
    `{"password": hunter2, "kind": `,
    `password: hunter2: x`,
    `password: "hunter2`,
    `password: !hunter2 x`,
    `${header},"desired":{"resources":[{"name":"s","resource":{"apiVersion":"v1","kind":["hunter2"]}}]}}`,
    `${header},"desired":{"composite":{"connectionDetails":[{"name":"p","value":["hunter2"]}]}}}`,
  ])("secret: the message does not quote it: %s", async (text) => {
    const error = await failure(runPipeline(runOf(prints(text))));
    expect(error.code).toBe("InvalidOutput");
    expect(inspect(error)).not.toContain("hunter2");
  });

  test("the function's stderr is a property of the error, but not part of the message", async () => {
    const run = runOf((_input, { onStderr }) => {
      onStderr?.("Traceback: hunter2");
      return new Uint8Array();
    });
    const error = await failure(runPipeline(run));
    expect(error).toMatchObject({ code: "EmptyOutput", stderr: "Traceback: hunter2" });
    expect(error.message).not.toContain("hunter2");
  });
});

describe("desired state that cannot exist", () => {
  const returns = (desired: string) =>
    failure(runPipeline(runOf((input) => input, prints(`${header},"desired":${desired}}`))));
  test.each([
    ["no kind", `{"resources":[{"name":"a","resource":{"apiVersion":"v1"}}]}`],
    ["no apiVersion", `{"resources":[{"name":"a","resource":{"kind":"K"}}]}`],
    [
      "owners that are not objects",
      `{"resources":[{"name":"a","resource":{"apiVersion":"v1","kind":"K","metadata":{"ownerReferences":["x"]}}}]}`,
    ],
    ["another XR's kind", `{"composite":{"resource":{"apiVersion":"example.org/v1alpha1","kind":"XOther"}}}`],
    ["another XR's name", `{"composite":{"resource":{"metadata":{"name":"other"}}}}`],
  ])("%s", async (_what, desired) => {
    expect(await returns(desired)).toMatchObject({ code: "InvalidDesired", step: "step-2", image: "image-2" });
  });

  test("another kind under the entry of an existing object", async () => {
    const observed = [{ name: "a", resource: { ...bucket(), kind: "Queue", metadata: { name: "q" } } }];
    const error = await failure(runPipeline({ ...runOf(desires({ a: bucket() })), observed }));
    expect(error).toMatchObject({ code: "InvalidDesired", step: "step-1" });
    expect(error.message).toContain("Queue q");
    const newer = [
      { name: "a", resource: { ...bucket(), apiVersion: "s3.example.org/v1beta1", metadata: { name: "q" } } },
    ];
    expect((await runPipeline({ ...runOf(desires({ a: bucket() })), observed: newer })).composed).toHaveLength(1);
  });

  test("a thousand problems give a short message", async () => {
    const entries = Array.from({ length: 1000 }, (_, n) => `{"name":"n${n}","resource":{"kind":"K"}}`);
    const error = await returns(`{"resources":[${entries.join(",")}]}`);
    expect(error.message).toMatch(/and 990 more$/);
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
    expect(error.message).toContain('step "step-2" (image image-2): it did not end within 10 s');
    expect(error.message).toContain("container.timeout");
    expect(error.message).not.toContain("still waiting");
  });

  test("a step that the runner's message names is not repeated", async () => {
    const cause = new Error("function image-2 (step step-2): it exited with code 3");
    expect((await failure(runPipeline(failing(cause)))).message).toBe(cause.message);
  });

  test.each([["a string"], [undefined], [null], [{}]])("whatever it throws: %s", async (thrown) => {
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
