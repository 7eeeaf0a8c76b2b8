import { isObject, type JsonObject, type JsonValue, type KubernetesObject } from "@xfn/json";
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
import type { ResourceTemplate } from "../api/template.ts";
import { compileTemplates } from "./compile-templates.ts";
import type { TemplateWrite } from "./rendering.ts";
import { TemplateError } from "./template-error.ts";

describe("a base", () => {
  test("becomes a resource with the composite's labels, annotation and owner", () => {
    expect(patched([])).toEqual({
      ...base,
      metadata: {
        generateName: "db-x7k2p-",
        labels: xr.metadata?.labels,
        annotations: { "crossplane.io/composition-resource-name": "db" },
        ownerReferences: [
          {
            apiVersion: "example.org/v1",
            kind: "XDatabase",
            name: "db-x7k2p",
            uid: "uid-xr",
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
    });
  });

  test("does not set its name: the existing object does", () => {
    const named = { ...base, metadata: { name: "fixed", namespace: "mine", generateName: "gen-", labels: { a: "1" } } };
    const resources = [{ name: "db", base: named }];
    const created = render({ resources }).resources[0]?.resource?.metadata;
    expect(created?.name).toBeUndefined();
    expect(created?.namespace).toBeUndefined();
    expect(created?.generateName).toBe("db-x7k2p-");
    expect(created?.labels).toMatchObject({ a: "1" });
    const kept = render({ resources }, { observed: new Map([["db", existing]]) }).resources[0]?.resource;
    expect(kept?.metadata).toMatchObject({ name: "db-9", namespace: "ns", generateName: "db-x7k2p-" });
    expect(kept?.["status"]).toBeUndefined();
    expect(kept?.["spec"]).toEqual(base["spec"]);
  });

  test("patches can set its name, but not its labels, annotation and owner", () => {
    const { metadata } = patched([
      from("spec.size", "metadata.name"),
      from("spec.size", "metadata.labels[crossplane.io/composite]"),
      from("spec.size", "metadata.annotations[crossplane.io/composition-resource-name]"),
      from("spec.size", "metadata.annotations.mine"),
    ]) as KubernetesObject;
    expect(metadata?.name).toBe("large");
    expect(metadata?.labels).toEqual(xr.metadata?.labels);
    expect(metadata?.annotations).toEqual({ "crossplane.io/composition-resource-name": "db", mine: "large" });
  });

  test.each<[JsonObject, string[]]>([
    [{ labels: { team: "shop", a: true } }, ["metadata.labels.a: expected a string, found a boolean"]],
    [{ labels: { team: "shop", a: null } }, ["metadata.labels.a: expected a string, found null"]],
    [
      { labels: { team: "shop", "x/port": 8080, list: [] } },
      [
        "metadata.labels[x/port]: expected a string, found a number",
        "metadata.labels.list: expected a string, found a list",
      ],
    ],
    [
      { labels: { team: "shop" }, annotations: { n: 5, mine: "m" } },
      ["metadata.annotations.n: expected a string, found a number"],
    ],
    [{ labels: { team: "shop" }, annotations: [1] }, ["metadata.annotations: expected an object, found a list"]],
  ])("keeps the other labels and annotations, and reports values that are not strings: %j", (metadata, dropped) => {
    const [rendered] = render({ resources: [{ name: "db", base: { ...base, metadata } }] }).resources;
    expect(rendered?.dropped?.map(({ path, problem }) => `${path}: ${problem}`)).toEqual(dropped);
    const { labels = {}, annotations = {} } = rendered?.resource?.metadata ?? {};
    expect(labels).toMatchObject({ team: "shop", "crossplane.io/composite": "db-x7k2p" });
    expect([...Object.values(labels), ...Object.values(annotations)].every((one) => typeof one === "string")).toBe(
      true,
    );
    if (isObject(metadata["annotations"])) expect(annotations).toMatchObject({ mine: "m" });
  });

  test("a patch can replace what a base has wrong, and is reported itself if it is wrong", () => {
    const labelled = (path: string): string[] | undefined =>
      render({
        resources: [
          {
            name: "db",
            base: { ...base, metadata: { labels: { n: 1, team: "shop" } } },
            patches: [from(path, "metadata.labels.n")],
          },
        ],
      }).resources[0]?.dropped?.map((one) => one.path);
    expect(labelled("spec.size")).toBeUndefined();
    expect(labelled("spec.count")).toEqual(["metadata.labels.n"]);
  });

  test("a name that is not a string fails the template, so that no object of another name is created", () => {
    for (const [path, kind] of [
      ["spec.count", "a number"],
      ["spec.tags", "an object"],
    ] as const) {
      const { resource, error } = render({ resources: [template([from(path, "metadata.name")])] }).resources[0] ?? {};
      expect(resource).toBeUndefined();
      expect(error).toMatchObject({ code: "InvalidName", message: expect.stringContaining(kind) as unknown });
    }
  });

  test("metadata that a patch made no object is left unchanged, so that applying the resource fails", () => {
    expect(patched([from("spec.size", "metadata")])).toEqual({ ...base, metadata: "large" });
  });

  test("keeps other owners, and rejects another controller", () => {
    const owners = (owner: JsonObject): ResourceTemplate => ({
      name: "db",
      base: {
        ...base,
        metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "n", uid: "u1", ...owner }] },
      },
    });
    const kept = render({ resources: [owners({})] }).resources[0]?.resource?.metadata?.["ownerReferences"];
    expect(kept).toHaveLength(2);
    expect(failure({ resources: [owners({ controller: true })] })?.code).toBe("OtherController");
    expect(failure({ resources: [owners({ controller: true, uid: "uid-xr" })] })).toBeUndefined();
  });

  test.each([
    ["no kind", { apiVersion: "v1" }, "InvalidBase"],
    ["an invalid apiVersion", { apiVersion: "a/b/c", kind: "K" }, "InvalidBase"],
    ["metadata that is not an object", { kind: "K", metadata: "x" }, "InvalidBase"],
  ])("with %s fails that resource only", (_, broken, code) => {
    const { resources } = render({ resources: [{ name: "a", base: broken }, template([])] });
    expect(resources[0]?.error?.code).toBe(code);
    expect(resources[0]?.error?.message).toContain("spec.resources[0].base");
    expect(resources[1]?.resource?.kind).toBe("Database");
  });

  test("cannot change its kind while the object exists; the apiVersion may change", () => {
    const observed = new Map([["db", existing]]);
    expect(failure({ resources: [template([], { base: { ...base, kind: "Cache" } })] }, { observed })?.code).toBe(
      "KindChanged",
    );
    const moved = template([], { base: { ...base, apiVersion: "db.example.org/v2" } });
    expect(failure({ resources: [moved] }, { observed })).toBeUndefined();
  });

  test("cannot be rendered for a composite without the composite label, which would leave it without a name", () => {
    const unlabelled = { ...xr, metadata: { name: "x" } };
    expect(failure({ resources: [template([])] }, { composite: unlabelled })?.code).toBe("NoCompositeLabel");
    const labelled = (composite: JsonValue): JsonObject => ({
      ...xr,
      metadata: { name: "x", labels: { "crossplane.io/composite": composite, n: 1 } },
    });
    expect(failure({ resources: [template([])] }, { composite: labelled(1) })?.code).toBe("NoCompositeLabel");
    // A label that is not a string does not hide the others.
    expect(failure({ resources: [template([])] }, { composite: labelled("x") })).toBeUndefined();
  });
});

