import { compileSchema } from "@xfn/composition/schema";
import { FunctionCallError } from "@xfn/function-grpc";
import type { JsonValue, KubernetesObject } from "@xfn/json";
import { untilAborted } from "@xfn/lifetime";
import { RunnerError } from "@xfn/runner-contract";
import { describe, expect, test, vi } from "vitest";
import { bucket, changes, compositionOf, desires, failure, packagesOf, xr } from "../../testing/fixtures.ts";
import { type InProcessFunction, inProcessRunner } from "../in-process.ts";
import type { FunctionConnector, FunctionRunner, PipelineInput, StepRecord } from "../index.ts";
import { buildTrace } from "../trace/index.ts";
import { WebhookError } from "../webhook/webhook-error.ts";
import { type PipelineResult, runPipeline } from "./run-pipeline.ts";

type Settings = Record<string, JsonValue>;

/** One step of each kind, each of which desires the entry `made`. */
const KINDS = ["container", "krm", "chroot", "wasm", "webhook", "package", "pipeline container"] as const;
type Kind = (typeof KINDS)[number];

const makes = desires({ made: bucket() });
const makesItem: InProcessFunction = (input) => {
  const list = JSON.parse(new TextDecoder().decode(input)) as { items: object[] };
  const annotations = {
    "fn.apiextensions.crossplane.io/type": "ComposedResource",
    "fn.apiextensions.crossplane.io/name": "made",
  };
  list.items.push({ ...bucket(), metadata: { annotations } });
  return new TextEncoder().encode(JSON.stringify(list));
};

/** The input of a run of a step of one kind. @param attempt called for each attempt, before the function */
function inputOf(kind: Kind, settings: Settings, attempt: () => void | Promise<void> = () => undefined): PipelineInput {
  const fn = kind === "krm" ? makesItem : makes;
  const run = async (input: Uint8Array, options: object = {}): Promise<Uint8Array> => {
    await attempt();
    return await fn(input, options);
  };
  const runner: FunctionRunner = inProcessRunner({ f: run });
  const answers = packagesOf(() => ({ desired }) => {
    const made = { resource: bucket() as KubernetesObject };
    return { desired: { ...desired, resources: new Map([...desired.resources, ["made", made]]) } };
  });
  const packages: FunctionConnector = {
    async connect(one) {
      const caller = await answers.connect(one);
      return {
        run: async (request, options) => {
          await untilAborted(Promise.resolve(attempt()), options.signal);
          return await caller.run(request, options);
        },
      };
    },
  };
  const step: Settings =
    kind === "webhook"
      ? { type: "Webhook", webhook: { url: "https://f.example.org/" } }
      : kind === "wasm"
        ? { type: "Wasm", wasm: { image: "f" } }
        : kind === "chroot"
          ? { type: "Chroot", container: { image: "f", network: { policy: "Accessible" } } }
          : { type: "Container", container: { image: "f" }, ...(kind === "krm" && { io: "KRM" }) };
  const composition =
    kind === "package"
      ? compositionOf([], { mode: "Pipeline", pipeline: [{ step: "s", functionRef: { name: "f" }, ...settings }] })
      : kind === "pipeline container"
        ? compositionOf([], { mode: "Pipeline", pipeline: [{ step: "s", container: { image: "f" }, ...settings }] })
        : compositionOf([{ name: "s", ...step, ...settings }]);
  return {
    composite: xr({ uid: "0749c14a-4f6a-5a82-a298-88e58db51cf6" }) as KubernetesObject,
    composition,
    runner,
    functions: packages,
    webhooks: { call: async (_, input, { signal }) => await untilAborted(run(input), signal) },
  };
}

const namesOf = ({ composed }: PipelineResult): string[] => composed.map(({ name }) => name);

async function recorded(input: PipelineInput): Promise<{ records: StepRecord[]; result: PipelineResult }> {
  const records: StepRecord[] = [];
  const result = await runPipeline({ ...input, onRecord: (record) => records.push(record) });
  return { records, result };
}

