import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { describe, expect, test } from "vitest";
import { get, named, owner, referencesOf, unnamed, WIDGET, widget, world, xr } from "../harness/composite-memory.ts";

// XRs that Crossplane composed before.

const ENTRY = "crossplane.io/composition-resource-name";
const recorded = (...names: string[]): JsonObject => ({ resourceRefs: names.map((name) => ({ ...WIDGET, name })) });
const crossplanes = (manager: string, fieldsV1: JsonObject, metadata: JsonObject = {}): LiveObject =>
  widget("w1", "a", {
    ...metadata,
    managedFields: [{ manager, operation: "Update", apiVersion: WIDGET.apiVersion, fieldsType: "FieldsV1", fieldsV1 }],
  });

describe("objects without the annotation of their entry", () => {
  const anonymous = (name: string): LiveObject => widget(name, "", { annotations: {} });

  test("are not composed a second time, and the message has the commands that name them", async () => {
    const w = world([xr(recorded("z1", "b1")), anonymous("z1"), anonymous("b1")]);
    w.compose({ base: { ...WIDGET, spec: { size: 1 } } }, { base: { ...WIDGET, spec: { size: 2 } } });
    await expect(w.reconcile()).rejects.toThrow(expect.objectContaining({ code: "UnnamedResources" }));
    expect([...w.client.objects.values()].filter(({ kind }) => kind === "Widget")).toHaveLength(2);
    // The order of the references associates them with templates, so it stays.
    expect(referencesOf(w.client)).toEqual(["z1", "b1"]);
    const reported = JSON.stringify(get(w.client, "XDatabase", "xr")?.["status"]);
    for (const [name, template] of Object.entries({ z1: "template-0", b1: "template-1" }))
      expect(reported).toContain(`kubectl annotate widgets.things.example.org ${name} ${ENTRY}=${template}`);
  });

  test("of another kind than the template at their position get no name in the commands", async () => {
    const w = world([xr(recorded("z1")), anonymous("z1")]);
    w.compose({ base: { apiVersion: "example.org/v1", kind: "XBucket", spec: {} } });
    await expect(w.reconcile()).rejects.toThrow(`kubectl annotate widgets.things.example.org z1 ${ENTRY}=TEMPLATE`);
  });

  test("become the composed resources once they are annotated", async () => {
    const w = world([xr(recorded("z1", "b1")), anonymous("z1"), anonymous("b1")]);
    w.compose({ base: { ...WIDGET, spec: { size: 1 } } }, { base: { ...WIDGET, spec: { size: 2 } } });
    await expect(w.reconcile()).rejects.toThrow();
    for (const [name, entry] of Object.entries({ z1: "template-0", b1: "template-1" }))
      await w.client.patch({ ...WIDGET, name }, "merge", { metadata: { annotations: { [ENTRY]: entry } } });
    await w.reconcile();
    expect(get(w.client, "Widget", "z1")?.["spec"]).toEqual({ size: 1 });
    expect(get(w.client, "Widget", "b1")?.["spec"]).toEqual({ size: 2 });
    expect(referencesOf(w.client)).toEqual(["b1", "z1"]);
  });

  test("are found by their names if the templates set these", async () => {
    const w = world([xr(recorded("a1")), anonymous("a1")]);
    w.compose(named("a", "a1"), named("b", "b1"));
    await w.reconcile();
    expect(get(w.client, "Widget", "a1")?.metadata.annotations).toMatchObject({ [ENTRY]: "a" });
    expect(referencesOf(w.client)).toEqual(["a1", "b1"]);
  });

  test("whose name a template sets are not created again, even if others are unknown", async () => {
    const w = world([xr(recorded("a1", "left")), anonymous("a1"), anonymous("left")]);
    w.compose(named("a", "a1"));
    await w.reconcile();
    expect(get(w.client, "Widget", "a1")?.metadata.annotations).toMatchObject({ [ENTRY]: "a" });
    expect(referencesOf(w.client)).toEqual(["a1", "left"]);
  });

  test("that the XR does not control are not a reason to refuse", async () => {
    const theirs = widget("left", "", { annotations: {}, ownerReferences: [] });
    const w = world([xr(recorded("left")), theirs]);
    w.compose(unnamed("a"));
    await w.reconcile();
    expect([...w.client.objects.values()].filter(({ kind }) => kind === "Widget")).toHaveLength(2);
    expect(get(w.client, "Widget", "left")).toEqual(theirs);
  });

  test("are left alone if nothing is created", async () => {
    const w = world([xr(recorded("a1", "left")), widget("a1", "a"), anonymous("left")]);
    w.compose(unnamed("a"));
    await w.reconcile();
    expect(referencesOf(w.client)).toEqual(["a1", "left"]);
  });
});

