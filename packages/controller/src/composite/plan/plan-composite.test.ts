import { documentOf, parseComposition } from "@xfn/composition";
import { isObject, type JsonObject } from "@xfn/json";
import { ApiError, type LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { digestOf } from "../../objects/apply-cache.ts";
import { composedManager, FIELD_MANAGERS } from "../../objects/field-managers.ts";
import { objectKey } from "../../objects/references.ts";
import type { Action } from "../../plan/action.ts";
import type { ActorName } from "../state/composite-actors.ts";
import { emptyMemory } from "../state/composite-memory.ts";
import { applicables } from "./applicable.ts";
import { type CompositeInput, type CompositePlan, planComposite } from "./plan-composite.ts";

const composition = parseComposition(
  documentOf({
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: { name: "c" },
    spec: { compositeTypeRef: { apiVersion: "example.org/v1", kind: "XThing" }, resources: [] },
  }),
);
const xr: LiveObject = {
  apiVersion: "example.org/v1",
  kind: "XThing",
  metadata: { name: "xr", uid: "uid-xr", resourceVersion: "1" },
};
const owner = { apiVersion: "example.org/v1", kind: "XThing", name: "xr", uid: "uid-xr", controller: true };
const widget = (name: string, metadata: JsonObject = { ownerReferences: [owner] }): LiveObject => ({
  apiVersion: "example.org/v1",
  kind: "Widget",
  metadata: { name, uid: `uid-${name}`, resourceVersion: "1", ...metadata },
});

interface World {
  /** The names of the desired widgets, which are also their entries. */
  readonly desired: readonly string[];
  /** The recorded widgets that exist. */
  readonly observed?: readonly LiveObject[];
  readonly located?: readonly LiveObject[] | ApiError;
  readonly undesired?: readonly LiveObject[];
  readonly memory?: CompositeInput["memory"];
  readonly xr?: LiveObject;
}

function plan({ desired, observed = [], located = observed, undesired = [], ...rest }: World): CompositePlan {
  const composed = desired.map((name) => ({
    name,
    resource: {
      apiVersion: "example.org/v1",
      kind: name === "unserved" ? "Gadget" : "Widget",
      metadata: { name, generateName: "xr-" },
      spec: { size: 1 },
    },
    ready: false,
  }));
  const entries = new Map(observed.map((object) => [object.metadata.name, object]));
  const kind = { group: "example.org", version: "v1", kind: "Widget", plural: "widgets", namespaced: false };
  const unserved = new ApiError("KindNotServed", "Gadget is not served");
  const kinds = { of: ({ kind: name }: { kind?: string }) => (name === "Gadget" ? unserved : kind) };
  return planComposite({
    xr: rest.xr ?? xr,
    layout: { isLegacy: true },
    composition,
    desired: undefined,
    changes: {},
    observed: { entries, unnamed: [], references: [], former: [], missing: [], notes: [] },
    applicables: applicables(composed, { xr, entries, kinds }),
    located:
      located instanceof ApiError
        ? new Map(desired.map((name) => [name, located]))
        : new Map(located.map((object) => [object.metadata.name, object])),
    undesired,
    memory: rest.memory ?? emptyMemory("uid-xr", () => 0),
  });
}

const titles = ({ stages }: CompositePlan): string[] =>
  stages.flatMap(({ name, actions }) => actions.map((action) => `${name}: ${titleOf(action)}`));
const titleOf = ({ do: verb, as, on, ...rest }: Action<ActorName>): string =>
  [verb, on.name, `as ${as}`, "guard" in rest ? rest.guard : undefined].filter((one) => one !== undefined).join(" ");

/** An XR or a widget as the server stores it after an action. */
function applied(action: Action<ActorName> | undefined, more: JsonObject = {}): LiveObject {
  if (action?.do !== "apply") throw new TypeError("the plan has no apply");
  const { intent, manager } = action;
  const { apiVersion = "", kind = "", metadata = {}, ...rest } = intent;
  const { name = "", ...others } = metadata;
  const fieldsV1 = fieldsOf(Object.keys(others).length === 0 ? rest : { ...rest, metadata: others });
  const managedFields = [{ manager, operation: "Apply", apiVersion, fieldsV1 }];
  const identity = { name, uid: `uid-${name}`, resourceVersion: "2" };
  return { ...rest, apiVersion, kind, metadata: { ...others, ...more, ...identity, managedFields } };
}

function fieldsOf(fields: JsonObject): JsonObject {
  const owned: JsonObject = {};
  for (const [key, value] of Object.entries(fields)) owned[`f:${key}`] = isObject(value) ? fieldsOf(value) : {};
  return owned;
}

test("the XR is recorded before its resources are applied, and what is undesired is deleted last", () => {
  const found = plan({ desired: ["a", "b"], observed: [widget("a")], undesired: [widget("old")] });
  expect(titles(found)).toEqual([
    "record: apply xr as xr version",
    "apply: apply a as composition uid",
    "apply: apply b as composition uid",
    "delete: delete old as composition version",
  ]);
  expect(found.stages.map(({ onFailure, needs }) => [onFailure, needs])).toEqual([
    ["stop", undefined],
    ["collect", undefined],
    ["collect", "no failure"],
  ]);
});

test("nothing is planned if the XR and its resources are as desired", () => {
  const first = plan({ desired: ["a"] });
  const [record, apply] = first.stages.flatMap(({ actions }) => actions);
  const object = applied(apply, { ownerReferences: [owner] });
  expect(titles(plan({ desired: ["a"], observed: [object], xr: { ...applied(record), status: {} } }))).toEqual([]);
});

test.each([
  ["created", { desired: ["a", "b"] }],
  ["deleted", { desired: ["a"], undesired: [widget("old")] }],
])("an XR that has all references is confirmed before an object is %s", (_, world) => {
  const [record, apply] = plan({ desired: world.desired }).stages.flatMap(({ actions }) => actions);
  const object = applied(apply, { ownerReferences: [owner] });
  expect(titles(plan({ ...world, observed: [object], xr: applied(record) }))[0]).toBe("record: confirm xr as xr");
});

test.each<[string, Omit<World, "undesired">]>([
  ["cannot be applied", { desired: ["a", "unserved"] }],
  [
    "belongs to another controller",
    { desired: ["a", "b"], located: [widget("b", { ownerReferences: [{ ...owner, uid: "other" }] })] },
  ],
  ["cannot be read", { desired: ["a"], located: new ApiError("Forbidden", "widgets is forbidden") }],
])("nothing is deleted if a resource %s", (_, world) => {
  expect(titles(plan({ ...world, undesired: [widget("old")] })).filter((one) => one.startsWith("delete"))).toEqual([]);
});

test("an undesired object of another controller stays", () => {
  const foreign = widget("old", { ownerReferences: [{ ...owner, uid: "other" }] });
  const { deletion } = plan({ desired: [], undesired: [foreign] });
  expect(deletion.retained).toEqual([foreign]);
  expect(deletion.stages.flatMap(({ actions }) => actions)).toEqual([]);
});

test("fields of Crossplane are taken over before the apply, and the apply is compared with the result", () => {
  const [, apply] = plan({ desired: ["a"] }).stages.flatMap(({ actions }) => actions);
  const object = applied(apply, { ownerReferences: [owner] });
  const [entry] = object.metadata["managedFields"] as JsonObject[];
  const theirs = { ...entry, manager: "crossplane", operation: "Update", fieldsV1: { "f:spec": { "f:left": {} } } };
  const taken: LiveObject = {
    ...object,
    metadata: { ...object.metadata, managedFields: [theirs] },
    spec: { size: 1, left: true },
  };
  expect(titles(plan({ desired: ["a"], observed: [taken] })).slice(1)).toEqual([
    "apply: patch a as composition version",
    "apply: apply a as composition uid",
  ]);
});

test("a resource keeps the generateName from which its name is, as in Crossplane", () => {
  const [, apply] = plan({ desired: ["a"] }).stages.flatMap(({ actions }) => actions);
  expect(apply).toMatchObject({ intent: { metadata: { name: "a", generateName: "xr-" } } });
});

test("the circuit breaker holds an apply back, and says for how long", () => {
  const memory = emptyMemory("uid-xr", () => 0);
  const world = { desired: ["a"], observed: [widget("a")], memory };
  const { entries } = plan(world);
  expect(entries[0]?.actions).toHaveLength(1);
  // Another writer makes each of these writes necessary.
  const [, apply] = plan(world).stages.flatMap(({ actions }) => actions);
  if (apply?.do !== "apply") throw new TypeError("the plan has no apply");
  for (let writes = 0; writes < 12; writes++) fought(memory, apply);
  const [delayed] = plan(world).entries;
  expect(delayed?.actions).toEqual([]);
  expect(delayed?.fight).toEqual({ message: expect.stringContaining("back after each apply"), waitMs: 30_000 });
});

function fought(
  { fights }: ReturnType<typeof emptyMemory>,
  { intent, on }: Extract<Action<ActorName>, { do: "apply" }>,
): void {
  fights.wrote(objectKey(on), digestOf(intent));
}

test("each write has its field manager", () => {
  const managers = plan({ desired: ["a"] }).stages.flatMap(({ actions }) => actions.map(({ manager }) => manager));
  expect(managers).toEqual([FIELD_MANAGERS.xr, composedManager(xr)]);
});