describe.each(KINDS)("a step of kind %s", (kind) => {
  test("runs when its guard holds", async () => {
    const { records, result } = await recorded(inputOf(kind, { when: "observed.composite.resource.spec.size == 3" }));
    expect(namesOf(result)).toEqual(["made"]);
    expect(records[0]?.skipped).toBeUndefined();
  });

  test("is skipped when its guard does not hold: nothing starts, and the trace says so", async () => {
    const attempt = vi.fn<() => void>();
    const when = "observed.composite.resource.spec.size > 3";
    const input = inputOf(kind, { when }, attempt);
    const connect = vi.spyOn(input.functions as FunctionConnector, "connect");
    const { records, result } = await recorded(input);
    expect(namesOf(result)).toEqual([]);
    expect(result.results).toEqual([]);
    expect([attempt.mock.calls.length, connect.mock.calls.length]).toEqual([0, 0]);
    expect(records).toMatchObject([{ name: "s", skipped: when, inputBytes: 0 }]);
    const { composite, composition } = input;
    const { steps } = buildTrace({ records, composite, composition });
    expect(steps).toMatchObject([{ name: "s", status: "Skipped", when, added: 0, entries: [] }]);
  });

  test("appears in the trace with its target, its sizes, and the fields that it desires, and no others", async () => {
    const input = inputOf(kind, {});
    const { records } = await recorded(input);
    const { composite, composition } = input;
    const { steps, desired } = buildTrace({ records, composite, composition });
    const target = kind === "webhook" ? "https://f.example.org/" : "f";
    expect(steps).toMatchObject([{ name: "s", kind: "function", image: target, status: "Succeeded" }]);
    // The connection of a package counts bytes, and this one has none.
    for (const size of kind === "package" ? [] : [steps[0]?.inputBytes, steps[0]?.outputBytes])
      expect(size).toBeGreaterThan(0);
    const made = steps[0]?.entries.find(({ name }) => name === "made");
    expect(made).toMatchObject({ change: "added", kind: "Bucket" });
    const fields = ["apiVersion", "kind", "spec.region"];
    expect(made?.fields.map(({ path }) => path).sort()).toEqual(fields);
    // The pipeline adds identity: a name, an owner.
    const sources = desired.find(({ name }) => name === "made")?.fields.filter(({ path }) => fields.includes(path));
    expect(sources?.map(({ origin }) => origin)).toMatchObject(fields.map(() => ({ step: "s" })));
  });

  test("fails with its name if its guard has no result", async () => {
    const error = await failure(runPipeline(inputOf(kind, { when: "observed.composite.resource.spec.none == 1" })));
    expect(error).toMatchObject({ code: "WhenFailed", step: "s", retryable: false });
    expect(error.message).toMatch(
      /^step "s": .*cannot be evaluated: no such key: none; test fields .* has\(\) \(.+\)$/,
    );
  });

  test("is ended at its timeout", async () => {
    const error = await failure(runPipeline(inputOf(kind, { timeout: "20ms" }, () => new Promise(() => undefined))));
    expect(error).toMatchObject({ code: "Timeout", step: "s", retryable: true });
    expect(error.message).toContain("took longer than its timeout of 0.02 s");
  });

  test("is retried while nothing was sent", async () => {
    let left = 2;
    const attempt = vi.fn<() => void>(() => {
      if (left-- > 0) throw unsent(kind);
    });
    const { records, result } = await recorded(inputOf(kind, { retries: 2 }, attempt));
    expect(namesOf(result)).toEqual(["made"]);
    expect(attempt).toHaveBeenCalledTimes(3);
    expect(records).toMatchObject([{ retries: 2 }]);
  });

  test("is not retried more often than it says, nor without the setting", async () => {
    const attempt = vi.fn<() => void>(() => {
      throw unsent(kind);
    });
    expect(await failure(runPipeline(inputOf(kind, { retries: 1 }, attempt)))).toMatchObject({ code: "RunFailed" });
    expect(attempt).toHaveBeenCalledTimes(2);
    await failure(runPipeline(inputOf(kind, {}, attempt)));
    expect(attempt).toHaveBeenCalledTimes(3);
  });

  test("is never retried after its function may have started", async () => {
    for (const error of begun(kind)) {
      const attempt = vi.fn<() => void>(() => {
        throw error;
      });
      await failure(runPipeline(inputOf(kind, { retries: 5 }, attempt)));
      expect(attempt, error.message).toHaveBeenCalledTimes(1);
    }
  });

  test("has one timeout for all attempts", async () => {
    const attempt = vi.fn<() => void>(() => {
      throw unsent(kind);
    });
    const error = await failure(runPipeline(inputOf(kind, { retries: 10, timeout: "100ms" }, attempt)));
    expect(["Timeout", "RunFailed"]).toContain(error.code);
    expect(attempt.mock.calls.length).toBeLessThan(4);
  });

  test("with schema: Strict, names the entry and the field that the schema does not have", async () => {
    const schemas = { of: (_: string, name: string) => (name === "Bucket" ? BUCKET : undefined) };
    const error = await failure(runPipeline({ ...inputOf(kind, { schema: "Strict" }), schemas }));
    expect(error).toMatchObject({ code: "InvalidDesired", step: "s" });
    expect(error.message).toMatch(
      /^step "s": .*\(schema: Strict\): desired\.resources "made" \(Bucket\): spec\.size: is required \(.+\)\n.*spec\.region: unknown field$/,
    );
    // Without the setting, and without a schema, nothing is checked.
    expect(namesOf(await runPipeline({ ...inputOf(kind, {}), schemas }))).toEqual(["made"]);
    expect(namesOf(await runPipeline(inputOf(kind, { schema: "Strict" })))).toEqual(["made"]);
    expect(
      namesOf(await runPipeline({ ...inputOf(kind, { schema: "Strict" }), schemas: { of: () => undefined } })),
    ).toEqual(["made"]);
  });
});