describe("templates as a whole", () => {
  test("are rendered in order, under their names", () => {
    const { resources } = render({ resources: ["b", "a"].map((name) => ({ name, base })) });
    expect(resources.map(({ name, template: index }) => [name, index])).toEqual([
      ["b", 0],
      ["a", 1],
    ]);
  });

  test("a template without a name is rejected", () => {
    expect(thrown(() => render({ resources: [{ base }] })).code).toBe("Unnamed");
  });

  test("two templates with one name make one resource, the second's", () => {
    const second = template([], { base: { ...base, spec: { second: true } } });
    const { resources } = render({ resources: [template([]), second] });
    expect(resources).toHaveLength(1);
    expect(resources[0]?.resource?.["spec"]).toEqual({ second: true });
  });

  test("of two templates with one name, the second continues with the result of the first, and an error remains", () => {
    const failing = template([
      from("spec.size", "spec.region"),
      from("spec.missing", "spec.x", { policy: { fromFieldPath: "Required" } }),
    ]);
    const second = template([to("spec.region", "status.region")]);
    const { composite, resources } = render({ resources: [failing, second] });
    expect(composite["status"]).toMatchObject({ region: "large" });
    expect(resources).toEqual([{ name: "db", template: 1, error: expect.any(TemplateError) }]);
  });

  test("an empty spec renders nothing", () => {
    expect(render({})).toEqual({ composite: xr, resources: [] });
  });

  test("runs are independent", () => {
    const compiled = compileTemplates({ resources: [template([from("spec.size", "spec.tags.size")])] });
    const first = compiled.render({ composite: xr, observed: new Map() });
    spec(first.resources[0]?.resource as JsonObject)["tags"] = "changed by the caller";
    const second = compiled.render({ composite: xr, observed: new Map() });
    expect(spec(second.resources[0]?.resource as JsonObject)["tags"]).toMatchObject({ env: "dev", size: "large" });
  });
});

describe("onWrite", () => {
  test("reports each write with its path, patch and source", () => {
    const writes: TemplateWrite[] = [];
    render(
      {
        resourcesField: "to",
        patchSets: [{ name: "common", patches: [from("spec.count", "spec.count")] }],
        environment: { patches: [to("region", "status.region"), from("spec.size", "size")] },
        resources: [
          template([
            from("spec.size", "spec.subnets[*].name"),
            { type: "PatchSet", patchSetName: "common" },
            to("status.arn", "status.arn"),
          ]),
        ],
      },
      {
        observed: new Map([["db", existing]]),
        environment: { region: "ap-9" },
        onWrite: (write) => writes.push(write),
      },
    );
    expect(writes).toEqual([
      {
        resource: null,
        path: "status.region",
        source: "spec.environment.patches[0]",
        from: "ToCompositeFieldPath region",
      },
      {
        resource: null,
        path: "status.arn",
        template: "db",
        source: "spec.to[0].patches[2]",
        from: "ToCompositeFieldPath status.arn",
      },
      {
        resource: "db",
        path: "spec.subnets[0].name",
        template: "db",
        source: "spec.to[0].patches[0]",
        from: "FromCompositeFieldPath spec.size",
      },
      {
        resource: "db",
        path: "spec.subnets[1].name",
        template: "db",
        source: "spec.to[0].patches[0]",
        from: "FromCompositeFieldPath spec.size",
      },
      {
        resource: "db",
        path: "spec.count",
        template: "db",
        source: "spec.patchSets[0].patches[0]",
        from: "FromCompositeFieldPath spec.count",
      },
    ]);
  });
});
