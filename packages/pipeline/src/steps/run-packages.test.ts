import type { ResourceState } from "@xfn/function-grpc";
import type { JsonObject, JsonValue, KubernetesObject } from "@xfn/json";
import { describe, expect, test } from "vitest";
import { bucket, changes, xr } from "../../testing/fixtures.ts";
import { type Handler, pipelineOf, run } from "../../testing/packages.ts";
import type { StepRecord } from "../outcome/step-record.ts";
import type { PipelineInput } from "./pipeline-input.ts";

/** Adds resources to desired state, by entry name. */
function adds(resources: Record<string, Partial<ResourceState>>): Handler {
  return ({ desired }) => {
    const added = Object.entries(resources).map(([name, state]): [string, ResourceState] => [
      name,
      { resource: bucket() as KubernetesObject, ...state },
    ]);
    return { desired: { ...desired, resources: new Map([...desired.resources, ...added]) } };
  };
}

const observed = (...names: string[]): NonNullable<PipelineInput["observed"]> =>
  names.map((name) => ({ name, resource: bucket({ metadata: { name: `live-${name}` } }) as KubernetesObject }));

describe("desired state", () => {
  test("is complete: what no step desires is deleted", async () => {
    const result = await run([{ step: "a", handler: adds({ kept: {} }) }], { observed: observed("kept", "gone") });
    expect(result.composed.map(({ name, resource }) => [name, resource.metadata?.name])).toEqual([
      ["kept", "live-kept"],
    ]);
    expect(result.deleted).toEqual(["gone"]);
  });

  test("is replaced by what a package returns; a warning names one that returns none", async () => {
    const nothing = { desired: { resources: new Map() } };
    const result = await run([
      { step: "a", handler: adds({ one: {} }) },
      { step: "b", handler: () => nothing },
    ]);
    expect(result.composed).toEqual([]);
    expect(result.results).toMatchObject([
      { step: "b", message: expect.stringContaining("returned no desired state") },
    ]);
    expect(result.functionResults).toEqual([]);
  });

  test("labels that are not strings stay as the package returned them, with a warning", async () => {
    const metadata = { labels: { size: 3, team: "shop" }, annotations: { n: true } };
    const resource = bucket({ metadata }) as KubernetesObject;
    const result = await run([{ step: "a", handler: adds({ one: { resource } }) }]);
    expect(result.composed[0]?.resource.metadata?.labels).toMatchObject({ size: 3, team: "shop" });
    expect(result.results.map(({ message }) => message)).toEqual([
      expect.stringMatching(/"one": metadata\.labels\.size: expected a string, found a number/),
      expect.stringMatching(/"one": metadata\.annotations\.n: expected a string, found a boolean/),
    ]);
    expect(result.functionResults).toEqual([]);
  });

  test("a deletion of a FunctionIO step survives the packages behind it, unless one desires the entry", async () => {
    const deletes = changes((io) => {
      io.desired = { ...io.desired, resources: ["a", "b"].map((name) => ({ name, resource: null })) };
    });
    const seen: string[][] = [];
    const sees: Handler = ({ desired }) => {
      seen.push([...desired.resources.keys()]);
      return {};
    };
    const result = await run(
      [
        { step: "deletes", io: deletes },
        { step: "sees", handler: sees },
        { step: "revives", handler: adds({ b: {} }) },
        { step: "sees-again", handler: sees },
      ],
      { observed: observed("a", "b") },
    );
    expect(seen).toEqual([[], ["b"]]);
    expect(result.deleted).toEqual(["a"]);
    expect(result.composed.map(({ name }) => name)).toEqual(["b"]);
  });

  test("entries and the XR that a FunctionIO step leaves out stay desired", async () => {
    const status = { resource: { status: { ok: true } } };
    const result = await run([
      {
        step: "a",
        handler: (request) => ({ desired: { composite: status, ...adds({ one: {} })(request).desired } as never }),
      },
      { step: "b", io: changes((io) => void (io.desired = {})) },
      { step: "c", handler: () => ({}) },
    ]);
    expect(result.composed.map(({ name }) => name)).toEqual(["one"]);
    expect(result.desired.composite?.resource).toMatchObject({ kind: "XStore", status: { ok: true } });
    expect(result.results).toEqual([]);
  });

  test("of the XR, only the status and connection details count", async () => {
    const composite = {
      resource: { kind: "Other", spec: { x: 1 }, status: { ok: true } },
      connectionDetails: new Map([
        ["user", Buffer.from("admin")],
        ["key", Buffer.from([0xff])],
      ]),
    };
    const sent: unknown[] = [];
    const result = await run([
      { step: "a", handler: () => ({ desired: { composite, resources: new Map() } }) },
      { step: "b", handler: ({ desired }) => (sent.push(desired.composite?.connectionDetails?.get("key")), {}) },
    ]);
    expect(result.desired.composite?.resource).toEqual({
      apiVersion: "example.org/v1alpha1",
      kind: "XStore",
      metadata: { name: "my-store" },
      status: { ok: true },
    });
    expect([...result.connectionDetails]).toEqual([["user", "admin"]]);
    // Bytes that a FunctionIO cannot hold still reach the next package.
    expect(sent).toEqual([Buffer.from([0xff])]);
  });

  test("a text connection detail of the XR replaces an earlier one that is not text", async () => {
    const connectionDetails = new Map([["key", Buffer.from([0xff])]]);
    const composite = { resource: { status: { ok: true } }, connectionDetails };
    const sent: unknown[] = [];
    const result = await run([
      { step: "binary", handler: () => ({ desired: { composite, resources: new Map() } }) },
      {
        step: "text",
        io: changes((io) => {
          const details = [{ name: "key", value: "new" }];
          io.desired = { ...io.desired, composite: { ...io.desired?.composite, connectionDetails: details } };
        }),
      },
      { step: "reads", handler: ({ desired }) => (sent.push(desired.composite?.connectionDetails?.get("key")), {}) },
    ]);
    expect(sent).toEqual([Buffer.from("new")]);
    expect([...result.connectionDetails]).toEqual([["key", "new"]]);
  });

  test.each<[field: string, wrong: JsonObject]>([
    ["apiVersion", { apiVersion: 1 }],
    ["kind", { kind: true }],
    ["metadata.name", { metadata: { name: 5 } }],
    ["metadata.generateName", { metadata: { generateName: 5 } }],
    ["metadata.namespace", { metadata: { namespace: 5 } }],
    ["metadata.labels", { metadata: { labels: "a" } }],
    ["metadata.annotations", { metadata: { annotations: ["a"] } }],
  ])("a resource whose %s has the wrong type is an error that names the step", async (field, wrong) => {
    const handler = adds({ a: { resource: { ...bucket(), ...wrong } } });
    await expect(run([{ step: "wrong", handler }])).rejects.toMatchObject({
      code: "InvalidDesired",
      step: "wrong",
      message: expect.stringContaining(`desired.resources "a": its ${field} is not `),
    });
  });

  test("new objects have the names that Crossplane gives them", async () => {
    const { composed } = await run([{ step: "a", handler: adds({ bucket: {} }) }], {
      composite: { ...xr({ name: "example-xr", uid: "0749c14a-4f6a-5a82-a298-88e58db51cf6" }) },
    });
    expect(composed[0]?.resource.metadata).toMatchObject({
      name: "example-xr-e6d4849b6116",
      generateName: "example-xr-",
    });
  });
});

