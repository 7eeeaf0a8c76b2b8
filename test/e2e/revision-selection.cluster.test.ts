import { documentOf } from "@xfn/composition";
import { parseDefinition } from "@xfn/composition/definition";
import { definitionReconciler, revisionReconciler, SelectionError, selectRevision } from "@xfn/controller";
import type { JsonObject, KubernetesObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { type DefinitionWorld, definitionWorld, thingDefinition } from "../harness/definitions.ts";
import { needs } from "../harness/needs.ts";

const API = "apiextensions.crossplane.io/v1";

describe("the revision of a composite", needs("api-server"), () => {
  let server: TestApiServer;
  let world: DefinitionWorld;
  const revisionOf: Record<string, LiveObject> = {};

  beforeAll(async () => {
    server = await startApiServer();
    world = await definitionWorld(server);
    await world.client.create(thingDefinition());
    await world.settle(definitionReconciler(world.context), "xthings.example.org");
    const reconcile = revisionReconciler(world.context);
    for (const [name, data, labels] of [
      ["a", "1", { channel: "stable", color: "red" }],
      ["a", "2", { channel: "alpha", color: "red" }],
      ["b", "1", { color: "blue" }],
    ] as const) {
      await world.client.apply(composition(name, data, labels));
      await world.settle(reconcile, name);
      const kind = await world.client.kind(API, "CompositionRevision");
      const { items } = await world.client.list(kind, { labelSelector: `crossplane.io/composition-name=${name}` });
      for (const item of items) revisionOf[`${name}${Number((item["spec"] as JsonObject)["revision"])}`] = item;
    }
    await world.client.apply(composition("other", "1", {}, "XOther"));
    await world.settle(reconcile, "other");
    await world.client.apply(composition("unborn"));
  });
  afterAll(async () => {
    await world?.stop();
    await server?.stop();
  });

  // The writer of the composite's compositionRevisionRef.
  let chosenBy = "xfn-controller/composite";
  const nameOf = (key: string): string => revisionOf[key]?.metadata.name ?? key;
  const select = async (spec: JsonObject, definition: JsonObject = {}): Promise<[string, JsonObject]> => {
    const xr: LiveObject = {
      apiVersion: "example.org/v1",
      kind: "XThing",
      metadata: {
        name: "x",
        uid: "u",
        resourceVersion: "1",
        managedFields: [
          { manager: chosenBy, fieldsV1: { "f:spec": { "f:compositionRevisionRef": { "f:name": {} } } } },
        ],
      },
      spec,
    };
    const parsed = parseDefinition(documentOf(thingDefinition(definition)));
    world.writes();
    const reader = { ...world.context, rollouts: false };
    const { revision, composition: read, changes } = await selectRevision(reader, parsed, xr);
    expect(world.writes()).toEqual([]);
    expect(read.spec.resources[0]?.name).toBe("a");
    return [revision.metadata.name, changes];
  };
  const codeOf = async (spec: JsonObject, definition: JsonObject = {}): Promise<string> => {
    const error: unknown = await select(spec, definition).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SelectionError);
    return error instanceof SelectionError ? error.code : "";
  };

  test("is the newest of the Composition that it names, with the fields to record", async () => {
    const name = nameOf("a2");
    expect(await select({ compositionRef: { name: "a" } })).toEqual([
      name,
      { compositionRevisionRef: { name }, compositionUpdatePolicy: "Automatic" },
    ]);
    const says = {
      compositionRef: { name: "a" },
      compositionRevisionRef: { name },
      compositionUpdatePolicy: "Automatic",
    };
    expect(await select(says)).toEqual([name, {}]);
  });

  test("follows new revisions with the policy Automatic, and stays with Manual", async () => {
    const at = { compositionRef: { name: "a" }, compositionRevisionRef: { name: nameOf("a1") } };
    expect((await select({ ...at, compositionUpdatePolicy: "Automatic" }))[0]).toBe(nameOf("a2"));
    expect(await select({ ...at, compositionUpdatePolicy: "Manual" })).toEqual([nameOf("a1"), {}]);
    expect((await select(at, { defaultCompositionUpdatePolicy: "Manual" }))[0]).toBe(nameOf("a1"));
  });

  test("has the labels of compositionRevisionSelector", async () => {
    const selector = (channel: string): JsonObject => ({ compositionRevisionSelector: { matchLabels: { channel } } });
    expect((await select({ compositionRef: { name: "a" }, ...selector("stable") }))[0]).toBe(nameOf("a1"));
    expect((await select({ compositionRef: { name: "a" }, ...selector("alpha") }))[0]).toBe(nameOf("a2"));
    expect(await codeOf({ compositionRef: { name: "a" }, ...selector("beta") })).toBe("NoRevision");
  });

  test("belongs to a Composition with the labels of compositionSelector, or to any for its kind", async () => {
    const [blue, changes] = await select({ compositionSelector: { matchLabels: { color: "blue" } } });
    expect(blue).toBe(nameOf("b1"));
    expect(changes).toMatchObject({ compositionRef: { name: "b" } });
    expect((await select({}))[0]).toBe(nameOf("a2"));
    expect(await codeOf({ compositionSelector: { matchLabels: { color: "green" } } })).toBe("NoComposition");
  });

  test("belongs to the definition's default without a choice, and always to an enforced Composition", async () => {
    const b = { name: "b" };
    expect((await select({}, { defaultCompositionRef: b }))[0]).toBe(nameOf("b1"));
    expect((await select({ compositionRef: { name: "a" } }, { defaultCompositionRef: b }))[0]).toBe(nameOf("a2"));
    const red = { compositionSelector: { matchLabels: { color: "red" } } };
    expect((await select(red, { defaultCompositionRef: b }))[0]).toBe(nameOf("a2"));
    const [enforced, changes] = await select({ compositionRef: { name: "a" } }, { enforcedCompositionRef: b });
    expect(enforced).toBe(nameOf("b1"));
    expect(changes).toMatchObject({ compositionRef: b });
  });

  test("cannot be pinned if it belongs to another Composition than the enforced one", async () => {
    const pinned = { compositionUpdatePolicy: "Manual", compositionRevisionRef: { name: nameOf("a1") } };
    const [name, changes] = await select(pinned, { enforcedCompositionRef: { name: "b" } });
    expect(name).toBe(nameOf("b1"));
    expect(changes).toEqual({ compositionRef: { name: "b" }, compositionRevisionRef: { name: nameOf("b1") } });
  });

  test("is refused if a user chose one of another Composition", async () => {
    const pinned = { compositionUpdatePolicy: "Manual", compositionRevisionRef: { name: nameOf("a1") } };
    chosenBy = "kubectl";
    expect(await codeOf(pinned, { enforcedCompositionRef: { name: "b" } })).toBe("Incompatible");
    expect(await codeOf({ ...pinned, compositionRef: { name: "b" } })).toBe("Incompatible");
    chosenBy = "xfn-controller/composite";
    expect((await select({ ...pinned, compositionRef: { name: "b" } }))[0]).toBe(nameOf("b1"));
  });

  test("determines the Composition if it is pinned", async () => {
    const [name, changes] = await select({
      compositionUpdatePolicy: "Manual",
      compositionRevisionRef: { name: nameOf("b1") },
    });
    expect(name).toBe(nameOf("b1"));
    expect(changes).toEqual({ compositionRef: { name: "b" } });
  });

  test.each<[what: string, spec: JsonObject, code: string]>([
    ["a composition that is not there", { compositionRef: { name: "none" } }, "CompositionNotFound"],
    ["a composition for another kind", { compositionRef: { name: "other" } }, "Incompatible"],
    ["a composition without a revision yet", { compositionRef: { name: "unborn" } }, "NoRevision"],
    [
      "a missing revision",
      { compositionUpdatePolicy: "Manual", compositionRevisionRef: { name: "none" } },
      "RevisionNotFound",
    ],
  ])("is none with %s", async (_, spec, code) => {
    expect(await codeOf(spec)).toBe(code);
  });

  test("is read from caches if the kinds are watched", async () => {
    const xrs: string[] = [];
    const compositions = await world.client.kind(API, "Composition");
    const revisions = await world.client.kind(API, "CompositionRevision");
    world.cache(compositions, (await world.client.list(compositions)).items);
    world.cache(revisions, (await world.client.list(revisions)).items);
    world.requests();
    for (const spec of [
      {},
      { compositionRef: { name: "a" } },
      { compositionSelector: { matchLabels: { color: "blue" } } },
    ]) {
      xrs.push((await select(spec))[0]);
    }
    expect(xrs).toEqual([nameOf("a2"), nameOf("a2"), nameOf("b1")]);
    expect(world.requests()).toEqual([]);
    world.cache(compositions, undefined);
    world.cache(revisions, undefined);
  });
});

function composition(name: string, data = "1", labels: Record<string, string> = {}, kind = "XThing"): KubernetesObject {
  return {
    apiVersion: API,
    kind: "Composition",
    metadata: { name, labels },
    spec: {
      compositeTypeRef: { apiVersion: "example.org/v1", kind },
      resources: [{ name: "a", base: { apiVersion: "v1", kind: "ConfigMap", data: { a: data } } }],
    },
  };
}
