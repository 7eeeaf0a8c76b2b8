import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { type Composition, compileTemplates, parseComposition, TemplateError } from "@xfn/composition";
import { parseDefinition } from "@xfn/composition/definition";
import { isObject, type JsonObject, type JsonValue, type KubernetesObject } from "@xfn/json";
import { printYaml, readDocuments, unwrapLists } from "@xfn/json/document";
import { printJson } from "@xfn/json/text";
import { describe, expect, test } from "vitest";
import { type Conversion, convertText, type PlacedProblem } from "./convert-text.ts";

const PIPELINE: Conversion = { to: "pipeline", names: { templates: "function-pt", environment: "function-env" } };
const TEMPLATES: Conversion = { to: "templates" };

const HEAD = `# What a team gets.
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata:
  name: things # plural
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XThing}
`;
const COMPOSITION = `${HEAD}  # shared
  patchSets:
  - name: labels
    patches:
    - fromFieldPath: metadata.labels
      policy: {mergeOptions: {keepMapValues: true}}
  environment:
    environmentConfigs:
    - ref: {name: prod}
    patches:
    - {fromFieldPath: spec.zone, toFieldPath: zone}
  resources:
  # the first
  - base: {apiVersion: v1, kind: ConfigMap, data: {mode: 0644, on: yes, none: , id: 9007199254740993}}
    patches:
    - {type: PatchSet, patchSetName: labels}
    - fromFieldPath: spec.size # why
      transforms:
      - type: string
        string: {fmt: "%s-a"}
    connectionDetails:
    - fromConnectionSecretKey: user
---
# another document
kind: Other
`;

describe("templates as mode: Pipeline", () => {
  const { text, converted, problems } = convertText(COMPOSITION, "c.yaml", PIPELINE);

  test("are the input of a function, with comments, names and types", () => {
    expect({ converted, problems }).toEqual({ converted: 1, problems: [] });
    for (const comment of ["# What a team gets.", "# plural", "# shared", "# the first", "# why", "# another document"])
      expect(text).toContain(comment);
    expect(text).toContain("data: {mode: 0644, on: yes, none: null, id: 9007199254740993}");
    const [composition] = readDocuments(text);
    expect(composition?.value).toMatchObject({
      spec: {
        mode: "Pipeline",
        pipeline: [
          {
            functionRef: { name: "function-env" },
            input: { kind: "Input", spec: { environmentConfigs: [{ ref: { name: "prod" } }] } },
          },
          {
            functionRef: { name: "function-pt" },
            input: {
              apiVersion: "pt.fn.crossplane.io/v1beta1",
              kind: "Resources",
              environment: { patches: [{ type: "FromCompositeFieldPath", fromFieldPath: "spec.zone" }] },
              patchSets: [{ patches: [{ policy: { toFieldPath: "MergeObjects" } }] }],
              resources: [
                {
                  name: "template-0",
                  patches: [
                    { type: "PatchSet" },
                    { type: "FromCompositeFieldPath", transforms: [{ string: { type: "Format" } }] },
                  ],
                  connectionDetails: [{ name: "user", type: "FromConnectionSecretKey" }],
                },
              ],
            },
          },
        ],
      },
    });
  });

  test("become the same templates again", () => {
    const back = convertText(text, "p.yaml", TEMPLATES);
    expect(back.problems).toEqual([]);
    const { spec } = compositionOf(back.text);
    const original = compositionOf(COMPOSITION).spec;
    const [set] = original.patchSets;
    expect(spec.environment).toEqual(original.environment);
    // Written out: what these options mean if they are left out.
    expect(set?.patches[0]?.policy).toEqual({ mergeOptions: { keepMapValues: true } });
    expect(spec.patchSets[0]?.patches[0]?.policy).toEqual({
      mergeOptions: { keepMapValues: true, appendSlice: false },
    });
    expect(spec.resources[0]?.base).toEqual(original.resources[0]?.base);
  });

  test("with functions keep them as containers, and say what differs", () => {
    const functions = "  functions:\n  - {name: f, type: Container, container: {image: example.org/f:v1}}\n";
    const result = convertText(`${HEAD}${functions}`, "c.yaml", PIPELINE);
    expect(result.problems).toMatchObject([
      { severity: "note", line: expect.stringMatching(/^c\.yaml:9:5: spec\.functions\[0]: .*container/) },
      { severity: "note", line: expect.stringMatching(/^c\.yaml:8:3: spec\.functions: .*deletes them/) },
    ]);
    expect(compositionOf(result.text).spec.pipeline).toMatchObject([{ name: "f", type: "Container" }]);
  });
});

