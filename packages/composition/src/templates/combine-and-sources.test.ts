import type { JsonObject } from "@xfn/json";
import { describe, expect, test } from "vitest";
import { base, existing, failure, from, patched, render, spec, template, thrown, to } from "../../testing/templates.ts";
import type { Combine, Patch } from "../api/template.ts";

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

  test("that is missing is not an error, even for required patches", () => {
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
