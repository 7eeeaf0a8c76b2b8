import type { JsonObject, JsonValue, KubernetesObject } from "@xfn/functionio";
import { describe, expect, test } from "vitest";
import type { Combine, Patch, ResourceTemplate } from "../api/template.ts";
import type { TemplatesSpec } from "./compile-spec.ts";
import { compileTemplates } from "./compile-templates.ts";
import type { RenderedTemplates, TemplatesInput, TemplateWrite } from "./rendering.ts";
import { TemplateError } from "./template-error.ts";

const xr: KubernetesObject = {
  apiVersion: "example.org/v1",
  kind: "XDatabase",
  metadata: {
    name: "db-x7k2p",
    uid: "uid-xr",
    labels: {
      "crossplane.io/composite": "db-x7k2p",
      "crossplane.io/claim-name": "db",
      "crossplane.io/claim-namespace": "team-a",
    },
  },
  spec: { size: "large", count: 3, tags: { env: "prod" }, nothing: null, cidrs: ["10.0.0.0/8"] },
  status: { known: "before", list: ["a", "b"] },
};
const base: JsonObject = {
  apiVersion: "db.example.org/v1",
  kind: "Database",
  spec: { region: "eu-1", tags: { env: "dev", keep: "me" }, subnets: [{ name: "s0" }, { name: "s1" }] },
};
const existing: KubernetesObject = {
  apiVersion: "db.example.org/v1",
  kind: "Database",
  metadata: { name: "db-9", namespace: "ns", labels: { extra: "yes" } },
  spec: { region: "eu-1", late: "initialised" },
  status: { arn: "arn:9", port: 5432 },
};

function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const inner of Object.values(value)) freeze(inner);
    Object.freeze(value);
  }
  return value;
}

/** Renders with frozen input, so that a write to it throws. */
function render(spec: TemplatesSpec, input: Partial<TemplatesInput> = {}): RenderedTemplates {
  const { composite = xr, observed = new Map<string, KubernetesObject>(), ...rest } = input;
  for (const object of observed.values()) freeze(object);
  return compileTemplates(freeze(spec)).render({ composite: freeze(composite), observed, ...freeze(rest) });
}

function template(patches: Patch[], more: Partial<ResourceTemplate> = {}): ResourceTemplate {
  return { name: "db", base, patches, ...more };
}

/** The resource that the patches make of the base. */
function patched(patches: Patch[], input: Partial<TemplatesInput> = {}): JsonObject {
  const { resource, error } = render({ resources: [template(patches)] }, input).resources[0] ?? {};
  if (error !== undefined) throw error;
  return resource as JsonObject;
}

function failure(spec: TemplatesSpec, input: Partial<TemplatesInput> = {}): TemplateError | undefined {
  return render(spec, input).resources[0]?.error;
}

function thrown(run: () => unknown): TemplateError {
  try {
    run();
  } catch (error) {
    if (error instanceof TemplateError) return error;
    throw error;
  }
  throw new Error("expected a TemplateError");
}

const spec = (resource: JsonObject): JsonObject => resource["spec"] as JsonObject;
const from = (fromFieldPath: string, toFieldPath?: string, more: Partial<Patch> = {}): Patch => ({
  type: "FromCompositeFieldPath",
  fromFieldPath,
  ...(toFieldPath !== undefined && { toFieldPath }),
  ...more,
});
const to = (fromFieldPath: string, toFieldPath: string, more: Partial<Patch> = {}): Patch => ({
  ...from(fromFieldPath, toFieldPath, more),
  type: "ToCompositeFieldPath",
});

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

  test("a name that is no string fails the template, so that no object of another name is created", () => {
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
    ["metadata that is no object", { kind: "K", metadata: "x" }, "InvalidBase"],
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
    // Kubernetes ignores labels that are not all strings.
    const odd = { ...xr, metadata: { name: "x", labels: { "crossplane.io/composite": "x", n: 1 } } } as JsonObject;
    expect(failure({ resources: [template([])] }, { composite: odd })?.code).toBe("NoCompositeLabel");
  });
});

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
    expect(error?.message).not.toContain("large!");
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

