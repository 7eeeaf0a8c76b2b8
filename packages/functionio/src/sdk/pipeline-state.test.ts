import { afterEach, describe, expect, test, vi } from "vitest";
import { invoke } from "../testing/invoke.ts";
import { type Context, compose } from "./compose.ts";

const XR = { apiVersion: "example.org/v1", kind: "XStore", metadata: { name: "shop" } };

afterEach(() => vi.restoreAllMocks());

describe("a run by FunctionIO that needs a pipeline", () => {
  test.each<[string, (call: Context) => unknown]>([
    ["context.get", ({ context }) => context.get("a")],
    ["context.set", ({ context }) => context.set("a", 1)],
    ["credentials.get", ({ credentials }) => credentials.get("aws")],
    ["credentials.names", ({ credentials }) => credentials.names()],
    ["required.resources", ({ required }) => required.resources("a", { apiVersion: "v1", kind: "A", matchName: "a" })],
    ["required.schema", ({ required }) => required.schema("a", { apiVersion: "v1", kind: "A" })],
    ["conditions.set", ({ conditions }) => conditions.set("A", { status: "True", reason: "Up" })],
  ])("ends with a fatal result that names %s and the way out", async (what, use) => {
    const error = vi.spyOn(console, "error").mockReturnValue();
    const { fatal } = await invoke(
      compose((call) => void use(call)),
      { xr: XR },
    );
    expect(fatal).toContain(what);
    expect(fatal).toContain("functionRef");
    expect(error).not.toHaveBeenCalled();
  });

  test("reads and writes the context that a FunctionIO has", async () => {
    const fn = compose(({ context }) => context.set("b", context.get("a")));
    const io = { apiVersion: "apiextensions.crossplane.io/v1alpha1", kind: "FunctionIO", observed: {} } as const;
    const output = await fn({ ...io, context: { a: [1] } });
    expect(output["context"]).toEqual({ a: [1], b: [1] });
  });
});

describe("a run in a pipeline", () => {
  test("reads what a test gives, and shows what the function sets and requires", async () => {
    const run = await invoke(
      compose(({ context, credentials, required, conditions, desired }) => {
        const zones = required.resources("zones", { apiVersion: "v1", kind: "Zone", matchLabels: {} });
        context.set("count", zones?.length ?? null);
        conditions.set("Read", { status: "Unknown", reason: "Reading" });
        conditions.set("Read", { status: "True", reason: "Done", message: credentials.get("aws")?.["key"] });
        desired.apply("a", { apiVersion: "v1", kind: "A", bytes: credentials.bytes("aws")?.["key"]?.length });
      }),
      {
        xr: XR,
        pipeline: {
          context: { a: 1 },
          credentials: { aws: { key: "k" } },
          resources: { zones: [{ kind: "Zone" }, { kind: "Zone" }] },
        },
      },
    );
    expect(run.fatal).toBeUndefined();
    expect(run.context).toEqual({ a: 1, count: 2 });
    expect(run.conditions).toEqual([{ type: "Read", status: "True", reason: "Done", message: "k" }]);
    expect(run.requirements.resources).toEqual({ zones: { apiVersion: "v1", kind: "Zone", matchLabels: {} } });
    expect(run.desired["a"]).toMatchObject({ bytes: 1 });
  });

  test("its input is frozen, and a failed function leaves the context as it was", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    const run = await invoke(
      compose(({ context, required }) => {
        context.set("a", 2);
        const [zone] = required.resources<{ spec: { n: number } }>("zones") ?? [];
        (zone as { spec: { n: number } }).spec.n = 2;
      }),
      { xr: XR, pipeline: { context: { a: 1 }, resources: { zones: [{ spec: { n: 1 } }] } } },
    );
    expect(run.fatal).toContain("read only");
    expect(run.context).toEqual({ a: 1 });
  });

  test.each([
    ["a condition of the controller", "Ready", { status: "True", reason: "Up" }],
    ["no type", "", { status: "True", reason: "Up" }],
    ["a reason of two words", "A", { status: "True", reason: "is up" }],
    ["another status", "A", { status: "Maybe" as "True", reason: "Up" }],
  ] as const)("refuses %s", async (_, type, condition) => {
    vi.spyOn(console, "error").mockReturnValue();
    const { fatal, conditions } = await invoke(
      compose((call) => call.conditions.set(type, condition)),
      { xr: XR, pipeline: {} },
    );
    expect(fatal).toContain(`conditions.set("${type}")`);
    expect(conditions).toEqual([]);
  });

  test("refuses writes after the handler ended", async () => {
    const late: (() => void)[] = [];
    await invoke(
      compose(({ context, conditions }) => {
        late.push(
          () => context.set("a", 1),
          () => context.delete("a"),
          () => conditions.set("A", { status: "True", reason: "Up" }),
        );
      }),
      { xr: XR, pipeline: {} },
    );
    for (const write of late) expect(write).toThrow(/after the handler ended/);
  });

  test("keys are data, even __proto__", async () => {
    const { context } = await invoke(
      compose(({ context: data, results }) => {
        results.normal(String(data.get("constructor")));
        data.set("__proto__", { polluted: 1 });
      }),
      { xr: XR, pipeline: {} },
    );
    expect(Object.keys(context ?? {})).toEqual(["__proto__"]);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});