describe("readiness", () => {
  const ready = { metadata: { name: "live" }, status: { conditions: [{ type: "Ready", status: "True" }] } };

  test("is what packages say; silence means not ready", async () => {
    const result = await run(
      [{ step: "a", handler: adds({ yes: { ready: true }, no: { ready: false }, silent: {} }) }],
      {
        observed: [{ name: "silent", resource: bucket(ready) as KubernetesObject }],
      },
    );
    expect(result.unready).toEqual(["no", "silent"]);
  });

  test("is in the records of the steps, for traces", async () => {
    const records: StepRecord[] = [];
    const isReady: Handler = ({ desired }) => ({
      desired: {
        composite: { resource: {}, ready: true },
        resources: new Map([...desired.resources].map(([name, state]) => [name, { ...state, ready: true }])),
      },
    });
    const checks = changes((io) => {
      for (const entry of io.desired?.resources ?? []) entry.readinessChecks = [{ type: "None" }];
    });
    const steps = [
      { step: "adds", handler: adds({ a: {} }) },
      { step: "auto-ready", handler: isReady },
      { step: "checks", io: checks },
    ];
    await run(steps, { onRecord: (record) => void records.push(record) });
    // The checks of the last step decide from then on.
    expect(records.map(({ readiness }) => [...(readiness ?? [])])).toEqual([
      [],
      [
        ["a", true],
        [null, true],
      ],
      [[null, true]],
    ]);
  });

  test("of FunctionIO entries follows their checks, until a package says something else", async () => {
    const entries = changes((io) => {
      const entry = (name: string, more: JsonObject = {}): JsonValue => ({ name, resource: bucket(), ...more });
      const none = { readinessChecks: [{ type: "None" }] };
      io.desired = { resources: [entry("checked", none), entry("default"), entry("overruled", none)] as never };
    });
    const given: (boolean | undefined)[] = [];
    const overrules: Handler = ({ desired }) => {
      const resources = new Map(desired.resources);
      given.push(...[...resources.values()].map((state) => state.ready));
      resources.set("overruled", { resource: resources.get("overruled")?.resource ?? {}, ready: false });
      return { desired: { resources } };
    };
    const result = await run(
      [
        { step: "io", io: entries },
        { step: "package", handler: overrules },
      ],
      { observed: [{ name: "default", resource: bucket(ready) as KubernetesObject }] },
    );
    expect(given).toEqual([true, undefined, true]);
    expect(result.unready).toEqual(["overruled"]);
  });

  test("follows the checks that a FunctionIO step adds, also after a package that returned no context", async () => {
    const unready: Handler = (request) => ({ ...adds({ a: { ready: false } })(request), context: undefined });
    const checks = changes((io) => {
      for (const entry of io.desired?.resources ?? []) entry.readinessChecks = [{ type: "None" }];
    });
    const result = await run([
      { step: "package", handler: unready },
      { step: "checks", io: checks },
    ]);
    expect(result.unready).toEqual([]);
  });

  test("that a package decided stays when a FunctionIO step passes the checks of the entry on", async () => {
    const entry = { name: "a", resource: bucket(), readinessChecks: [{ type: "None" }] };
    const denies: Handler = ({ desired: { resources } }) => ({
      desired: { resources: new Map([...resources].map(([name, state]) => [name, { ...state, ready: false }])) },
    });
    const result = await run([
      { step: "checks", io: changes((io) => void (io.desired = { resources: [entry] as never })) },
      { step: "denies", handler: denies },
      { step: "passes-on", io: changes(() => undefined) },
    ]);
    expect(result.unready).toEqual(["a"]);
  });

  test("and connection details do not come from templates, which have no effect", async () => {
    const entry = { name: "a", resource: bucket(), readinessChecks: [{ type: "None" }] };
    const steps = [{ step: "io", io: changes((io) => void (io.desired = { resources: [entry] as never })) }];
    const details = [{ name: "password", type: "FromConnectionSecretKey", fromConnectionSecretKey: "password" }];
    const live = bucket({ metadata: { name: "live" } }) as KubernetesObject;
    const result = await run(steps, {
      composition: pipelineOf(steps, { resources: [{ name: "a", base: bucket(), connectionDetails: details }] }),
      observed: [{ name: "a", resource: live, connectionDetails: [{ name: "password", value: "hunter2" }] }],
    });
    expect(result.unready).toEqual([]);
    expect([...result.connectionDetails]).toEqual([]);
  });

  test("of the XR can be decided by a package", async () => {
    const handler: Handler = () => ({ desired: { composite: { resource: {}, ready: true }, resources: new Map() } });
    expect((await run([{ step: "a", handler }])).ready).toBe(true);
  });
});

