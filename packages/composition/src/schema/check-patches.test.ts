import type { JsonObject } from "@xfn/json";
import { describe, expect, test } from "vitest";
import { documentOf, parseComposition } from "../api/parse-composition.ts";
import { checkPatches } from "./check-patches.ts";
import { compileSchema, type Schema } from "./compile.ts";

const objectOf = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: "object",
  properties,
  ...more,
});
const TEXT: JsonObject = { type: "string" };

const SCHEMAS: Readonly<Record<string, Schema>> = {
  XThing: compileSchema(
    objectOf({
      spec: objectOf({
        size: { type: "integer" },
        region: TEXT,
        tags: { type: "array", items: objectOf({ key: TEXT }) },
      }),
      status: objectOf({}, { "x-kubernetes-preserve-unknown-fields": true }),
    }),
  ),
  Bucket: compileSchema(
    objectOf({
      spec: objectOf({
        id: TEXT,
        labels: { type: "object", additionalProperties: TEXT },
        template: {
          type: "object",
          "x-kubernetes-embedded-resource": true,
          properties: { spec: objectOf({ id: TEXT }) },
        },
      }),
    }),
  ),
};

function check(spec: JsonObject): string[] {
  const type = { compositeTypeRef: { apiVersion: "example.org/v1", kind: "XThing" } };
  const document = documentOf({
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: { name: "c" },
    spec: { ...type, ...spec },
  });
  const schemas = { of: (_: string, kind: string) => SCHEMAS[kind] };
  return checkPatches(parseComposition(document), document, schemas).map(({ path, message }) => `${path}: ${message}`);
}

const template = (patches: JsonObject[], spec: JsonObject = {}, kind = "Bucket"): JsonObject => ({
  name: "a",
  base: { apiVersion: "v1", kind, spec },
  patches,
});

const COMBINE = { strategy: "string", string: { fmt: "%s" } };

test("patches of existing fields are right, and so is what the schemas leave open", () => {
  const patches: JsonObject[] = [
    { fromFieldPath: "spec.region", toFieldPath: "spec.id" },
    { fromFieldPath: "metadata.labels[example.org/team]", toFieldPath: "metadata.annotations.team" },
    { fromFieldPath: "spec.tags[0].key", toFieldPath: "spec.labels[example.org/any]" },
    { fromFieldPath: "spec.tags[*].key", toFieldPath: "spec.labels[*]" },
    { fromFieldPath: "status.anything.else", toFieldPath: "spec.template.metadata.name" },
    { type: "ToCompositeFieldPath", fromFieldPath: "kind", toFieldPath: "status.kind" },
    {
      type: "CombineFromComposite",
      combine: { ...COMBINE, variables: [{ fromFieldPath: "spec.region" }] },
      toFieldPath: "spec.id",
    },
    { type: "FromEnvironmentFieldPath", fromFieldPath: "any.thing", toFieldPath: "spec.id" },
  ];
  expect(check({ resources: [template(patches)] })).toEqual([]);
});

test("kinds without a known schema are not checked", () => {
  const patches = [{ fromFieldPath: "spec.region", toFieldPath: "data.any" }];
  expect(check({ resources: [template(patches, { any: 1 }, "ConfigMap")] })).toEqual([]);
});

test.each<[JsonObject, string, string]>([
  [
    { fromFieldPath: "spec.regoin", toFieldPath: "spec.id" },
    "fromFieldPath",
    "spec of XThing .* regoin; did you mean region\\?",
  ],
  [{ fromFieldPath: "spec.size", toFieldPath: "spec.idd" }, "toFieldPath", "spec of Bucket .* idd; did you mean id\\?"],
  [{ fromFieldPath: "spec.size" }, "fromFieldPath", "spec of Bucket .* has no field size"],
  [
    { fromFieldPath: "spec.size.large", toFieldPath: "spec.id" },
    "fromFieldPath",
    "spec.size of XThing .* no field large",
  ],
  [{ fromFieldPath: "spec.region[0]", toFieldPath: "spec.id" }, "fromFieldPath", "spec.region of XThing .* no field 0"],
  [{ fromFieldPath: "spec.tags.key", toFieldPath: "spec.id" }, "fromFieldPath", "spec.tags of XThing .* no field key"],
  [
    { fromFieldPath: "sepc.size", toFieldPath: "spec.id" },
    "fromFieldPath",
    "XThing of .* no field sepc; did you mean spec\\?",
  ],
  [
    { type: "ToCompositeFieldPath", fromFieldPath: "spec.id", toFieldPath: "spec.sise" },
    "toFieldPath",
    "spec of XThing .* sise; did you mean size\\?",
  ],
  [
    { type: "ToEnvironmentFieldPath", fromFieldPath: "spec.ids", toFieldPath: "any" },
    "fromFieldPath",
    "spec of Bucket .*",
  ],
])("%j is an error", (patch, field, message) => {
  expect(check({ resources: [template([patch])] })).toEqual([
    expect.stringMatching(`^spec\\.resources\\[0\\]\\.patches\\[0\\]\\.${field}: .*: ${message}`),
  ]);
});

test("variables of a combine, patches of the environment and patch sets are checked, each problem once", () => {
  const shared = { type: "PatchSet", patchSetName: "shared" };
  const variables = [{ fromFieldPath: "spec.size" }, { fromFieldPath: "spec.sizes" }];
  const combine = { type: "CombineFromComposite", combine: { ...COMBINE, variables }, toFieldPath: "spec.id" };
  const found = check({
    patchSets: [{ name: "shared", patches: [{ fromFieldPath: "spec.sizes", toFieldPath: "spec.id" }] }],
    environment: { patches: [{ type: "FromCompositeFieldPath", fromFieldPath: "spec.sizes", toFieldPath: "a" }] },
    resources: [template([combine, shared]), { ...template([shared]), name: "b" }],
  });
  expect(found.map((text) => text.split(":")[0]).toSorted()).toEqual([
    "spec.environment.patches[0].fromFieldPath",
    "spec.patchSets[0].patches[0].fromFieldPath",
    "spec.resources[0].patches[0].combine.variables[1].fromFieldPath",
  ]);
});

