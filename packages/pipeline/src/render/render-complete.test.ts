import type { FunctionRequest, FunctionResponse } from "@xfn/function-grpc";
import type { JsonObject, JsonValue, KubernetesObject } from "@xfn/json";
import { describe, expect, test } from "vitest";
import { bucket, compositionOf, packagesOf, xr } from "../../testing/fixtures.ts";
import { inProcessRunner } from "../in-process.ts";
import { type PrintOptions, printRender } from "./print-render.ts";
import { render } from "./render.ts";
import type { RenderInput, RenderResult } from "./render-types.ts";

type Handler = (request: FunctionRequest) => Partial<FunctionResponse>;

async function renderWith(handler: Handler, input: Partial<RenderInput> = {}): Promise<RenderResult> {
  const pipeline = [{ step: "only", functionRef: { name: "f" } }];
  return await render({
    composite: xr(),
    composition: compositionOf([], { mode: "Pipeline", pipeline, writeConnectionSecretsToNamespace: "secrets" }),
    runner: inProcessRunner({}),
    functions: packagesOf(() => handler),
    ...input,
  });
}

const adds =
  (resource: JsonObject, ready = true): Handler =>
  () => ({ desired: { resources: new Map([["bucket", { resource, ready }]]) } });

const print = (result: RenderResult, options: PrintOptions = {}): string => printRender(result, options);