describe("fields that Crossplane wrote", () => {
  const FIELDS = {
    "f:metadata": { "f:annotations": { "f:crossplane.io/external-name": {}, "f:old": {} }, "f:generateName": {} },
    "f:spec": { "f:dropped": {}, "f:size": {} },
  };
  const spec = { dropped: true, size: 9, theirs: "provider" };
  const annotations = { [ENTRY]: "a", "crossplane.io/external-name": "external", old: "x" };

  test.each(["crossplane", "apiextensions.crossplane.io/composed/0a1b2c"])(
    "as %s are removed when no template has them",
    async (manager) => {
      const w = world([xr(recorded("w1")), { ...crossplanes(manager, FIELDS, { annotations }), spec }]);
      w.compose(unnamed("a"));
      await w.reconcile();
      const after = get(w.client, "Widget", "w1");
      expect(after?.["spec"]).toEqual({ size: 1, theirs: "provider" });
      expect(after?.metadata.annotations).toEqual({ [ENTRY]: "a", "crossplane.io/external-name": "external" });
      w.client.writes.length = 0;
      await w.reconcile();
      expect(w.client.writes).toEqual([]);
    },
  );

  test("stay if the object is a nested composite, or belongs to another controller", async () => {
    const nested = { ...crossplanes("crossplane", FIELDS), spec: { ...spec, resourceRefs: [] } };
    const w = world([xr(recorded("w1")), nested]);
    w.compose(unnamed("a"));
    await w.reconcile();
    expect(get(w.client, "Widget", "w1")?.["spec"]).toMatchObject({ dropped: true, resourceRefs: [] });
    const foreign = { ...crossplanes("crossplane", FIELDS, { ownerReferences: [owner("other")] }), spec };
    const other = world([xr(recorded("w1")), foreign]);
    other.compose(named("a", "w1"));
    await expect(other.reconcile()).rejects.toThrow(expect.objectContaining({ code: "NotControllable" }));
    expect(get(other.client, "Widget", "w1")?.["spec"]).toEqual(spec);
  });

  test("stay until the XR controls the object", async () => {
    const free = { ...crossplanes("crossplane", FIELDS, { annotations, ownerReferences: [] }), spec };
    const w = world([xr(recorded("w1")), free]);
    w.compose(unnamed("a"));
    await w.reconcile();
    expect(w.titles()).not.toContain("patch Widget/w1");
    expect(get(w.client, "Widget", "w1")?.["spec"]).toMatchObject({ dropped: true });
    await w.reconcile();
    expect(get(w.client, "Widget", "w1")?.["spec"]).toEqual({ size: 1, theirs: "provider" });
  });

  test.each<[string, JsonObject]>([
    ["of another version, whose fields may have other names", { apiVersion: "things.example.org/v0" }],
    ["of a subresource", { subresource: "scale" }],
  ])("%s, stay", async (_, other) => {
    const managed = crossplanes("crossplane", FIELDS, { annotations });
    const [entry] = managed.metadata["managedFields"] as JsonObject[];
    managed.metadata["managedFields"] = [{ ...entry, ...other }];
    const w = world([xr(recorded("w1")), { ...managed, spec }]);
    w.compose(unnamed("a"));
    await w.reconcile();
    expect(get(w.client, "Widget", "w1")?.["spec"]).toMatchObject({ dropped: true });
  });

  test("as the status writer stay", async () => {
    const w = world([
      xr(recorded("w1")),
      { ...crossplanes("crossplane", { "f:status": { "f:a": {} } }), status: { a: 1 } },
    ]);
    w.compose(unnamed("a"));
    await w.reconcile();
    expect(get(w.client, "Widget", "w1")?.["status"]).toEqual({ a: 1 });
    expect(w.titles().filter((title) => title.startsWith("patch"))).toEqual([]);
  });
});