describe("combine", () => {
  const combine = (...paths: string[]): Combine => ({
    strategy: "string",
    variables: paths.map((fromFieldPath) => ({ fromFieldPath })),
    string: { fmt: "%v-%v" },
  });

  test("makes one text of several fields, which transforms continue with", () => {
    const transforms = [{ type: "string", string: { type: "Convert", convert: "ToUpper" } }] as const;
    const patch: Patch = {
      type: "CombineFromComposite",
      combine: combine("spec.size", "spec.count"),
      toFieldPath: "spec.id",
      transforms: [...transforms],
    };
    expect(spec(patched([patch]))["id"]).toBe("LARGE-3");
  });

  test("without a field does nothing, or fails if it is required", () => {
    const patch: Patch = {
      type: "CombineFromComposite",
      combine: combine("spec.size", "spec.nope"),
      toFieldPath: "spec.id",
    };
    expect(patched([patch])).toEqual(patched([]));
    expect(failure({ resources: [template([{ ...patch, policy: { fromFieldPath: "Required" } }])] })?.code).toBe(
      "PatchFailed",
    );
  });

  test("to the composite reads the existing object", () => {
    const patch: Patch = {
      type: "CombineToComposite",
      combine: combine("status.arn", "status.port"),
      toFieldPath: "status.id",
    };
    const { composite } = render({ resources: [template([patch])] }, { observed: new Map([["db", existing]]) });
    expect(composite["status"]).toMatchObject({ id: "arn:9-5432" });
  });

  test.each([
    ["combine", { toFieldPath: "spec.x" }],
    ["toFieldPath", { combine: combine("spec.size", "spec.count") }],
    ["variables", { combine: combine(), toFieldPath: "spec.x" }],
  ])("without %s it fails", (field, patch) => {
    const error = failure({ resources: [template([{ type: "CombineFromComposite", ...patch } as Patch])] });
    expect(error?.code).toBe("InvalidPatch");
    expect(error?.message).toContain(field);
  });
});

describe("environment", () => {
  const environment = { region: "ap-9", net: { vpc: "vpc-1" } };
  const required = { fromFieldPath: "Required" } as const;

  test("is patched before the templates, which read the result", () => {
    const rendered = render(
      {
        environment: {
          patches: [from("spec.size", "size"), to("region", "status.region")],
        },
        resources: [
          template([
            { type: "FromEnvironmentFieldPath", fromFieldPath: "size", toFieldPath: "spec.size" },
            from("status.region", "spec.region"),
          ]),
        ],
      },
      { environment },
    );
    expect(rendered.environment).toEqual({ ...environment, size: "large" });
    expect(rendered.desiredComposite?.["status"]).toEqual({ region: "ap-9" });
    expect(spec(rendered.resources[0]?.resource as JsonObject)).toMatchObject({ size: "large", region: "ap-9" });
  });

  test("takes values from the rendered resource, for later templates", () => {
    const rendered = render(
      {
        resources: [
          template([{ type: "ToEnvironmentFieldPath", fromFieldPath: "spec.region", toFieldPath: "learned" }]),
          {
            name: "b",
            base,
            patches: [{ type: "FromEnvironmentFieldPath", fromFieldPath: "learned", toFieldPath: "spec.x" }],
          },
        ],
      },
      { environment },
    );
    expect(rendered.environment?.["learned"]).toBe("eu-1");
    expect(spec(rendered.resources[1]?.resource as JsonObject)["x"]).toBe("eu-1");
  });

  test("that is missing is no error, even for required patches", () => {
    const patch: Patch = {
      type: "FromEnvironmentFieldPath",
      fromFieldPath: "nope",
      toFieldPath: "spec.x",
      policy: required,
    };
    const rendered = render({
      environment: { patches: [from("spec.nope", "x", { policy: required })] },
      resources: [template([patch])],
    });
    expect(rendered.environment).toBeUndefined();
    expect(rendered.resources[0]?.error).toBeUndefined();
    expect(failure({ resources: [template([patch])] }, { environment })?.code).toBe("PatchFailed");
  });

  test("fails the whole render if a patch fails", () => {
    const patches = [from("spec.nope", "x", { policy: required })];
    const error = thrown(() => render({ environment: { patches }, resources: [template([])] }, { environment }));
    expect(error.source).toBe("spec.environment.patches[0]");
  });
});

describe("patch sets", () => {
  const patchSet = (name: string): Patch => ({ type: "PatchSet", patchSetName: name });

  test("are replaced by their patches", () => {
    const patchSets = [
      { name: "common", patches: [from("spec.size", "spec.region"), from("spec.count", "spec.count")] },
    ];
    const resources = [template([from("metadata.name", "spec.region"), patchSet("common")])];
    expect(spec(render({ patchSets, resources }).resources[0]?.resource as JsonObject)).toMatchObject({
      region: "large",
      count: 3,
    });
  });

  test("with one name: the last wins", () => {
    const patchSets = ["one", "two"].map((field) => ({ name: "same", patches: [from("spec.size", `spec.${field}`)] }));
    const { resource } = render({ patchSets, resources: [template([patchSet("same")])] }).resources[0] ?? {};
    expect(spec(resource as JsonObject)).toHaveProperty("two");
    expect(spec(resource as JsonObject)).not.toHaveProperty("one");
  });

  test.each([
    ["a patch set that does not exist", [], [patchSet("nope")]],
    ["a patch set without a name", [], [{ type: "PatchSet" } as Patch]],
    ["a patch set within a patch set, even unused", [{ name: "a", patches: [patchSet("a")] }], []],
  ])("%s fails the whole render", (_, patchSets, patches) => {
    expect(thrown(() => render({ patchSets, resources: [template(patches)] })).code).toBe("InvalidPatch");
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