describe("a render of mode: Pipeline", () => {
  test("prints what crossplane render prints", async () => {
    const result = await renderWith(adds(bucket(), false), { composite: xr({ name: "example-xr" }) });
    expect(print(result, { includeFunctionResults: true })).toBe(`---
apiVersion: example.org/v1alpha1
kind: XStore
metadata:
  name: example-xr
spec:
  crossplane:
    resourceRefs:
    - apiVersion: s3.example.org/v1
      kind: Bucket
      name: example-xr-7e8e6a0c3555
status:
  conditions:
  - lastTransitionTime: "2024-01-01T00:00:00Z"
    reason: WatchCircuitClosed
    status: "True"
    type: Responsive
  - lastTransitionTime: "2024-01-01T00:00:00Z"
    reason: ReconcileSuccess
    status: "True"
    type: Synced
  - lastTransitionTime: "2024-01-01T00:00:00Z"
    message: 'Unready resources: bucket'
    reason: Creating
    status: "False"
    type: Ready
---
apiVersion: s3.example.org/v1
kind: Bucket
metadata:
  annotations:
    crossplane.io/composition-resource-name: bucket
  generateName: example-xr-
  labels:
    crossplane.io/composite: example-xr
  name: example-xr-7e8e6a0c3555
  ownerReferences:
  - apiVersion: example.org/v1alpha1
    blockOwnerDeletion: true
    controller: true
    kind: XStore
    name: example-xr
    uid: fb43ae1d-ec6c-55d8-b641-e27559d3690d
spec:
  region: eu
---
apiVersion: render.crossplane.io/v1beta1
kind: Result
message: 'Successfully selected composition: stores'
reason: SelectComposition
severity: Normal
---
apiVersion: render.crossplane.io/v1beta1
kind: Result
message: Composed resource "bucket" is not yet ready
reason: ComposeResources
severity: Normal
`);
  });

  test("gives functions the XR as a controller has it", async () => {
    let seen: JsonObject = {};
    const see: Handler = ({ observed }) => ((seen = observed.composite?.resource ?? {}), {});
    const observed = [
      bucket({ metadata: { name: "live", annotations: { "crossplane.io/composition-resource-name": "a" } } }),
    ];
    await renderWith(see, { observed });
    const status = { conditions: [expect.objectContaining({ type: "Responsive", status: "True" })] };
    const metadata = { resourceVersion: "999", labels: { "crossplane.io/composite": "my-store" } };
    const resourceRefs = [{ apiVersion: "s3.example.org/v1", kind: "Bucket", name: "live" }];
    expect(seen).toMatchObject({
      metadata: { ...metadata, uid: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-5/) },
      spec: { size: 3, crossplane: { compositionRef: { name: "stores" }, resourceRefs } },
      status,
    });
    await renderWith(see, { observed, isLegacy: true });
    expect(seen["spec"]).toMatchObject({
      compositionRef: { name: "stores" },
      resourceRefs,
      writeConnectionSecretToRef: { namespace: "secrets" },
    });
    expect(seen["spec"]).not.toHaveProperty("crossplane");
  });

  test("shows conditions of functions, and on claims those that target them", async () => {
    const shown = { status: "False", reason: "Why", message: "because", target: "CompositeAndClaim" } as const;
    const handler: Handler = () => ({ conditions: [{ type: "Shown", ...shown }] });
    const { composite } = await renderWith(handler, { isLegacy: true });
    expect(composite["status"]).toMatchObject({
      claimConditionTypes: ["Shown"],
      conditions: [
        { type: "Responsive" },
        { type: "Shown", message: "because" },
        { type: "Synced" },
        { type: "Ready" },
      ],
    });
    expect((await renderWith(handler)).composite["status"]).not.toHaveProperty("claimConditionTypes");
  });

  test("lets a function decide whether the XR is ready", async () => {
    const composite = { resource: {}, ready: true };
    const handler: Handler = (request) => ({
      desired: { ...adds(bucket(), false)(request).desired, composite } as never,
    });
    const { composite: printed } = await renderWith(handler);
    expect(printed["status"]).toMatchObject({ conditions: [{}, {}, { type: "Ready", status: "True" }] });
  });

  test("of a namespaced XR composes in its namespace, with an event for another", async () => {
    const handler = adds(bucket({ metadata: { namespace: "elsewhere" } }));
    const { resources, events } = await renderWith(handler, { composite: xr({ namespace: "shop" }) });
    expect(resources[0]?.metadata?.namespace).toBe("shop");
    expect(events).toContainEqual({
      severity: "Warning",
      reason: "NamespaceOverridden",
      message: 'cannot create composed resource "bucket" in namespace "elsewhere", using XR namespace "shop" instead',
    });
  });

  test("refuses observed resources of another namespace, and of another owner", async () => {
    const owners = [{ apiVersion: "a/v1", kind: "K", name: "n", uid: "other", controller: true }];
    const annotations = { "crossplane.io/composition-resource-name": "a" };
    const observed = (metadata: JsonObject): JsonValue[] => [
      bucket({ metadata: { name: "live", annotations, ...metadata } }),
    ];
    const composite = xr({ namespace: "shop" });
    await expect(renderWith(() => ({}), { composite, observed: observed({ namespace: "b" }) })).rejects.toMatchObject({
      code: "InvalidObserved",
    });
    await expect(renderWith(() => ({}), { observed: observed({ ownerReferences: owners }) })).rejects.toMatchObject({
      code: "InvalidObserved",
    });
  });

  test("after a fatal result prints the XR with its conditions, and the events", async () => {
    const result = await renderWith(
      () => ({
        results: [
          { severity: "Warning", message: "careful", target: "Composite" },
          { severity: "Fatal", message: "no", target: "Composite" },
        ],
        conditions: [{ type: "Mine", status: "True", reason: "Yes", target: "Composite" }],
      }),
      {
        composite: {
          ...xr({ generation: 2 }),
          status: { conditions: [{ type: "Old", status: "True", reason: "Was" }] },
        },
      },
    );
    const error = 'cannot compose resources: pipeline step "only" returned a fatal result: no';
    expect(result.composite["status"]).toMatchObject({
      conditions: [
        { type: "Old", status: "Unknown", reason: "FatalError" },
        { type: "Responsive", observedGeneration: 2 },
        { type: "Synced", status: "False", reason: "ReconcileError", message: error },
        { type: "Mine", status: "True" },
      ],
    });
    expect(result.resources).toEqual([]);
    expect(result.events?.map(({ message }) => message)).toEqual([
      "Successfully selected composition: stores",
      error,
      'Pipeline step "only": careful',
    ]);
  });

  test("prints the context on request", async () => {
    const result = await renderWith(() => ({ context: { "example.org/key": [1] } }), { context: { first: 1 } });
    expect(print(result)).not.toContain("Context");
    expect(print(result, { includeContext: true })).toContain("fields:\n  example.org/key:\n  - 1\nkind: Context\n");
  });

  test.each([
    [1e21, "1e+21"],
    [-(2 ** 63), "-9.223372036854776e+18"],
    [2 ** 62, "4611686018427388000"],
    [2 ** 53, "9007199254740992"],
    [1234567.5, "1.2345675e+06"],
    [0.1, "0.1"],
    [0.00001, "1e-05"],
    [1_000_000, "1000000"],
    [9007199254740993n, "9007199254740993"],
  ])("prints %s as Go prints it", async (number, text) => {
    const result = await renderWith(adds(bucket({ spec: { number } })));
    expect(print(result)).toContain(`  number: ${text}\n`);
  });

  test("folds long texts as Go folds them", async () => {
    const words = Array.from({ length: 16 }, (_, index) => `word${index}`).join(" ");
    const spec = { plain: words, quoted: `it's: ${words}`, list: [words], block: `${words} ${words}\nend\n` };
    const text = print(await renderWith(adds(bucket({ spec }))));
    expect(text.slice(text.indexOf("spec:\n  block"))).toBe(`spec:
  block: |
    ${words} ${words}
    end
  list:
  - word0 word1 word2 word3 word4 word5 word6 word7 word8 word9 word10 word11 word12
    word13 word14 word15
  plain: word0 word1 word2 word3 word4 word5 word6 word7 word8 word9 word10 word11
    word12 word13 word14 word15
  quoted: 'it''s: word0 word1 word2 word3 word4 word5 word6 word7 word8 word9 word10
    word11 word12 word13 word14 word15'
`);
  });
});

test("names and owners that no object can have are errors that name the entry", async () => {
  const owner = { apiVersion: "a/v1", kind: "K", name: "n", uid: "other", controller: true };
  for (const metadata of [{ name: "Not_A_Name" }, { ownerReferences: [owner] }]) {
    const resource = bucket({ metadata }) as KubernetesObject;
    await expect(renderWith(adds(resource))).rejects.toMatchObject({
      code: "InvalidDesired",
      message: expect.stringContaining('composed resource "bucket"'),
    });
  }
});
