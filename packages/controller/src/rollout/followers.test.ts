import { FORM_API_VERSION } from "@xfn/composition/definition";
import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { describe, expect, test } from "vitest";
import { followersOf } from "./followers.ts";

const live = (kind: string, name: string, rest: JsonObject, metadata: JsonObject = {}): LiveObject => ({
  apiVersion: "apiextensions.crossplane.io/v1",
  kind,
  metadata: { name, uid: name, resourceVersion: "1", ...metadata },
  ...rest,
});

const REVISION = live("CompositionRevision", "c-2", {
  spec: { compositeTypeRef: { apiVersion: "example.org/v1", kind: "XThing" } },
});

const xrd = (more: JsonObject = {}): LiveObject => {
  const schema = { openAPIV3Schema: { type: "object" } };
  const versions = [{ name: "v1", served: true, referenceable: true, schema }];
  const spec = { group: "example.org", names: { kind: "XThing", plural: "xthings" }, versions, ...more };
  return live("CompositeResourceDefinition", "xthings.example.org", { spec });
};

const xr = (name: string, spec: JsonObject = {}, metadata: JsonObject = {}): LiveObject => ({
  ...live("XThing", name, { spec: { compositionRef: { name: "c" }, ...spec } }, metadata),
  apiVersion: "example.org/v1",
});

function followers(definition: LiveObject, xrs: readonly LiveObject[] | undefined): unknown {
  const lists: Record<string, readonly LiveObject[] | undefined> = {
    CompositeResourceDefinition: [],
    XThing: xrs,
    [definition.kind]: [definition],
  };
  const peek = ({ kind }: { kind: string }) => lists[kind] && { list: () => lists[kind] };
  const found = followersOf({ informers: { peek } } as unknown as Parameters<typeof followersOf>[0], REVISION, "c");
  return typeof found === "string" ? found : found.xrs.map(({ metadata }) => metadata.name);
}

describe("a rollout concerns", () => {
  test("XRs that use its Composition and follow the newest revision", () => {
    expect(followers(xrd(), [xr("a"), xr("b", { compositionUpdatePolicy: "Automatic" })])).toEqual(["a", "b"]);
  });

  test.each<[string, LiveObject]>([
    ["paused", xr("x", {}, { annotations: { "crossplane.io/paused": "true" } })],
    ["deleted", xr("x", {}, { deletionTimestamp: "2026-01-01T00:00:00Z" })],
    ["of another Composition", xr("x", { compositionRef: { name: "other" } })],
    ["of no Composition yet", xr("x", { compositionRef: {} })],
    ["pinned", xr("x", { compositionUpdatePolicy: "Manual" })],
    ["selecting by labels", xr("x", { compositionRevisionSelector: { matchLabels: { channel: "beta" } } })],
  ])("no %s XR", (_, one) => {
    expect(followers(xrd(), [xr("a"), one])).toEqual(["a"]);
  });

  test("all XRs if the definition enforces its Composition, and none if it enforces another", () => {
    const xrs = [xr("a", { compositionRef: { name: "other" } }), xr("b")];
    expect(followers(xrd({ enforcedCompositionRef: { name: "c" } }), xrs)).toEqual(["a", "b"]);
    expect(followers(xrd({ enforcedCompositionRef: { name: "other" } }), xrs)).toEqual([]);
  });

  test("no XR that the definition pins by default", () => {
    expect(followers(xrd({ defaultCompositionUpdatePolicy: "Manual" }), [xr("a")])).toEqual([]);
  });

  test.each(["InfrastructureDefinition", "ApplicationDefinition"])("the instances of an %s", (kind) => {
    const names = { kind: "XThing", plural: "xthings" };
    const spec = { crdSpecTemplate: { group: "example.org", version: "v1", names } };
    const definition = { ...live(kind, "xthings.example.org", { spec }), apiVersion: FORM_API_VERSION };
    expect(followers(definition, [xr("a")])).toEqual(["a"]);
  });
});

test("without a definition of the kind there is none, and unlisted XRs are unknown", () => {
  expect(followers(live("Other", "o", {}), [xr("a")])).toBe("none");
  expect(followers(xrd(), undefined)).toBe("unknown");
});