function unsent(kind: Kind): Error {
  if (kind === "package") return new FunctionCallError("ConnectionLost", "refused", { undelivered: true });
  if (kind === "webhook") return new WebhookError("ConnectFailed", "refused", { undelivered: true });
  return new RunnerError("PullFailed", "the registry is away", { phase: "pull" });
}

function begun(kind: Kind): Error[] {
  if (kind === "package") {
    return [
      new FunctionCallError("ConnectionLost", "lost"),
      new FunctionCallError("Status", "UNAVAILABLE", { status: 14 }),
    ];
  }
  if (kind === "webhook") {
    return [
      new WebhookError("BadStatus", "503", { retryable: true }),
      new WebhookError("Truncated", "ended"),
      new WebhookError("ConnectFailed", "ETIMEDOUT of a connection that existed"),
      new WebhookError("Timeout", "slow"),
    ];
  }
  return [
    new RunnerError("Killed", "killed", { phase: "run" }),
    new RunnerError("Timeout", "slow", { phase: "timeout" }),
    new RunnerError("PullFailed", "no such image", { phase: "pull", retryable: false }),
  ];
}

const BUCKET = compileSchema({
  type: "object",
  required: ["spec"],
  properties: {
    spec: {
      type: "object",
      required: ["size"],
      properties: { size: { type: "integer", maximum: 5 }, password: { type: "string", enum: ["a"] } },
      "x-kubernetes-validations": [
        { rule: "self.size != 4", messageExpression: "'not ' + (has(self.password) ? self.password : 'four')" },
      ],
    },
  },
});
const schemas = { of: () => BUCKET };