test.each([
  ["another function", "step: a\n    functionRef: {name: function-cel}", /c\.yaml:11:5: .*calls function-cel/],
  [
    "a template without base",
    "step: a\n    functionRef: {name: f}\n    input: {apiVersion: pt.fn.crossplane.io/v1beta1, kind: Resources, resources: [{name: x}]}",
    /c\.yaml:12:\d+: spec\.pipeline\[0]\.input\.resources\[0]: has no base/,
  ],
  [
    "a transform that only functions have",
    "step: a\n    functionRef: {name: f}\n    input: {apiVersion: pt.fn.crossplane.io/v1beta1, kind: Resources, resources: [{name: x, base: {apiVersion: v1, kind: ConfigMap}, patches: [{fromFieldPath: spec.a, transforms: [{type: magic}]}]}]}",
    /c\.yaml:.*magic/,
  ],
])("%s has no form as templates, and the message has its position", (_, step, message) => {
  const { problems } = convertText(`${HEAD}  mode: Pipeline\n  pipeline:\n  - ${step}\n`, "c.yaml", TEMPLATES);
  expect(
    problems
      .filter(({ severity }) => severity === undefined)
      .map(({ line }) => line)
      .join("\n"),
  ).toMatch(message);
});

describe("a definition of v1 as v2", () => {
  const XRD = `apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: {name: xthings.example.org}
spec:
  group: example.org
  names: {kind: XThing, plural: xthings} # names
  claimNames: {kind: Thing, plural: things}
  connectionSecretKeys: [user]
  versions:
  - {name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object}}}
`;

  test("has its scope, and says what it loses", () => {
    const { text, problems } = convertText(XRD, "x.yaml", { to: "xrd-v2", scope: "Namespaced" });
    expect(problems.map(({ severity, line }) => [severity, line.split(": ").slice(0, 2).join(": ")])).toEqual([
      ["loss", "x.yaml:7:3: spec.claimNames"],
      ["loss", "x.yaml:8:3: spec.connectionSecretKeys"],
    ]);
    expect(text).toContain("# names");
    const [document] = readDocuments(text);
    if (document === undefined) throw new Error("no document");
    const { apiVersion, spec } = parseDefinition(document) as unknown as { apiVersion: string; spec: JsonObject };
    expect(document.value).toMatchObject({ apiVersion: "apiextensions.crossplane.io/v2" });
    expect({ apiVersion, scope: spec["scope"] }).toEqual({ apiVersion, scope: "Namespaced" });
  });
});

describe("the recorded cases of templates", () => {
  const vectors = new URL("../../../../test/vectors/patches.json.gz", import.meta.url);
  const [recorded] = readDocuments(gunzipSync(readFileSync(vectors)));
  const { cases } = recorded?.value as { cases: (JsonObject & { group: string; name: string; input: JsonObject })[] };

  test("render the same as the input of the function, and after both conversions", () => {
    let compared = 0;
    for (const one of cases) {
      const input = (one["input"] ?? one) as JsonObject;
      const text = compositionText(input);
      // A few cases are as large as they can be.
      if (text.length > 50_000) continue;
      const before = rendered(text, input);
      if (before === undefined) continue;
      compared++;
      const there = convertText(text, "c.yaml", PIPELINE);
      expect({ name: one.name, refused: refused(there.problems) }).toEqual({ name: one.name, refused: [] });
      expect({ name: one.name, out: rendered(inputAsTemplates(there.text), input) }).toEqual({
        name: one.name,
        out: before,
      });
      const back = convertText(there.text, "p.yaml", TEMPLATES);
      expect({ name: one.name, refused: refused(back.problems) }).toEqual({ name: one.name, refused: [] });
      expect({ name: one.name, out: rendered(back.text, input) }).toEqual({ name: one.name, out: before });
    }
    expect(compared).toBeGreaterThan(200);
  });
});

