import { inspect } from "node:util";
import type { FunctionIO } from "@xfn/functionio";
import type { JsonValue } from "@xfn/json";
import { readDocuments } from "@xfn/json/document";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bucket, changes, compositionOf, desires, runOf, spy, xr, yaml } from "../../testing/fixtures.ts";
import { printRender } from "./print-render.ts";
import { render } from "./render.ts";

const observedBucket = (entry: string, extra: Record<string, JsonValue> = {}): Record<string, JsonValue> =>
  bucket({
    metadata: { name: `store-${entry}`, annotations: { "crossplane.io/composition-resource-name": entry } },
    ...extra,
  });
const readyStatus = { status: { conditions: [{ type: "Ready", status: "True" }] } };

describe("printRender", () => {
  test("prints the XR's name and status, then the composed resources by entry name, as crossplane render does", async () => {
    const result = await render({
      ...runOf(
        desires({ "resource-b": bucket(), "resource-a": bucket({ metadata: { labels: { team: "a" } } }) }),
        changes((io) => {
          io.desired = { ...io.desired, composite: { resource: { status: { someField: "x" } } } };
        }),
      ),
      observed: [observedBucket("resource-b", readyStatus)],
    });
    expect(printRender(result)).toBe(`---
apiVersion: example.org/v1alpha1
kind: XStore
metadata:
  name: my-store
status:
  conditions:
  - lastTransitionTime: "2024-01-01T00:00:00Z"
    reason: ReconcileSuccess
    status: "True"
    type: Synced
  - lastTransitionTime: "2024-01-01T00:00:00Z"
    message: 'Unready resources: resource-a'
    reason: Creating
    status: "False"
    type: Ready
  someField: x
---
apiVersion: s3.example.org/v1
kind: Bucket
metadata:
  annotations:
    crossplane.io/composition-resource-name: resource-a
  generateName: my-store-
  labels:
    crossplane.io/composite: my-store
    team: a
  ownerReferences:
  - apiVersion: example.org/v1alpha1
    blockOwnerDeletion: true
    controller: true
    kind: XStore
    name: my-store
    uid: ""
spec:
  region: eu
---
apiVersion: s3.example.org/v1
kind: Bucket
metadata:
  annotations:
    crossplane.io/composition-resource-name: resource-b
  labels:
    crossplane.io/composite: my-store
  name: store-resource-b
  ownerReferences:
  - apiVersion: example.org/v1alpha1
    blockOwnerDeletion: true
    controller: true
    kind: XStore
    name: my-store
    uid: ""
spec:
  region: eu
`);
  });

  test("prints results as Result documents when asked", async () => {
    const result = await render(
      runOf(changes((io) => void (io.results = [{ severity: "Warning", message: "careful", reason: "Old" }]))),
    );
    expect(printRender(result)).not.toContain("careful");
    const documents = readDocuments(printRender(result, { includeFunctionResults: true }));
    expect(JSON.parse(JSON.stringify(documents[1]?.value))).toEqual({
      apiVersion: "render.crossplane.io/v1beta1",
      kind: "Result",
      severity: "Warning",
      step: "step-1",
      message: "careful",
      reason: "Old",
    });
  });

  test("prints the whole XR when asked, with the fields that functions desire", async () => {
    const composite = xr(
      { labels: { team: "a" } },
      {
        status: {
          old: 1,
          conditions: [{ type: "Custom", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }],
        },
      },
    );
    const result = await render({
      ...runOf(
        changes((io) => {
          io.desired = { composite: { resource: { spec: { tier: "gold" }, status: { fresh: 2 } } } };
        }),
      ),
      composite,
    });
    expect(JSON.parse(JSON.stringify(yaml(printRender(result, { includeFullXR: true }))))).toMatchObject({
      metadata: { name: "my-store", labels: { team: "a" } },
      spec: { size: 3, tier: "gold" },
      status: {
        old: 1,
        fresh: 2,
        conditions: [
          { type: "Custom", status: "True", lastTransitionTime: "2024-01-01T00:00:00Z" },
          { type: "Synced", status: "True" },
          { type: "Ready", status: "True", reason: "Available" },
        ],
      },
    });
    const short = yaml(printRender(result)) as Record<string, JsonValue>;
    expect(Object.keys(short)).toEqual(["apiVersion", "kind", "metadata", "status"]);
    expect(JSON.stringify(short)).not.toContain("old");
  });

  test("escapes: control characters of a function never reach the terminal raw", async () => {
    const message = "\u001b[2Jgone \u0007 \u009b31m";
    const result = await render(
      runOf(
        desires({ a: bucket({ spec: { note: message } }) }),
        changes((io) => void (io.results = [{ severity: "Normal", message }])),
      ),
    );
    const text = printRender(result, { includeFunctionResults: true });
    const controls = [...text].filter((character) => /\p{Cc}/u.test(character) && character !== "\n");
    expect(controls).toEqual([]);
    expect(readDocuments(text)[2]?.value).toMatchObject({ message });
  });

  test("output parses to the same values, including integers beyond 2^53", async () => {
    const scalar = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("true", "no", "1e3", "0x10", "null", "~", "2024-01-01", "- a", "a: b", "#", " x ", "\n"),
      fc.integer(),
      fc.bigInt({ min: 2n ** 53n + 1n, max: 2n ** 63n }),
      fc.boolean(),
      fc.constant(null),
    );
    const spec = fc.dictionary(fc.string({ unit: "grapheme" }), fc.oneof(scalar, fc.array(scalar, { maxLength: 3 })), {
      maxKeys: 4,
      noNullPrototype: true,
    });
    await fc.assert(
      fc.asyncProperty(spec, async (value) => {
        const result = await render(runOf(desires({ a: bucket({ spec: value }) })));
        const read = readDocuments(printRender(result))[1]?.value as { spec: JsonValue };
        const plain = (one: JsonValue | undefined) =>
          JSON.stringify(one, (_key, v) => (typeof v === "bigint" ? `${v}n` : v));
        const order = (one: JsonValue): JsonValue => Object.fromEntries(Object.entries(one as object).toSorted());
        expect(plain(order(read.spec))).toBe(plain(order(value)));
      }),
      { numRuns: 200 },
    );
  });
});

