import type { JsonObject, JsonValue } from "@xfn/json";
import { describe, expect, test } from "vitest";
import {
  base,
  existing,
  failure,
  from,
  patched,
  render,
  spec,
  template,
  thrown,
  to,
  xr,
} from "../../testing/templates.ts";
import type { Combine, Patch, ResourceTemplate } from "../api/template.ts";

describe("FromCompositeFieldPath", () => {
  test("copies a field, by default to the same path", () => {
    expect(spec(patched([from("spec.size")]))["size"]).toBe("large");
    expect(spec(patched([from("spec.tags", "spec.copied.deep[1].here")]))["copied"]).toEqual({
      deep: [null, { here: { env: "prod" } }],
    });
  });

  test("an optional patch without its field does nothing; a required one fails its resource", () => {
    expect(patched([from("spec.missing", "spec.x")])).toEqual(patched([]));
    const error = failure({
      resources: [template([from("spec.size"), from("spec.missing", "x", { policy: { fromFieldPath: "Required" } })])],
    });
    expect(error?.code).toBe("PatchFailed");
    expect(error?.source).toBe("spec.resources[0].patches[1]");
    expect(error?.message).toContain("spec.missing: no such field");
  });

  test("null at the end of the path is a value; a path through null or a text is an error even for an optional patch", () => {
    expect(spec(patched([from("spec.nothing", "spec.region")]))["region"]).toBeNull();
    expect(failure({ resources: [template([from("spec.nothing.deep", "spec.x")])] })?.code).toBe("PatchFailed");
    expect(failure({ resources: [template([from("spec.size.deep", "spec.x")])] })?.code).toBe("PatchFailed");
  });

  test("transforms run in order, and an error names its transform", () => {
    const fmt = { type: "string", string: { type: "Format", fmt: "%s!" } } as const;
    const map = { type: "map", map: { large: "db.large" } } as const;
    expect(spec(patched([from("spec.size", "spec.class", { transforms: [map, fmt] })]))["class"]).toBe("db.large!");
    const error = failure({ resources: [template([from("spec.size", "spec.class", { transforms: [fmt, map] })])] });
    expect(error?.code).toBe("PatchFailed");
    expect(error?.message).toContain("transforms[1]");
    // The key comes from the spec of the XR.
    expect(error?.message).toContain(
      '"large!" (FromCompositeFieldPath spec.size): transforms[1] (map): the map has no such key; it has "large"',
    );
  });

  test("an invalid path fails when the patch runs", () => {
    expect(failure({ resources: [template([from("spec..x", "spec.x")])] })?.code).toBe("PatchFailed");
    expect(failure({ resources: [template([from("spec.size", "spec..x")])] })?.code).toBe("PatchFailed");
    expect(failure({ resources: [template([from("spec.missing", "spec..x")])] })).toBeUndefined();
  });

  test("fails without fromFieldPath, and is ignored with a missing or unknown type", () => {
    expect(failure({ resources: [template([{ type: "FromCompositeFieldPath", toFieldPath: "spec.x" }])] })?.code).toBe(
      "InvalidPatch",
    );
    const unknown = { type: "FromMoon", fromFieldPath: "spec.size", toFieldPath: "spec.x" } as unknown as Patch;
    expect(patched([unknown, { fromFieldPath: "spec.size", toFieldPath: "spec.x" }])).toEqual(patched([]));
  });

  test("copies values: later patches into them change neither the composite nor another resource", () => {
    const resources = ["a", "b"].map((name) => ({
      name,
      base,
      patches: [from("spec.tags", "spec.tags"), from("metadata.name", "spec.tags.owner")],
    }));
    const rendered = render({ resources });
    expect(rendered.composite["spec"]).toEqual(xr["spec"]);
    expect(rendered.resources.map(({ resource }) => spec(resource as JsonObject)["tags"])).toEqual([
      { env: "prod", owner: "db-x7k2p" },
      { env: "prod", owner: "db-x7k2p" },
    ]);
  });

  test("integers beyond 2^53 stay exact", () => {
    const big = { ...xr, spec: { big: 9_007_199_254_740_993n } };
    expect(spec(patched([from("spec.big", "spec.big")], { composite: big }))["big"]).toBe(9_007_199_254_740_993n);
  });

  test("a patch that leaves the resource without a kind fails it", () => {
    expect(failure({ resources: [template([from("spec.count", "kind")])] })?.code).toBe("PatchFailed");
    expect(patched([from("spec.size", "kind")])["kind"]).toBe("large");
  });
});

