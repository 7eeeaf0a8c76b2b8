import type { PipelineInspector } from "@xfn/controller";
import type { JsonObject } from "@xfn/json";
import { ApiError, type LiveObject } from "@xfn/kubernetes";
import { describe, expect, test } from "vitest";
import { type OperationWorld, operation, operationWorld, reconciled } from "../harness/operation-world.ts";

const configMap = (name: string, data: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default" },
  data,
});

function worldOf(one: LiveObject, ...more: readonly LiveObject[]): { world: OperationWorld; run(): Promise<unknown> } {
  const world = operationWorld([one, ...more]);
  return { world, run: () => reconciled(world.reconcilers.operation, one.metadata.name) };
}

const succeeded = (world: OperationWorld): string => world.condition("Operation", "op", "Succeeded");
const synced = (world: OperationWorld): string => world.condition("Operation", "op", "Synced");

function revision(...capabilities: string[]): LiveObject {
  return {
    apiVersion: "pkg.crossplane.io/v1",
    kind: "FunctionRevision",
    metadata: {
      name: "function-a-1",
      uid: "r",
      resourceVersion: "1",
      labels: { "pkg.crossplane.io/package": "function-a" },
    },
    spec: { desiredState: "Active" },
    status: { capabilities },
  };
}

describe("an Operation", () => {
  test("is inspected as such, with its steps", async () => {
    const one = operation("op", { pipeline: [{ step: "look", functionRef: { name: "function-a" } }] });
    const runs: unknown[] = [];
    const inspect: PipelineInspector["inspect"] = ({ object, composition, steps }, callers) => {
      runs.push([object.kind, object.metadata.name, composition, steps.map(({ name }) => name)]);
      return callers;
    };
    await reconciled(operationWorld([one], { inspector: { inspect } }).reconcilers.operation, "op");
    expect(runs).toEqual([["Operation", "op", undefined, ["look"]]]);
  });

  test("runs its steps once, records their outputs, and applies without an owner what they desire", async () => {
    const pipeline = ["one", "two"].map((step) => ({
      step,
      functionRef: { name: "function-a" },
      input: { apiVersion: "v1", kind: "Input", step },
    }));
    const { world, run } = worldOf(operation("op", { pipeline }));
    world.answer = ({ input }) => ({
      desired: { [String(input?.["step"])]: configMap(`made-by-${String(input?.["step"])}`, { a: "b" }) },
      context: { seen: input?.["step"] ?? null },
      output: { from: input?.["step"] ?? null },
      results: [{ severity: "Normal", message: `ran ${String(input?.["step"])}`, target: "Composite" }],
    });
    expect(await run()).toBe(undefined);
    expect(
      world.requests.map(({ observed, desired, context }) => [observed, [...desired.resources.keys()], context]),
    ).toEqual([
      [{ resources: new Map() }, [], {}],
      [{ resources: new Map() }, ["one"], { seen: "one" }],
    ]);
    expect(world.status("Operation", "op")).toMatchObject({
      failures: 0,
      attempts: 1,
      pipeline: [
        { step: "one", output: { from: "one" } },
        { step: "two", output: { from: "two" } },
      ],
      appliedResourceRefs: [
        { apiVersion: "v1", kind: "ConfigMap", namespace: "default", name: "made-by-one" },
        { apiVersion: "v1", kind: "ConfigMap", namespace: "default", name: "made-by-two" },
      ],
    });
    expect([synced(world), succeeded(world), world.condition("Operation", "op", "ValidPipeline")]).toEqual([
      "True/ReconcileSuccess",
      "True/PipelineSuccess",
      "True/ValidPipeline",
    ]);
    const made = world.object("ConfigMap", "made-by-one");
    expect(made?.metadata["ownerReferences"]).toBe(undefined);
    expect(made?.metadata["managedFields"]).toMatchObject([{ manager: "ops.crossplane.io/operation/uid-op" }]);
    expect(world.events).toEqual([
      'Normal RunPipelineStep: Pipeline step "one": ran one',
      'Normal RunPipelineStep: Pipeline step "two": ran two',
    ]);
    await run();
    expect(world.requests).toHaveLength(2);
  });

  test("is recorded as running before its functions run", async () => {
    const { world, run } = worldOf(operation("op"));
    world.answer = () => {
      expect(succeeded(world)).toBe("Unknown/PipelineRunning");
      return {};
    };
    await run();
    expect(world.requests).toHaveLength(1);
  });

  test("is tried again after 1 s, 2 s, ..., and has failed at the limit", async () => {
    const { world, run } = worldOf(operation("op", { retryLimit: 3 }));
    world.answer = () => ({ results: [{ severity: "Fatal", message: "no luck", target: "Composite" }] });
    const cause = 'pipeline step "one" returned a fatal result: no luck';
    const message = `FatalResult: ${cause}`;
    expect(await run()).toBe(cause);
    expect(synced(world)).toBe(`False/ReconcileError: ${message}`);
    expect(await run()).toEqual({ requeueAfterMs: 1_000 });
    world.time += 1_000;
    expect(await run()).toBe(cause);
    expect(await run()).toEqual({ requeueAfterMs: 2_000 });
    world.time += 2_000;
    expect(await run()).toBe(undefined);
    expect(world.status("Operation", "op")).toMatchObject({ failures: 3 });
    expect(synced(world)).toBe("True/ReconcileSuccess");
    expect(succeeded(world)).toBe(`False/PipelineError: the limit of 3 failed attempts is reached: ${message}`);
    expect(world.events).toEqual(Array.from({ length: 3 }, () => `Warning FunctionInvocation: ${message}`));
    world.time += 60_000;
    await run();
    expect(world.requests).toHaveLength(3);
  });

  test("counts an attempt that the end of the controller interrupted", async () => {
    const interrupted = {
      failures: 1,
      attempts: 2,
      conditions: [{ type: "Succeeded", status: "Unknown", reason: "PipelineRunning" }],
    };
    const { world, run } = worldOf(operation("op", {}, { status: interrupted }));
    await run();
    expect(world.status("Operation", "op")).toMatchObject({ failures: 2, attempts: 3 });
    expect(succeeded(world)).toBe("True/PipelineSuccess");
    const limited = worldOf(operation("op", { retryLimit: 2 }, { status: interrupted }));
    await limited.run();
    expect(succeeded(limited.world)).toContain("False/PipelineError: the limit of 2 failed attempts is reached");
    expect(limited.world.requests).toEqual([]);
  });

  test("has failed at the limit with Crossplane's CRD too, which has no field for the attempts", async () => {
    const { world, run } = worldOf(operation("op", { retryLimit: 2 }));
    world.answer = () => ({ results: [{ severity: "Fatal", message: "no luck", target: "Composite" }] });
    const { patch } = world.client;
    world.client.patch = async (reference, type, body, options) => {
      const status = { ...((body as JsonObject)["status"] as JsonObject) };
      delete status["attempts"];
      return await patch(reference, type, { ...(body as JsonObject), status }, options);
    };
    await run();
    world.time += 1_000;
    await run();
    expect(world.status("Operation", "op")).toMatchObject({ failures: 2 });
    expect(succeeded(world)).toContain("False/PipelineError");
  });

  test("does not run if its start cannot be recorded", async () => {
    const { world, run } = worldOf(operation("op"));
    world.client.beforeWrite = () => {
      throw new ApiError("Conflict", "the object has been modified", { status: 409 });
    };
    expect(await run()).toContain("modified");
    expect(world.requests).toEqual([]);
  });

  test("stops at the first object that cannot be applied, and keeps the references of the others", async () => {
    const { world, run } = worldOf(operation("op", { retryLimit: 1 }));
    world.answer = () => ({ desired: { a: configMap("a"), b: configMap("b"), c: configMap("c") } });
    world.client.beforeWrite = ({ verb, object }) => {
      if (verb === "apply" && object.endsWith("/b")) throw new ApiError("Invalid", "b is invalid", { status: 422 });
    };
    await run();
    expect(world.status("Operation", "op")["appliedResourceRefs"]).toMatchObject([{ name: "a" }]);
    expect(world.object("ConfigMap", "c")).toBe(undefined);
    expect(succeeded(world)).toContain("cannot apply ConfigMap default/b: b is invalid");
  });

  test.each([
    [
      "a Secret",
      { apiVersion: "v1", kind: "Secret", metadata: { name: "s", namespace: "default" } },
      "SecretsDisabled",
    ],
    [
      "a namespaced object without a namespace",
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" } },
      "set metadata.namespace",
    ],
    ["an object without a name", { apiVersion: "example.org/v1", kind: "Thing" }, "metadata.name"],
    ["one object twice", configMap("twice"), '"twice" is the same ConfigMap default/twice'],
  ])("applies nothing if its functions desire %s", async (_, object, why) => {
    const { world, run } = worldOf(operation("op", { retryLimit: 1 }));
    world.answer = () => ({ desired: { good: configMap("good"), twice: configMap("twice"), x: object } });
    await run();
    expect(succeeded(world)).toContain(why);
    expect(world.object("ConfigMap", "good")).toBe(undefined);
  });

  test("fails while a function declares no capability operation", async () => {
    const { world, run } = worldOf(operation("op", { retryLimit: 2 }), revision());
    expect(await run()).toContain("lacks the capability operation");
    expect(world.condition("Operation", "op", "ValidPipeline")).toContain("False/MissingCapabilities");
    expect(world.events).toEqual([expect.stringContaining("Warning InvalidPipeline")]);
    expect(world.requests).toEqual([]);
    world.client.objects.forEach((one) => {
      if (one.kind === "FunctionRevision") one["status"] = { capabilities: ["composition", "Operation"] };
    });
    world.time += 1_000;
    await run();
    expect(world.condition("Operation", "op", "ValidPipeline")).toBe("True/ValidPipeline");
    expect(succeeded(world)).toBe("True/PipelineSuccess");
  });

  test("with a spec that cannot be read fails at once", async () => {
    const { world, run } = worldOf(operation("op", { pipeline: [{ step: "one" }] }));
    expect(await run()).toBe(undefined);
    expect(succeeded(world)).toContain("False/PipelineError: ");
    expect(succeeded(world)).toContain("spec.pipeline[0].functionRef");
  });

  test("records a failure if the server refuses its outputs", async () => {
    const { world, run } = worldOf(operation("op", { retryLimit: 1 }));
    world.answer = () => ({ output: { large: true } });
    world.client.beforeWrite = ({ body }) => {
      if (JSON.stringify(body).includes("large"))
        throw new ApiError("Invalid", "the object is too big", { status: 422 });
    };
    await run();
    expect(succeeded(world)).toContain("too big");
  });

  test("shows no value of its credentials", async () => {
    const secret = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "keys", namespace: "ops", uid: "s", resourceVersion: "1" },
      data: { token: Buffer.from("hunter2-hunter2").toString("base64") },
    } as LiveObject;
    const credentials = [{ name: "c", source: "Secret", secretRef: { namespace: "ops", name: "keys" } }];
    const pipeline = [{ step: "one", functionRef: { name: "function-a" }, credentials }];
    const world = operationWorld([operation("op", { pipeline, retryLimit: 1 }), secret], {
      credentialsSecretNamespaces: ["ops"],
    });
    world.answer = ({ credentials: given }) => ({
      results: [
        { severity: "Fatal", message: `no ${given?.get("c")?.get("token")?.toString() ?? ""}`, target: "Composite" },
      ],
    });
    await reconciled(world.reconcilers.operation, "op");
    expect(JSON.stringify([world.status("Operation", "op"), world.events])).not.toContain("hunter2");
    expect(succeeded(world)).toContain("no (hidden)");
  });
});
