import type { JsonObject } from "@xfn/json";
import type { LiveObject, ResourceKind } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { withObservation } from "../package/managed/observed-state.ts";
import type { Cluster } from "../package/package-port.ts";
import { activationConditions, activationOf } from "./activation.ts";

const live = (kind: string, name: string, more: JsonObject = {}, metadata: JsonObject = {}): LiveObject => ({
  apiVersion: "pkg.crossplane.io/v1",
  kind,
  metadata: { name, uid: name, resourceVersion: "1", generation: 1, ...metadata },
  ...more,
});
const runtime = (...conditions: JsonObject[]): LiveObject =>
  live("ProviderRuntime", "p", { status: { conditions } }, { ownerReferences: [{ name: "r", uid: "r" }] });
const refs = (...names: string[]): JsonObject => ({
  objectRefs: names.map((name) => ({ kind: "ManagedResourceDefinition", name })),
});
const definition = (name: string, observation?: string): LiveObject =>
  live("ManagedResourceDefinition", name, {}, observation === undefined ? {} : { ...withObservation(observation) });

/** @param status of the only revision; undefined without one @param definitions undefined: they are not listed yet */
function activation(
  status: JsonObject | undefined,
  definitions: readonly LiveObject[] | undefined,
  { convertsCrds = true, one = runtime() } = {},
): string {
  const objects = [
    ...(status === undefined ? [] : [live("ProviderRevision", "r", { status })]),
    ...(definitions ?? []),
  ];
  const peek = ({ kind }: ResourceKind) =>
    kind === "ManagedResourceDefinition" && definitions === undefined
      ? undefined
      : { get: (name: string) => objects.find((object) => object.kind === kind && object.metadata.name === name) };
  return activationOf({ cluster: { informers: { peek } } as unknown as Cluster, hosting: { convertsCrds } }, one);
}

const SAFE = { capabilities: ["safe-start"] };
const [ACTIVE, INACTIVE] = ["Active/1/crd/1", "Inactive/1"];

test.each<[string, JsonObject | undefined, readonly LiveObject[] | undefined, string]>([
  ["while its objects are being established", { ...SAFE }, [], "pending"],
  ["without the capability", refs("a"), [definition("a", INACTIVE)], "active"],
  ["without definitions", { ...SAFE, ...refs() }, [], "active"],
  ["without a revision", undefined, [], "active"],
  [
    "with inactive definitions",
    { ...SAFE, ...refs("a", "b") },
    ["a", "b"].map((one) => definition(one, INACTIVE)),
    "awaiting",
  ],
  ["with one that is active", { ...SAFE, ...refs("a", "b") }, [definition("a"), definition("b", ACTIVE)], "active"],
  ["with one that was not observed", { ...SAFE, ...refs("a") }, [definition("a")], "pending"],
  ["with one that does not exist", { ...SAFE, ...refs("a") }, [], "pending"],
  ["before definitions are listed", { ...SAFE, ...refs("a") }, undefined, "pending"],
])("a provider %s", (_, status, definitions, expected) => {
  expect(activation(status, definitions)).toBe(expected);
});

test("a provider that has run is not stopped, and one with CRDs runs", () => {
  const status = { ...SAFE, ...refs("a") };
  const inactive = [definition("a", INACTIVE)];
  const condition = { type: "RuntimeActive", status: "True", reason: "ActiveRuntime" };
  expect(activationConditions(runtime(), "active")).toEqual([condition]);
  expect(activation(status, inactive, { one: runtime(condition) })).toBe("active");
  expect(activation(status, inactive, { convertsCrds: false })).toBe("active");
});