test("the fields of a base are checked, and the templates in the input of function-patch-and-transform", () => {
  const resources = [
    template([{ fromFieldPath: "spec.regoin", toFieldPath: "spec.id" }], { ids: 1, labels: { a: "b" } }),
  ];
  const step = (apiVersion: string): JsonObject => ({
    step: apiVersion.slice(0, 2),
    functionRef: { name: "f" },
    input: { apiVersion, kind: "Resources", resources },
  });
  expect(check({ resources })).toHaveLength(2);
  expect(
    check({ mode: "Pipeline", pipeline: [step("pt.fn.crossplane.io/v1beta1"), step("x.example.org/v1")] }),
  ).toEqual([
    "spec.pipeline[0].input.resources[0].base.spec.ids: Bucket of v1 has no such field; did you mean id?",
    expect.stringContaining("spec.pipeline[0].input.resources[0].patches[0].fromFieldPath: spec.regoin: "),
  ]);
});

describe("types", () => {
  const message = (patch: JsonObject, base: JsonObject = {}): string[] =>
    check({ resources: [{ ...template([patch]), base: { apiVersion: "v1", kind: "Bucket", ...base } }] });
  const string = (fmt: string): JsonObject => ({ type: "string", string: { fmt } });
  const convert = (toType: string): JsonObject => ({ type: "convert", convert: { toType } });

  test.each<[JsonObject, string]>([
    [
      { toFieldPath: "metadata.labels[size]" },
      "patches[0].toFieldPath: metadata.labels[size]: expected a string, but spec.size is an integer",
    ],
    [
      { toFieldPath: "metadata.annotations[example.org/size]" },
      "patches[0].toFieldPath: metadata.annotations[example.org/size]: expected a string",
    ],
    [{ toFieldPath: "spec.id" }, "patches[0].toFieldPath: spec.id: expected a string, but spec.size is an integer"],
    [
      { toFieldPath: "spec.id", transforms: [string("%d"), convert("int64")] },
      "expected a string, but the transforms give an integer",
    ],
    [
      { toFieldPath: "spec.id", transforms: [string("id-%s")] },
      "transforms[0].string.fmt: %s does not print an integer; use %v",
    ],
    [
      { toFieldPath: "spec.id", transforms: [{ type: "math", math: { multiply: 2 } }, string("%t")] },
      "transforms[1].string.fmt: %t does not print",
    ],
    [
      { fromFieldPath: "spec.region", toFieldPath: "spec.id", transforms: [string("%05d")] },
      "transforms[0].string.fmt: %d does not print a string",
    ],
    [
      {
        type: "CombineFromComposite",
        combine: {
          strategy: "string",
          string: { fmt: "%s-%s" },
          variables: [{ fromFieldPath: "spec.region" }, { fromFieldPath: "spec.size" }],
        },
        toFieldPath: "spec.id",
      },
      "combine.string.fmt: %s does not print a string or an integer",
    ],
  ])("of a patch that do not fit are errors: %j", (patch, text) => {
    expect(message({ fromFieldPath: "spec.size", ...patch })).toEqual([expect.stringContaining(text)]);
  });

  test.each<JsonObject>([
    { toFieldPath: "spec.id", transforms: [string("%d")] },
    { toFieldPath: "spec.id", transforms: [string("%v and %%s")] },
    { toFieldPath: "spec.id", transforms: [convert("string")] },
    { toFieldPath: "metadata.labels[size]", transforms: [{ type: "map", map: { "1": "one" } }] },
    { fromFieldPath: "status.unknown", toFieldPath: "spec.id", transforms: [string("%s")] },
    { fromFieldPath: "metadata.name", toFieldPath: "spec.id" },
  ])("that fit, or are unknown, are not: %j", (patch) => {
    expect(message({ fromFieldPath: "spec.size", ...patch })).toEqual([]);
  });

  test("of labels and annotations of a base, also of an unknown kind", () => {
    const metadata = { labels: { a: true, b: "c d" }, annotations: { n: 5 } };
    const resources = [{ name: "a", base: { apiVersion: "v1", kind: "ConfigMap", metadata } }];
    expect(check({ resources })).toEqual([
      expect.stringMatching(/^spec\.resources\[0\]\.base\.metadata\.labels\.a: .*must be of type string/),
      expect.stringMatching(/^spec\.resources\[0\]\.base\.metadata\.annotations\.n: .*must be of type string/),
      expect.stringMatching(/^spec\.resources\[0\]\.base\.metadata\.labels\.b: .*a valid label/),
    ]);
  });
});

test("an unknown patch set in the input of function-patch-and-transform is an error, with what was meant", () => {
  const input = {
    apiVersion: "pt.fn.crossplane.io/v1beta1",
    kind: "Resources",
    patchSets: [{ name: "labels", patches: [] }],
    resources: [template([{ type: "PatchSet", patchSetName: "label" }])],
  };
  expect(check({ mode: "Pipeline", pipeline: [{ step: "a", functionRef: { name: "f" }, input }] })).toEqual([
    expect.stringMatching(
      /^spec\.pipeline\[0\]\.input\.resources\[0\]\.patches\[0\]\.patchSetName: there is no patch set "label".*did you mean labels\?$/,
    ),
  ]);
});
