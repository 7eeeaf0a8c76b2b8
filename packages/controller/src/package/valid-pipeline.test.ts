import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import type { Cluster } from "./package-port.ts";
import { pipelineCondition } from "./valid-pipeline.ts";

const revision = (pipeline: JsonObject[]): LiveObject => ({
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "CompositionRevision",
  metadata: { name: "c-1", uid: "c", resourceVersion: "1" },
  spec: { pipeline },
});
const functionRevision = (name: string, capabilities: string[], desiredState = "Active"): LiveObject => ({
  apiVersion: "pkg.crossplane.io/v1",
  kind: "FunctionRevision",
  metadata: { name: `${name}-1`, uid: name, resourceVersion: "1", labels: { "pkg.crossplane.io/package": name } },
  spec: { desiredState },
  status: { capabilities },
});
const STEP = { step: "a", functionRef: { name: "fn" } };
const conditionWith = (one: LiveObject, pipeline: JsonObject[] = [STEP]) => {
  const informers = { peek: () => ({ list: () => [one] }) } as unknown as Cluster["informers"];
  return pipelineCondition({ informers }, revision(pipeline));
};

test.each<[string, LiveObject]>([
  ["declares that it composes", functionRevision("fn", ["operation", "Composition"])],
  ["declares nothing", functionRevision("fn", [])],
  ["is inactive", functionRevision("fn", ["operation"], "Inactive")],
  ["no step names", functionRevision("other", ["operation"])],
])("a pipeline is valid with a Function that %s", (_, one) => {
  expect(conditionWith(one)).toEqual({ type: "ValidPipeline", status: "True", reason: "ValidPipeline" });
});

test("a pipeline with a Function for operations alone misses a capability", () => {
  expect(conditionWith(functionRevision("fn", ["operation"]))).toMatchObject({
    type: "ValidPipeline",
    status: "False",
    reason: "MissingCapabilities",
    message: expect.stringContaining("the Function fn (revision fn-1) lacks the capability composition"),
  });
});

test("a pipeline that names no Function has no condition", () => {
  const functionRef = { package: "registry.example.org/fn:v1" };
  expect(conditionWith(functionRevision("fn", ["operation"]), [{ step: "a", functionRef }])).toBeUndefined();
});
