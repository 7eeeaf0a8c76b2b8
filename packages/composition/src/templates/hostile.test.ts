import type { JsonObject, JsonValue, KubernetesObject } from "@xfn/json";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Patch, ResourceTemplate } from "../api/template.ts";
import type { TemplatesSpec } from "./compile-spec.ts";
import { compileTemplates } from "./compile-templates.ts";
import type { RenderedTemplates } from "./rendering.ts";
import { TemplateError } from "./template-error.ts";

const composite: KubernetesObject = {
  apiVersion: "v1",
  kind: "X",
  metadata: { name: "x", labels: { "crossplane.io/composite": "x" } },
  spec: { a: "text", list: [1, 2] },
};
const base = { apiVersion: "v1", kind: "K", spec: {} };

function render(spec: TemplatesSpec, xr: JsonObject = composite, environment: JsonObject = {}): RenderedTemplates {
  const observed = new Map<string, KubernetesObject>([["a", { kind: "K", metadata: { name: "a" }, spec: { s: "v" } }]]);
  return compileTemplates(spec).render({ composite: xr, observed, environment });
}

function outcome(run: () => RenderedTemplates): string {
  try {
    return run().resources[0]?.error?.code ?? "rendered";
  } catch (error) {
    if (error instanceof TemplateError) return error.code;
    throw error;
  }
}

const template = (patches: Patch[], more: Partial<ResourceTemplate> = {}): TemplatesSpec => ({
  resources: [{ name: "a", base, patches, ...more }],
});
const copy = (fromFieldPath: string, toFieldPath: string): Patch => ({
  type: "FromCompositeFieldPath",
  fromFieldPath,
  toFieldPath,
});

describe("prototype", () => {
  test("__proto__ and constructor are ordinary fields in paths, bases and names of templates", () => {
    const text = '{"apiVersion":"v1","kind":"K","metadata":{"labels":{"__proto__":"l"}},"__proto__":{"x":1},"spec":{}}';
    const hostile = JSON.parse(text) as JsonObject;
    const patches = [copy("spec.a", "__proto__.polluted"), copy("spec.a", "constructor.prototype.polluted")];
    const spec = { resources: [{ name: "__proto__", base: hostile, patches }] };
    const { resource } = compileTemplates(spec).render({ composite, observed: new Map() }).resources[0] ?? {};
    expect(JSON.stringify(resource)).toContain('"__proto__":{"x":1,"polluted":"text"}');
    expect(JSON.stringify(resource)).toContain('"constructor":{"prototype":{"polluted":"text"}}');
    expect(({} as JsonObject)["polluted"]).toBeUndefined();
    expect(resource?.metadata?.annotations).toEqual({ "crossplane.io/composition-resource-name": "__proto__" });
  });

  test("a field of the prototype does not exist", () => {
    const patch: Patch = { ...copy("metadata.toString", "spec.x"), policy: { fromFieldPath: "Required" } };
    expect(outcome(() => render(template([patch])))).toBe("PatchFailed");
    expect(outcome(() => render(template([{ ...copy("spec.a", "x"), type: "toString" as "PatchSet" }])))).toBe(
      "rendered",
    );
  });

  test("a patch to __proto__ of the composite is a field of desiredComposite", () => {
    const patch: Patch = { type: "ToCompositeFieldPath", fromFieldPath: "spec.s", toFieldPath: "__proto__.polluted" };
    expect(JSON.stringify(render(template([patch])).desiredComposite)).toContain('"__proto__":{"polluted":"v"}');
    expect(({} as JsonObject)["polluted"]).toBeUndefined();
  });
});

