import { inspect } from "node:util";
import type { FunctionIO } from "@xfn/functionio";
import { RunnerError } from "@xfn/runner-contract";
import { describe, expect, test } from "vitest";
import { bucket, changes, compositionOf, desires, failure, prints, runOf, spy, xr } from "../../testing/fixtures.ts";
import { type InProcessFunction, inProcessRunner } from "../in-process.ts";
import type { StepResult } from "../outcome/step-result.ts";
import { runPipeline } from "./run-pipeline.ts";

const header = `{"apiVersion":"apiextensions.crossplane.io/v1alpha1","kind":"FunctionIO"`;

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

  test("a fatal result counts although the rest of the output is invalid", async () => {
    const output = `${header},"desired":{"resources":[{"resource":1}]},"results":[{"severity":"Fatal","message":"no"}]}`;
    const { fatal } = await runPipeline(runOf(prints(output)));
    expect(fatal).toEqual({ severity: "Fatal", step: "step-1", message: "no" });
  });

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
    ["too many results", `${header},"results":[${Array(10_001).fill('{"message":"m"}').join(",")}]}`, "InvalidOutput"],
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

describe("the first line of a message", () => {
  const image = `ghcr.io/a-platform-team/functions/a-function-of-some-length@sha256:${"0".repeat(64)}`;
  const fails = async (output: string, runner?: Error) => {
    const step = { name: "a-step", container: { image } };
    const run: InProcessFunction = () => {
      if (runner !== undefined) throw runner;
      return new TextEncoder().encode(output);
    };
    const composition = compositionOf([step]);
    const error = await failure(
      runPipeline({ composite: xr(), composition, runner: inProcessRunner({ [image]: run }) }),
    );
    const [line = ""] = error.message.split("\n");
    expect(line).toMatch(/^step "a-step": /);
    expect(error.message).toContain(image);
    return line.slice(0, line.indexOf(image));
  };
  const desired = (resources: string) => `${header},"desired":{"resources":${resources}}}`;

  test.each([
    ["a wrong field", `${header},"results":[{"severity":"Fatal"}]}`, "results[0].message: is missing"],
    ["a log message", "Starting up", "expected a FunctionIO object"],
    ["no JSON", "{", "neither JSON nor YAML"],
    ["nothing", "", "wrote nothing"],
    ["an object that cannot exist", desired('[{"name":"a","resource":{"kind":"A"}}]'), "has no apiVersion"],
  ])("has the cause before the image: %s", async (_name, output, cause) => {
    expect(await fails(output)).toContain(cause);
  });

  test("has the cause of the runner before the image", async () => {
    const cause = new RunnerError("NonZeroExit", `function ${image} (step a-step): it exited with code 3`, {
      phase: "run",
      image,
      step: "a-step",
    });
    expect(await fails("", cause)).toBe('step "a-step": it exited with code 3 (image ');
  });

  test("takes only a text that has no fields for a log message", async () => {
    expect(await fails("Starting up")).toContain("stderr");
    expect(await fails(`${header},"results":[{"severity":"Fatal"}]}`)).not.toContain("stderr");
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