describe("render", () => {
  test("lists entries that would be deleted, and prints nothing for them", async () => {
    const result = await render({
      ...runOf(desires({ gone: null, stays: bucket() })),
      observed: [observedBucket("gone"), observedBucket("other")],
    });
    expect(result.deleted).toEqual(["gone"]);
    expect(printRender(result)).not.toContain("gone");
    const { runner, composite } = runOf(desires({ gone: null }));
    const composition = compositionOf([{ name: "s", container: { image: "image-1" } }], {
      undesiredResources: "Delete",
    });
    const observed = [observedBucket("other")];
    expect((await render({ runner, composite, composition, observed })).deleted).toEqual(["gone", "other"]);
  });

  test("merge options merge with the observed resource, as an apply would", async () => {
    const patch = {
      type: "FromCompositeFieldPath",
      fromFieldPath: "spec.zones",
      toFieldPath: "spec.zones",
      policy: { mergeOptions: { appendSlice: true } },
    };
    const resources = [{ name: "a", base: bucket(), patches: [patch] }];
    const input = { ...runOf(), composite: xr({}, { spec: { zones: ["a", "b"] } }) };
    const zones = async (existing: JsonValue): Promise<unknown> => {
      const observed = [{ ...observedBucket("a"), spec: { zones: existing } }];
      const { resources: made } = await render({ ...input, composition: compositionOf([], { resources }), observed });
      return (made[0]?.["spec"] as { zones: unknown }).zones;
    };
    expect(await zones(["of the provider", "a"])).toEqual(["of the provider", "a", "b"]);
  });

  test("a fatal result leaves an XR that is not synced, and nothing else", async () => {
    const result = await render(
      runOf(
        desires({ a: bucket(), gone: null }),
        changes((io) => {
          io.desired = { ...io.desired, composite: { resource: { status: { half: "done" } } } };
          io.results = [{ severity: "Fatal", message: "no" }];
        }),
      ),
    );
    expect(result.fatal).toMatchObject({ step: "step-2", message: "no" });
    expect(result).toMatchObject({ resources: [], deleted: [] });
    expect(result.composite["status"]).toEqual({
      conditions: [expect.objectContaining({ type: "Synced", status: "False", reason: "ReconcileError" })],
    });
  });

  test("names at most three resources that are not ready, as Crossplane does", async () => {
    const message = async (...names: string[]): Promise<unknown> => {
      const result = await render(runOf(desires(Object.fromEntries(names.map((name) => [name, bucket()])))));
      const [, ready] = (result.composite["status"] as { conditions: { message?: string }[] }).conditions;
      return ready?.message;
    };
    expect(await message()).toBeUndefined();
    expect(await message("b", "a")).toBe("Unready resources: a, b");
    expect(await message("c", "b", "a")).toBe("Unready resources: a, b, and c");
    expect(await message("d", "c", "b", "a", "e")).toBe("Unready resources: a, b, c, and 2 more");
  });

  test("secret: connection details are in the result, but never in the output", async () => {
    const result = await render(
      runOf(
        changes((io) => {
          io.desired = { composite: { connectionDetails: [{ name: "password", value: "hunter2" }] } };
        }),
      ),
    );
    expect(result.connectionDetails.get("password")).toBe("hunter2");
    expect(printRender(result, { includeFullXR: true, includeFunctionResults: true })).not.toContain("hunter2");
    expect(JSON.stringify(result)).not.toContain("hunter2");
    expect(inspect(result, { depth: 9, showHidden: true })).not.toContain("hunter2");
  });

  test("conditions that functions copy into composed resources have the fixed time", async () => {
    const status = {
      conditions: [{ type: "Ready", status: "True", lastTransitionTime: "2026-08-01T10:00:00Z" }, "odd"],
    };
    const { resources } = await render(runOf(desires({ a: bucket({ status }) })));
    expect(resources[0]?.["status"]).toEqual({
      conditions: [{ type: "Ready", status: "True", lastTransitionTime: "2024-01-01T00:00:00Z" }, "odd"],
    });
  });

  test.each<[string, JsonValue, string]>([
    ["no annotation", bucket({ metadata: { name: "x" } }), "composition-resource-name"],
    ["a name that is not a string", bucket({ metadata: { name: 1 } }), "metadata.name"],
    ["a list", [], "not an object"],
    ["labels that are not strings", bucket({ metadata: { name: "x", labels: { a: 1 } } }), "metadata.labels"],
  ])("an observed resource with %s is refused", async (_what, object, words) => {
    await expect(render({ ...runOf(), observed: [object] })).rejects.toMatchObject({
      code: "InvalidObserved",
      message: expect.stringContaining(words),
    });
  });

  test.each<[string, Record<string, JsonValue>]>([
    ["only generateName", { generateName: "my-store-" }],
    ["neither name nor generateName", {}],
  ])("an observed resource with %s is the function's to see, and its desired name stays", async (_what, metadata) => {
    const annotations = { "crossplane.io/composition-resource-name": "a" };
    const seen: JsonValue[] = [];
    const run = runOf(
      changes((io) => {
        seen.push(...(io.observed.resources ?? []).map(({ name }) => name));
        io.desired = { resources: [{ name: "a", resource: bucket({ metadata: { name: "wanted" } }) }] };
      }),
    );
    const { resources } = await render({ ...run, observed: [bucket({ metadata: { ...metadata, annotations } })] });
    expect(seen).toEqual(["a"]);
    expect(resources[0]?.metadata?.name).toBe("wanted");
  });

  test.each([false, true])(
    "the output of a render is what the next one observes (whole XR: %s)",
    async (includeFullXR) => {
      const run = runOf(desires({ a: bucket(), b: bucket() }));
      const once = await render(run);
      const printed = printRender(once, { includeFullXR, includeFunctionResults: true });
      const observed = readDocuments(printed).map(({ value }) => value);
      const twice = await render({ ...run, observed });
      expect(observed).toHaveLength(3);
      expect(printRender(twice)).toBe(printRender(once));
    },
  );

  test("all unusable observed resources are named at once", async () => {
    const foreign = observedBucket("c", {});
    (foreign["metadata"] as Record<string, JsonValue>)["ownerReferences"] = [{ uid: "other", controller: true }];
    const observed = [observedBucket("a"), observedBucket("a"), bucket({ metadata: { name: "x" } }), foreign];
    const error = await render({ ...runOf(), composite: xr({ uid: "mine" }), observed }).catch((one: Error) => one);
    expect(error).toMatchObject({ code: "InvalidObserved" });
    expect((error as Error).message.split("\n")).toHaveLength(3);
  });

  test("a Secret that an observed resource writes is the source of its connection details", async () => {
    const secret = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "a-conn", namespace: "system" },
      data: { password: Buffer.from("hunter2").toString("base64"), blob: Buffer.from([0xff, 0xfe]).toString("base64") },
      stringData: { user: "admin" },
    };
    const writer = observedBucket("a", {
      spec: { writeConnectionSecretToRef: { name: "a-conn", namespace: "system" } },
    });
    const details = [{ fromConnectionSecretKey: "password" }, { fromConnectionSecretKey: "user" }];
    const composition = compositionOf([], {
      resources: [
        {
          name: "a",
          base: bucket(),
          connectionDetails: [...details, { fromConnectionSecretKey: "blob" }],
        },
      ],
    });
    const input = { ...runOf(), composition };
    const result = await render({ ...input, observed: [secret, writer] });
    expect([...result.connectionDetails]).toEqual([
      ["password", "hunter2"],
      ["user", "admin"],
    ]);
    expect(printRender(result, { includeFullXR: true, includeFunctionResults: true })).not.toContain("hunter2");
    await expect(render({ ...input, observed: [secret, observedBucket("a")] })).rejects.toMatchObject({
      code: "InvalidObserved",
      message: expect.stringContaining("writeConnectionSecretToRef"),
    });
  });

  test("the Secret of the XR itself has the details that functions observe, and is not a composed resource", async () => {
    const place = { name: "mine", namespace: "system" };
    const secret = { apiVersion: "v1", kind: "Secret", metadata: place, stringData: { uri: "db:5432" } };
    const composite = xr({}, { spec: { writeConnectionSecretToRef: place } });
    const seen: FunctionIO[] = [];
    const input = { ...runOf(spy(seen)), composite, observed: [secret, observedBucket("a")] };
    const result = await render(input);
    expect(seen[0]?.observed).toMatchObject({
      composite: { connectionDetails: [{ name: "uri", value: "db:5432" }] },
      resources: [{ name: "a" }],
    });
    expect(printRender(result, { includeFullXR: true })).not.toContain("db:5432");
    // Another Secret is an object without an entry.
    await expect(render({ ...input, composite: xr() })).rejects.toMatchObject({ code: "InvalidObserved" });
  });

  test("an XR without a UID accepts observed resources of any owner", async () => {
    const owned = observedBucket("a");
    (owned["metadata"] as Record<string, JsonValue>)["ownerReferences"] = [{ uid: "live", controller: true }];
    const result = await render({ ...runOf(desires({ a: bucket() })), observed: [owned] });
    expect(result.resources[0]?.metadata?.name).toBe("store-a");
  });

  test("an XR that selects Compositions by label refuses others", async () => {
    const select = (env: string, spec: Record<string, JsonValue>) =>
      render({ ...runOf(), composite: xr({}, { spec }) });
    const selector = (env: string) => ({ compositionSelector: { matchLabels: { env } } });
    await expect(select("dev", selector("dev"))).resolves.toBeDefined();
    await expect(select("prod", selector("prod"))).rejects.toMatchObject({
      code: "CompositionMismatch",
      message: expect.stringMatching(/ lacks env: "prod"$/) as string,
    });
    await expect(select("prod", { crossplane: selector("prod") })).rejects.toMatchObject({
      code: "CompositionMismatch",
    });
  });

  test("the same inputs print the same text", async () => {
    const run = async (): Promise<string> => printRender(await render(runOf(desires({ b: bucket(), a: bucket() }))));
    expect(await run()).toBe(await run());
  });
});

describe("the environment", () => {
  const composition = compositionOf([], {
    environment: { environmentConfigs: [{ type: "Reference", ref: { name: "prod" } }] },
    resources: [
      {
        name: "a",
        base: bucket(),
        patches: [{ type: "FromEnvironmentFieldPath", fromFieldPath: "zone", toFieldPath: "spec.region" }],
      },
    ],
  });
  const config = { apiVersion: "v1alpha1", kind: "EnvironmentConfig", metadata: { name: "prod" }, data: { zone: "z" } };

  test("is selected by the Composition from the existing EnvironmentConfigs", async () => {
    const { resources } = await render({ ...runOf(), composition, environmentConfigs: [config] });
    expect(resources[0]?.["spec"]).toMatchObject({ region: "z" });
  });

  test("an environment that cannot be selected is an error that says whether a retry can help", async () => {
    const run = render({ ...runOf(), composition });
    await expect(run).rejects.toMatchObject({ code: "InvalidEnvironment", retryable: true });
  });
});