describe("wildcards", () => {
  test("in toFieldPath match every item with the field", () => {
    expect(spec(patched([from("spec.size", "spec.subnets[*].name")]))["subnets"]).toEqual([
      { name: "large" },
      { name: "large" },
    ]);
    expect(spec(patched([from("spec.size", "spec.tags[*]")]))["tags"]).toEqual({ env: "large", keep: "large" });
  });

  test("without a match fail even an optional patch", () => {
    expect(failure({ resources: [template([from("spec.size", "spec.subnets[*].fresh")])] })?.code).toBe("PatchFailed");
    expect(failure({ resources: [template([from("spec.missing", "spec.subnets[*].fresh")])] })).toBeUndefined();
  });

  test("in fromFieldPath and in a combine are fields of that name", () => {
    expect(failure({ resources: [template([from("spec.cidrs[*]", "spec.x")])] })?.code).toBe("PatchFailed");
    const variables = [{ fromFieldPath: "spec.size" }];
    const combine: Combine = { strategy: "string", variables, string: { fmt: "%s" } };
    const patch: Patch = { type: "CombineFromComposite", combine, toFieldPath: "spec.tags[*]" };
    expect(spec(patched([patch]))["tags"]).toMatchObject({ "*": "large", env: "dev" });
  });
});

describe("ToCompositeFieldPath", () => {
  const observed = new Map([["db", existing]]);

  test("copies from the existing object, before the template's own patches", () => {
    const rendered = render(
      { resources: [template([from("status.arn", "spec.arn"), to("status.arn", "status.arn")])] },
      { observed },
    );
    expect(rendered.composite["status"]).toEqual({ known: "before", list: ["a", "b"], arn: "arn:9" });
    expect(spec(rendered.resources[0]?.resource as JsonObject)["arn"]).toBe("arn:9");
  });

  test("does nothing until the object exists", () => {
    const rendered = render({
      resources: [template([to("status.arn", "status.arn", { policy: { fromFieldPath: "Required" } })])],
    });
    expect(rendered.composite).toEqual(xr);
    expect(rendered.desiredComposite).toBeUndefined();
  });

  test("is visible to later templates, not to earlier ones", () => {
    const reader = (name: string): ResourceTemplate => ({ name, base, patches: [from("status.arn", "spec.arn")] });
    const rendered = render(
      { resources: [reader("first"), template([to("status.arn", "status.arn")]), reader("last")] },
      { observed },
    );
    expect(rendered.resources.map(({ resource }) => spec(resource as JsonObject)["arn"])).toEqual([
      undefined,
      undefined,
      "arn:9",
    ]);
  });

  test("fails the whole render, because half of a composite must not be desired", () => {
    const required = to("status.nope", "status.x", { policy: { fromFieldPath: "Required" } });
    const error = thrown(() =>
      render(
        { resources: [template([]), template([required], { name: "b" })] },
        { observed: new Map([["b", existing]]) },
      ),
    );
    expect(error.code).toBe("PatchFailed");
    expect(error.source).toBe("spec.resources[1].patches[0]");
  });

  test("desiredComposite has only the fields that were set, and whole lists", () => {
    const rendered = render(
      {
        resources: [
          template([
            to("status.port", "status.database.port"),
            to("status.arn", "status.list[1]"),
            to("metadata.labels", "metadata.annotations"),
          ]),
        ],
      },
      { observed },
    );
    expect(rendered.desiredComposite).toEqual({
      apiVersion: "example.org/v1",
      kind: "XDatabase",
      metadata: { annotations: { extra: "yes" } },
      status: { database: { port: 5432 }, list: ["a", "arn:9"] },
    });
  });

  test("desiredComposite has a patch's part of a merged map, and the last of several writes", () => {
    const tags = { ...existing, tags: { env: "new", more: "1" } };
    const merge = (mergeOptions: object): Patch => to("tags", "spec.tags", { policy: { mergeOptions } });
    const desired = (...patches: Patch[]): JsonValue | undefined =>
      render({ resources: [template(patches)] }, { observed: new Map([["db", tags]]) }).desiredComposite?.["spec"];
    expect(desired(merge({}))).toEqual({ tags: { env: "new", more: "1" } });
    expect(desired(merge({ keepMapValues: true }))).toEqual({ tags: { more: "1" } });
    expect(desired(to("status.arn", "spec.size"), to("status.port", "spec.size"))).toEqual({ size: 5432 });
    expect(desired(to("status.arn", "spec.new.a"), to("status", "spec.new"))).toEqual({ new: existing["status"] });
  });
});
