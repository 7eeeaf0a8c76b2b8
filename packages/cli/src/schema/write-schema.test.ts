import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readDocuments } from "@xfn/json/document";
import { Ajv, type ValidateFunction } from "ajv";
import { beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { runXfn } from "../../testing/run-xfn.ts";

const SOURCES = `apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: { name: xthings.example.org }
spec:
  group: example.org
  names: { kind: XThing, plural: xthings }
  claimNames: { kind: Thing, plural: things }
  versions:
    - name: v1
      served: true
      referenceable: true
      schema:
        openAPIV3Schema:
          type: object
          required: [spec]
          properties:
            spec:
              type: object
              required: [size]
              properties:
                size: { type: integer, minimum: 1, exclusiveMinimum: true }
                port: { x-kubernetes-int-or-string: true, nullable: true }
                free: { type: object, x-kubernetes-preserve-unknown-fields: true }
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: resources.pt.fn.crossplane.io }
spec:
  group: pt.fn.crossplane.io
  names: { kind: Resources, plural: resources }
  versions:
    - name: v1beta1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            resources:
              type: array
              items:
                type: object
                required: [name]
                properties:
                  name: { type: string, pattern: "(?i)^[a-z]+$" }
                  base: { type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true }
`;

let validate: ValidateFunction;
let file = "";

beforeAll(async () => {
  file = join(temporaryFolder(), "sources.yaml");
  writeFileSync(file, SOURCES);
  const { code, stdout, stderr } = await runXfn(["schema", file]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  validate = new Ajv({ allErrors: true, strictTypes: false, allowUnionTypes: true }).compile(
    JSON.parse(stdout) as object,
  );
});

/** The paths of wrong fields, or those of unknown fields. */
function wrongFields(yaml: string): string[] {
  const [document] = readDocuments(Buffer.from(yaml), { source: "x.yaml" });
  validate(document?.value);
  const errors = (validate.errors ?? []).filter(({ keyword }) => keyword !== "if" && keyword !== "anyOf");
  return errors.map(({ instancePath, params }) =>
    [instancePath, params["additionalProperty"] as string | undefined].filter((part) => part !== undefined).join("/"),
  );
}

const XR = "apiVersion: example.org/v1\nkind: XThing\n";
const POD = "apiVersion: v1, kind: Pod";
const base = (text: string): string => `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: things }
spec:
  compositeTypeRef: { apiVersion: example.org/v1, kind: XThing }
  resources: [{ name: a, base: { ${text} }, patches: [{ fromFieldPath: spec.size, toFieldPath: spec.size }] }]
`;
const step = (text: string): string => `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: things }
spec:
  compositeTypeRef: { apiVersion: example.org/v1, kind: XThing }
  mode: Pipeline
  pipeline:
    - step: a
      functionRef: { name: pt }
      input: { apiVersion: pt.fn.crossplane.io/v1beta1, kind: Resources, resources: [{ name: a, ${text} }] }
`;

test.each<[string, string, string[]]>([
  ["an XR", `${XR}spec: { size: 2, port: http, free: { any: 1 } }`, []],
  ["an XR's fields of the controller", `${XR}spec: { size: 2, compositionRef: { name: a } }`, []],
  ["a missing field", `${XR}spec: {}`, ["/spec"]],
  ["an unknown field", `${XR}spec: { size: 2, sise: 3 }`, ["/spec/sise"]],
  ["an exclusive bound", `${XR}spec: { size: 1 }`, ["/spec/size"]],
  ["a claim", `apiVersion: example.org/v1\nkind: Thing\nspec: { size: a }`, ["/spec/size"]],
  ["a kind that is not known", "apiVersion: other.org/v1\nkind: Any\nspec: { any: 1 }", []],
  ["metadata", "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: 5 }", ["/metadata/name", "/metadata/name"]],
  ["a built-in kind", `apiVersion: v1\nkind: Service\nspec: { typ: a, type: b }`, ["/spec/typ", "/spec/type"]],
  ["a base without a field that a patch sets", base("apiVersion: example.org/v1, kind: XThing, spec: {}"), []],
  ["a base", base(`${POD}, spec: { containers: [{ imag: a }] }`), ["/spec/resources/0/base/spec/containers/0/imag"]],
  ["a base of an unknown kind", base("apiVersion: other.org/v1, kind: Any, spec: { any: 1 }"), []],
  ["an input", step("bse: {}"), ["/spec/pipeline/0/input/resources/0/bse"]],
  ["a base in an input", step(`base: { ${POD}, spc: {} }`), ["/spec/pipeline/0/input/resources/0/base/spc"]],
  [
    "a type of patch",
    base(POD).replace("fromFieldPath:", "type: FromXR, fromFieldPath:"),
    ["/spec/resources/0/patches/0/type"],
  ],
  [
    "a definition",
    SOURCES.split("---\n")[0]?.replace("served: true", "servd: true") ?? "",
    ["/spec/versions/0", "/spec/versions/0/servd"],
  ],
])("%s", (_, yaml, wrong) => {
  expect([...new Set(wrongFields(yaml))].toSorted()).toEqual([...new Set(wrong)].toSorted());
});

test("--kinds leaves out the other kinds of the definitions", async () => {
  const { stdout } = await runXfn(["schema", file, "--kinds", "XThing.example.org"]);
  const definitions = Object.keys((JSON.parse(stdout) as { definitions: object }).definitions);
  expect(definitions.filter((name) => /example\.org|pt\.fn/.test(name))).toEqual([
    "base.example.org_v1.XThing",
    "example.org_v1.XThing",
  ]);
  expect(await runXfn(["schema", file, "--kinds", "XThin"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("did you mean XThing?"),
  });
});

test("--check compares all but the sources", async () => {
  const target = join(temporaryFolder(), ".xfn", "schema.json");
  expect(await runXfn(["schema", file, "-o", target])).toMatchObject({ code: 0 });
  expect(await runXfn(["schema", file, "-o", target, "--check"])).toMatchObject({ code: 0 });
  writeFileSync(target, "{}\n");
  expect(await runXfn(["schema", file, "-o", target, "--check"])).toMatchObject({
    code: 1,
    stderr: `xfn: ${target} is not current: run xfn schema ${file} -o ${target}\n`,
  });
});