describe("templates in other shapes of a file", () => {
  const json = printJson(
    readDocuments(`${HEAD}  resources: [{name: a, base: {apiVersion: v1, kind: ConfigMap}}]`)[0]?.value ?? null,
  );
  const kindsOf = (text: string): unknown[] =>
    unwrapLists(readDocuments(text)).map(({ value }) => (value as { spec?: { mode?: unknown } }).spec?.mode);

  test.each([
    ["a List", `{"apiVersion": "v1", "kind": "List", "items": [${json}, {"kind": "A"}, ${json}]}`],
    ["a nested List", `kind: List\nitems:\n- ${json}\n- kind: A\n- {kind: List, items: [${json}]}`],
    ["objects of JSON without separators", `${json}{"kind": "A"}\n ${json}`],
    ["objects of JSON with separators", `${json}\n--- {"kind": "A"}\n---\n${json}`],
  ])("%s", (_name, text) => {
    const result = convertText(text, "c.json", PIPELINE);
    expect(refused(result.problems)).toEqual([]);
    expect(result.converted).toBe(2);
    expect(kindsOf(result.text)).toEqual(["Pipeline", undefined, "Pipeline"]);
  });

  test("an error has its position in the list", () => {
    const { problems } = convertText(`kind: List\nitems:\n- ${json.replace('"XThing"', "3")}`, "c.yaml", PIPELINE);
    expect(problems.map(({ line }) => line)).toEqual([
      expect.stringMatching(/^c\.yaml:3:\d+: spec\.compositeTypeRef\.kind/),
    ]);
  });
});

function refused(problems: readonly PlacedProblem[]): readonly PlacedProblem[] {
  return problems.filter(({ severity }) => severity !== "note");
}

function compositionOf(text: string): Composition {
  const [document] = readDocuments(text);
  if (document === undefined) throw new Error("no document");
  return parseComposition(document);
}

function compositionText({ resources, patchSets, environmentPatches, xr }: JsonObject): string {
  const { apiVersion, kind } = xr as JsonObject & { apiVersion: string; kind: string };
  return printYaml({
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: { name: "recorded" },
    spec: {
      compositeTypeRef: { apiVersion, kind },
      ...(patchSets !== undefined && { patchSets }),
      environment: { ...(environmentPatches !== undefined && { patches: environmentPatches }) },
      resources: resources ?? [],
    },
  });
}

/** Renders the templates of a Composition for a case's XR, as JSON. Returns undefined if they are invalid. */
function rendered(text: string, { xr, observed, environment }: JsonObject): string | undefined {
  let composition: Composition;
  try {
    composition = compositionOf(text);
  } catch {
    return undefined;
  }
  try {
    const result = compileTemplates(composition.spec).render({
      composite: xr as unknown as KubernetesObject,
      observed: new Map(Object.entries((observed ?? {}) as Record<string, KubernetesObject>)),
      ...(environment !== undefined && { environment: environment as JsonObject }),
    });
    return printJson({
      composite: result.composite as JsonValue,
      environment: result.environment ?? null,
      resources: result.resources.map((one) => (one.error === undefined ? (one.resource as JsonValue) : "failed")),
    });
  } catch (error) {
    if (error instanceof TemplateError) return "failed";
    throw error;
  }
}

/** Reads the input as the function does: it names the merge options of templates otherwise. */
function inputAsTemplates(text: string): string {
  const [document] = readDocuments(text);
  const { spec, ...rest } = document?.value as JsonObject & { spec: JsonObject & { pipeline: JsonObject[] } };
  const { pipeline, ...others } = spec;
  const input = pipeline.find((step) => isObject(step["input"]) && step["input"]["kind"] === "Resources")?.["input"];
  const fields = withMergeOptions({ environment: {}, ...(input as JsonObject) }) as JsonObject;
  for (const field of ["apiVersion", "kind"]) delete fields[field];
  delete others["mode"];
  return printYaml({ ...rest, spec: { ...others, ...fields } });
}

function withMergeOptions(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withMergeOptions);
  if (!isObject(value)) return value;
  const { toFieldPath, ...policy } = isObject(value["policy"]) ? value["policy"] : {};
  const fields = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withMergeOptions(one)]));
  if (typeof toFieldPath !== "string" || !toFieldPath.includes("MergeObjects")) return fields;
  const mergeOptions = {
    keepMapValues: !toFieldPath.startsWith("Force"),
    appendSlice: toFieldPath.endsWith("AppendArrays"),
  };
  return { ...fields, policy: { ...policy, mergeOptions } };
}