describe("guards", () => {
  const two = (when: string, first: InProcessFunction, composite = xr()): PipelineInput => ({
    composite: composite as KubernetesObject,
    composition: compositionOf([
      { name: "first", container: { image: "first" } },
      { name: "second", container: { image: "second" }, when },
    ]),
    runner: inProcessRunner({ first, second: desires({ second: bucket() }) }),
  });

  test("read what earlier steps desire, without deletions", async () => {
    const when = "'first' in desired.resources && !('gone' in desired.resources)";
    const first = changes((io) => {
      io.desired = {
        resources: [
          { name: "first", resource: bucket() as KubernetesObject },
          { name: "gone", resource: null },
        ],
      };
    });
    expect(namesOf(await runPipeline(two(when, first)))).toEqual(["first", "second"]);
    expect(namesOf(await runPipeline(two("!('first' in desired.resources)", first)))).toEqual(["first"]);
  });

  test("read what earlier steps desire of the XR", async () => {
    const first = changes((io) => {
      const resource = io.desired?.composite?.resource as KubernetesObject;
      io.desired = { composite: { resource: { ...resource, status: { ready: true } } } };
    });
    const when = "has(desired.composite.resource.status) && desired.composite.resource.status.ready";
    expect(namesOf(await runPipeline(two(when, first)))).toEqual(["second"]);
  });

  test("do not see connection details", async () => {
    const when = "has(observed.composite.connectionDetails)";
    expect(() => two(when, makes)).toThrow(/undefined field 'connectionDetails'/);
    const input = two("observed.composite.resource.spec.password == 'hunter2'", makes);
    const details = { connectionDetails: [{ name: "password", value: "hunter2" }] };
    const error = await failure(runPipeline({ ...input, ...details }));
    expect(error.code).toBe("WhenFailed");
  });

  test("are compiled once for all runs", async () => {
    const input = two("observed.composite.resource.spec.size == 3", makes);
    await runPipeline(input);
    const parse = vi.spyOn(String.prototype, "charCodeAt");
    try {
      await runPipeline(input);
      expect(parse.mock.contexts.filter((text) => String(text).startsWith("observed.composite"))).toEqual([]);
    } finally {
      parse.mockRestore();
    }
  });
});

describe("schema: Strict", () => {
  const run = (made: JsonValue, more: Partial<PipelineInput> = {}): Promise<PipelineResult> =>
    runPipeline({
      composite: xr() as KubernetesObject,
      composition: compositionOf([{ name: "s", container: { image: "f" }, schema: "Strict" }]),
      runner: inProcessRunner({ f: desires({ made }) }),
      schemas,
      ...more,
    });
  const made = (spec: JsonValue): JsonValue => ({ apiVersion: "s3.example.org/v1", kind: "Bucket", spec });

  test("accepts what matches", async () => {
    expect(namesOf(await run(made({ size: 5 })))).toEqual(["made"]);
  });

  test("names every problem with its field, without values", async () => {
    const error = await failure(run(made({ size: "hunter2", password: "hunter2", typo: "hunter2" })));
    expect(error.message).not.toContain("hunter2");
    for (const field of ["spec.size", "spec.password", "spec.typo: unknown field"])
      expect(error.message).toContain(field);
    expect((await failure(run(made({})))).message).toContain("spec.size: is required");
  });

  test("quotes the rule instead of a message that the schema computes from values", async () => {
    const error = await failure(run(made({ size: 4, password: "a" })));
    expect(error.message).toContain("failed rule: self.size != 4");
    expect(error.message).not.toContain("not a");
  });

  test("checks an existing object with the fields of others", async () => {
    const resource = { ...(made({ size: 3 }) as object), metadata: { name: "x" } } as KubernetesObject;
    const observed = [{ name: "made", resource }];
    expect(namesOf(await run(made({ password: "a" }), { observed }))).toEqual(["made"]);
    // The step is not responsible for errors of the existing object alone.
    const wrong = [{ name: "made", resource: { ...resource, spec: { size: 99 } } as KubernetesObject }];
    expect(namesOf(await run(made({ password: "a" }), { observed: wrong }))).toEqual(["made"]);
    // An API server accepts the value, because the object has it already.
    expect((await failure(run(made({ size: 99 }), { observed: wrong }))).message).toContain("spec.size");
  });

  test("leaves alone what earlier steps desire", async () => {
    const composition = compositionOf([
      { name: "first", container: { image: "first" } },
      { name: "second", container: { image: "second" }, schema: "Strict" },
    ]);
    const runner = inProcessRunner({ first: desires({ made: made({ size: 99 }) }), second: (input) => input });
    expect(namesOf(await run(null, { composition, runner }))).toEqual(["made"]);
  });

  test("checks the XR", async () => {
    const f = changes((io) => {
      const resource = io.desired?.composite?.resource as KubernetesObject;
      io.desired = { composite: { resource: { ...resource, status: { typo: 1 } } } };
    });
    const error = await failure(run(null, { runner: inProcessRunner({ f }) }));
    expect(error.message).toContain("desired.composite (XStore): status: unknown field");
  });
});