describe("depth and size", () => {
  const nested = (depth: number): JsonObject => {
    let value: JsonValue = {};
    for (let level = 0; level < depth; level++) value = { a: value };
    return value as JsonObject;
  };

  test("a base nested too deep is an error", () => {
    expect(outcome(() => render(template([], { base: { ...base, spec: nested(100_000) } })))).toBe("TooLarge");
  });

  test("a composite nested too deep fails when it is copied", () => {
    const deep = { ...composite, spec: nested(100_000) };
    const patch: Patch = { type: "ToCompositeFieldPath", fromFieldPath: "spec.s", toFieldPath: "status.s" };
    expect(outcome(() => render(template([patch]), deep))).toBe("PatchFailed");
    expect(outcome(() => render(template([copy("spec", "spec.x")]), deep))).toBe("PatchFailed");
  });

  test("patches that repeatedly copy an object into itself fail before they exhaust the memory", () => {
    const patches = Array.from({ length: 64 }, (_, index): Patch[] => [
      { type: "FromCompositeFieldPath", fromFieldPath: "spec", toFieldPath: "copy" },
      { type: "ToCompositeFieldPath", fromFieldPath: "copy", toFieldPath: `spec.copy${index}` },
    ]).flat();
    expect(outcome(() => render({ environment: { patches } }))).toMatch(/TooLarge|PatchFailed/);
  });

  test("many patches that each copy much fail", () => {
    const list = Array.from({ length: 100_000 }, () => 1);
    const patches = Array.from({ length: 200 }, (_, index) => copy("spec.list", `spec.f${index}`));
    expect(outcome(() => render(template(patches), { ...composite, spec: { list } }))).toBe("TooLarge");
  });

  test("texts that double with each patch fail", () => {
    const patches = Array.from({ length: 64 }, (): Patch[] => [
      {
        type: "CombineFromComposite",
        combine: {
          strategy: "string",
          variables: [{ fromFieldPath: "spec.a" }, { fromFieldPath: "spec.a" }],
          string: { fmt: "%s%s" },
        },
        toFieldPath: "twice",
      },
      { type: "ToCompositeFieldPath", fromFieldPath: "twice", toFieldPath: "spec.a" },
    ]).flat();
    expect(outcome(() => render({ environment: { patches } }))).toMatch(/TooLarge|PatchFailed/);
  });

  test("an index of a huge list is an error", () => {
    expect(outcome(() => render(template([copy("spec.a", "spec.list[4000000000].x")])))).toBe("PatchFailed");
  });
});

test("many references to a large patch set fail before they exhaust the memory", () => {
  const patches = Array.from({ length: 10_000 }, () => copy("spec.a", "spec.b"));
  const uses = Array.from({ length: 10_000 }, (): Patch => ({ type: "PatchSet", patchSetName: "p" }));
  expect(outcome(() => render({ ...template(uses), patchSets: [{ name: "p", patches }] }))).toBe("TooLarge");
});

describe("any JSON for a spec", () => {
  test("compiles, and renders or fails with a TemplateError", () => {
    const field =
      "resources patchSets environment patches name base kind type fromFieldPath toFieldPath combine variables";
    const key = fc.constantFrom(
      ...`${field} transforms policy mergeOptions patchSetName string map metadata`.split(" "),
    );
    const value = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: "medium" },
        fc.constantFrom(null, "", "a", "K", "PatchSet", "FromCompositeFieldPath", "CombineFromComposite", 1, true),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(key, tie("value"), { maxKeys: 6, noNullPrototype: false }),
      ),
    })).value;
    fc.assert(
      fc.property(value, fc.array(value, { maxLength: 3 }), value, (resources, patches, environment) => {
        const spec = { resources, patchSets: patches, environment } as unknown as TemplatesSpec;
        outcome(() => render(spec));
        outcome(() => render({ ...template(patches as Patch[]), patchSets: resources } as unknown as TemplatesSpec));
      }),
      { numRuns: 1000 },
    );
  });
});

describe("any patch", () => {
  test("yields a resource or a TemplateError, and does not change its input", () => {
    const path = fc.constantFrom(
      "spec",
      "spec.a",
      "spec.list[*]",
      "spec.list[0].x",
      "metadata",
      "kind",
      "",
      "[",
      "a[-1]",
      "status.x",
    );
    const types = "FromCompositeFieldPath ToCompositeFieldPath CombineFromComposite CombineToComposite";
    const type = fc.constantFrom(
      ...`${types} FromEnvironmentFieldPath ToEnvironmentFieldPath PatchSet Nope`.split(" "),
    );
    const patch = fc.record(
      {
        type,
        fromFieldPath: path,
        toFieldPath: path,
        patchSetName: fc.constantFrom("p", "q"),
        policy: fc.record(
          {
            fromFieldPath: fc.constantFrom("Required", "Optional"),
            mergeOptions: fc.constantFrom({}, { appendSlice: true }, null),
          },
          { requiredKeys: [] },
        ),
        combine: fc.record(
          {
            strategy: fc.constantFrom("string", "sum"),
            variables: fc.array(fc.record({ fromFieldPath: path }), { maxLength: 2 }),
            string: fc.constantFrom({ fmt: "%d%s" }, null),
          },
          { requiredKeys: ["variables"] },
        ),
      },
      { requiredKeys: [] },
    ) as unknown as fc.Arbitrary<Patch>;
    fc.assert(
      fc.property(fc.array(patch, { maxLength: 4 }), fc.array(patch, { maxLength: 2 }), (patches, set) => {
        const before = JSON.stringify(composite);
        outcome(() =>
          render({ ...template(patches), patchSets: [{ name: "p", patches: set }], environment: { patches: set } }),
        );
        expect(JSON.stringify(composite)).toBe(before);
      }),
      { numRuns: 500 },
    );
  });
});