describe("in addition to desired state", () => {
  test("context starts empty, is replaced by packages, and is a field of FunctionIO", async () => {
    const seen: unknown[] = [];
    const result = await run([
      { step: "a", handler: ({ context }) => ({ context: { ...context, first: 1 } }) },
      {
        step: "b",
        io: changes((io) => {
          seen.push(io.context);
          io.context = { ...io.context, second: 2 };
        }),
      },
      { step: "keeps", io: changes((io) => void delete io.context) },
      { step: "c", handler: ({ context }) => (seen.push(context), {}) },
    ]);
    expect(seen).toEqual([{ first: 1 }, { first: 1, second: 2 }]);
    expect(result.context).toEqual({ first: 1, second: 2 });
  });

  test("a package that returns no context leaves an empty one, to which FunctionIO steps can add", async () => {
    const seen: unknown[] = [];
    const result = await run([
      { step: "none", handler: () => ({ context: undefined }) },
      {
        step: "adds",
        io: changes((io) => {
          seen.push(io.context);
          io.context = { ...io.context, added: 1 };
        }),
      },
      { step: "io", io: changes((io) => void seen.push(io.context)) },
      { step: "package", handler: ({ context }) => (seen.push(context), {}) },
    ]);
    expect(seen).toEqual([{}, { added: 1 }, { added: 1 }]);
    expect(result.context).toEqual({ added: 1 });
  });

  test("conditions are collected; those of the controller have no effect, with a warning", async () => {
    const condition = { status: "True", reason: "Up", target: "CompositeAndClaim" } as const;
    const result = await run([
      {
        step: "a",
        handler: () => ({
          conditions: [
            { type: "Up", ...condition },
            { type: "Ready", ...condition },
          ],
        }),
      },
    ]);
    expect(result.conditions).toEqual([{ type: "Up", ...condition, step: "a" }]);
    expect(result.results).toMatchObject([
      { severity: "Warning", message: expect.stringContaining('condition "Ready", which has no effect') },
    ]);
  });

  test("conditions that Kubernetes would not take have no effect, with a warning that a terminal can show", async () => {
    const condition = { status: "True", reason: "Up", target: "CompositeAndClaim" } as const;
    const result = await run([
      {
        step: "a",
        handler: () => ({
          conditions: [
            { ...condition, type: "\u001b[31mUp\u0007" },
            { ...condition, type: "Down", reason: "two words" },
            { ...condition, type: "Up", message: "\u001b]0;title\u0007it is up" },
          ],
        }),
      },
    ]);
    expect(result.conditions).toEqual([
      { type: "Up", ...condition, message: "\uFFFD]0;title\uFFFDit is up", step: "a" },
    ]);
    const messages = result.results.map(({ message }) => message);
    expect(messages).toEqual([expect.stringContaining("its type"), expect.stringContaining("its reason")]);
    expect(messages.join("")).not.toMatch(/\p{Cc}/u);
  });

  test.each([
    [60_000, 30_000],
    [30_000, 60_000],
  ])("of %i and %i ms, the shorter ttl counts", async (first, second) => {
    const result = await run([
      { step: "a", handler: () => ({ ttlMs: first }) },
      { step: "b", handler: () => ({ ttlMs: second }) },
      { step: "c", handler: () => ({}) },
    ]);
    expect(result.ttlMs).toBe(30_000);
  });

  test("a warning names rounded fields once", async () => {
    const noop: Handler = () => ({});
    const steps = [
      { step: "a", handler: noop },
      { step: "b", handler: noop },
    ];
    const { results } = await run(steps, { rounded: ["observed.composite.spec.big"] });
    expect(results).toMatchObject([{ step: "a", message: expect.stringContaining("observed.composite.spec.big") }]);
  });

  test("results carry reason and target, and reach FunctionIO steps", async () => {
    const seen: unknown[] = [];
    const said = { severity: "Normal", message: "hello", reason: "Greeting", target: "CompositeAndClaim" } as const;
    const result = await run([
      { step: "a", handler: () => ({ results: [said] }) },
      { step: "b", io: changes((io) => void seen.push(io.results)) },
    ]);
    expect(result.functionResults).toEqual([{ ...said, step: "a" }]);
    expect(seen).toEqual([[{ severity: "Normal", message: "hello", reason: "Greeting" }]]);
  });

  test("a fatal result ends the run; what the function said before stays", async () => {
    const result = await run([
      {
        step: "a",
        handler: () => ({
          results: [
            { severity: "Normal", message: "before", target: "Composite" },
            { severity: "Fatal", message: "no", target: "Composite" },
            { severity: "Normal", message: "after", target: "Composite" },
          ],
          conditions: [{ type: "Up", status: "False", reason: "Down", target: "Composite" }],
        }),
      },
      { step: "b", handler: () => expect.unreachable() },
    ]);
    expect(result.fatal).toMatchObject({ step: "a", message: "no" });
    expect(result.functionResults.map(({ message }) => message)).toEqual(["before", "no"]);
    expect(result.conditions).toHaveLength(1);
  });
});
