import type { JsonObject, JsonValue } from "@xfn/json";
import { describe, expect, test } from "vitest";
import { base, existing, failure, from, patched, render, spec, template } from "../../testing/templates.ts";
import type { Combine, Patch } from "../api/template.ts";
import type { TemplatesInput } from "./rendering.ts";

describe("merge options", () => {
  test("without them a map is replaced, with them it is merged", () => {
    expect(spec(patched([from("spec.tags", "spec.tags")]))["tags"]).toEqual({ env: "prod" });
    const merged = (mergeOptions: object): unknown =>
      spec(patched([from("spec.tags", "spec.tags", { policy: { mergeOptions } })]))["tags"];
    expect(merged({})).toEqual({ env: "prod", keep: "me" });
    expect(merged({ keepMapValues: true })).toEqual({ env: "dev", keep: "me" });
  });

  test("appendSlice adds new items", () => {
    const patch = from("spec.cidrs", "spec.cidrs", { policy: { mergeOptions: { appendSlice: true } } });
    const resources = [template([patch, patch], { base: { ...base, spec: { cidrs: ["192.168.0.0/16"] } } })];
    expect(spec(render({ resources }).resources[0]?.resource as JsonObject)["cidrs"]).toEqual([
      "192.168.0.0/16",
      "10.0.0.0/8",
    ]);
  });
});

describe("merge options against the observed resource", () => {
  const observing = (spec: JsonObject): Partial<TemplatesInput> => ({
    observed: new Map([["db", { ...existing, spec }]]),
  });
  const policy = (mergeOptions: object): object => ({ policy: { mergeOptions } });

  test("appendSlice keeps items of other writers, in their order, and adds no item twice", () => {
    const patch = from("spec.cidrs", "spec.cidrs", policy({ appendSlice: true }));
    const cidrs = (there: JsonValue): unknown => spec(patched([patch], observing({ cidrs: there })))["cidrs"];
    expect(cidrs(["1.1.1.1/32"])).toEqual(["1.1.1.1/32", "10.0.0.0/8"]);
    expect(cidrs(["1.1.1.1/32", "10.0.0.0/8"])).toEqual(["1.1.1.1/32", "10.0.0.0/8"]);
    expect(cidrs([])).toEqual(["10.0.0.0/8"]);
  });

  test("appendSlice adds no item of a nested list twice, which would grow with each reconcile", () => {
    const patch = from("spec", "spec.copy", policy({ appendSlice: true }));
    const observed = observing({ copy: { cidrs: ["1.1.1.1/32", "10.0.0.0/8"] } });
    const copy = spec(patched([patch], observed))["copy"] as JsonObject;
    expect(copy["cidrs"]).toEqual(["1.1.1.1/32", "10.0.0.0/8"]);
  });

  test("maps keep keys of other writers; keepMapValues keeps their values too", () => {
    const tags = (options: object): unknown => {
      const patch = from("spec.tags", "spec.tags", policy(options));
      return spec(patched([patch], observing({ tags: { env: "live", provider: "x" } })))["tags"];
    };
    expect(tags({})).toEqual({ env: "prod", keep: "me", provider: "x" });
    expect(tags({ keepMapValues: true })).toEqual({ env: "live", keep: "me", provider: "x" });
  });

  test("a combine merges too", () => {
    const combine = {
      strategy: "string",
      variables: [{ fromFieldPath: "spec.size" }],
      string: { fmt: "%s" },
    } as Combine;
    const patch = {
      type: "CombineFromComposite",
      combine,
      toFieldPath: "spec.size",
      ...policy({ keepMapValues: true }),
    };
    expect(spec(patched([patch as Patch], observing({ size: "live" })))["size"]).toBe("live");
  });

  test("without toFieldPath, without options or without an observed value nothing is merged", () => {
    const { toFieldPath: _, ...short } = from("spec.cidrs", "spec.cidrs", policy({ appendSlice: true }));
    const there = observing({ cidrs: ["1.1.1.1/32"], tags: { provider: "x" } });
    expect(spec(patched([short], there))["cidrs"]).toEqual(["10.0.0.0/8"]);
    expect(spec(patched([from("spec.tags", "spec.tags")], there))["tags"]).toEqual({ env: "prod" });
    const patch = from("spec.cidrs", "spec.cidrs", policy({ appendSlice: true }));
    expect(spec(patched([patch], observing({})))["cidrs"]).toEqual(["10.0.0.0/8"]);
  });

  test("an optional patch without a source does not fail for what exists on its path", () => {
    const patch = from("spec.missing", "spec.other.deep", policy({ keepMapValues: true }));
    expect(spec(patched([patch], observing({ other: "eu-1" })))["other"]).toBeUndefined();
  });

  test("a combine to a wildcard, which it does not expand, merges nothing", () => {
    const patch = {
      type: "CombineFromComposite",
      combine: { strategy: "string", variables: [{ fromFieldPath: "spec.missing" }], string: { fmt: "%s" } },
      toFieldPath: "spec.cidrs[*]",
      ...policy({ appendSlice: true }),
    };
    const there = observing({ cidrs: ["1.1.1.1/32"] });
    expect(failure({ resources: [template([patch as Patch])] }, there)).toBeUndefined();
  });

  test("a list that cannot be appended to what exists fails the template", () => {
    const patch = from("spec.cidrs", "spec.nested", policy({ appendSlice: true }));
    const error = failure({ resources: [template([patch])] }, observing({ nested: "text" }));
    expect(error?.code).toBe("PatchFailed");
  });

  test("the result shares nothing with the observed resource, which other reconciles read", () => {
    const there = { tags: { provider: { a: 1 } } };
    const patch = from("spec.tags", "spec.tags", policy({}));
    const tags = spec(patched([patch], observing(there)))["tags"] as JsonObject;
    expect(tags["provider"]).toEqual({ a: 1 });
    expect(tags["provider"]).not.toBe(there.tags.provider);
  });
});
