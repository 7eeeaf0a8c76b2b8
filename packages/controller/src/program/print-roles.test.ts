import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject, JsonValue } from "@xfn/json";
import { readDocuments } from "@xfn/json/document";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { printRoles } from "./print-roles.ts";

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

const path = (name: string): string => join(folder, name);
function write(name: string, ...documents: readonly string[]): string {
  writeFileSync(path(name), documents.join("---\n"));
  return path(name);
}

const definition = (plural: string, kind: string, claim = ""): string => `
apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: {name: ${plural}.a.example}
spec:
  group: a.example
  names: {kind: ${kind}, plural: ${plural}}
  ${claim}
  versions:
  - {name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object}}}
`;
const composition = (name: string, kind: string, rest: string): string => `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: ${name}}
spec:
  compositeTypeRef: {apiVersion: a.example/v1, kind: ${kind}}
${rest}
`;
const template = (apiVersion: string, kind: string): string =>
  `  - {name: ${kind.toLowerCase()}, base: {apiVersion: ${apiVersion}, kind: ${kind}}}\n`;
const crd = (group: string, kind: string, plural: string): string => `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${plural}.${group}}
spec: {group: ${group}, names: {kind: ${kind}, plural: ${plural}}}
`;

interface Printed {
  readonly text: string;
  readonly roles: readonly JsonValue[];
}

async function print(...paths: readonly string[]): Promise<Printed> {
  const text = await printRoles(paths);
  return { text, roles: readDocuments(text).map(({ value }) => value) };
}

const rulesOf = ({ roles: [role] }: Printed): JsonValue | undefined => (role as JsonObject | undefined)?.["rules"];
const EDIT = ["get", "list", "watch", "create", "update", "patch", "delete"];

test("a role has the definition's kinds, and those that its Compositions compose", async () => {
  mkdirSync(path("crds"));
  write("crds/sheep.yaml", crd("b.example", "Sheep", "sheep"));
  const definitions = write(
    "definitions.yaml",
    definition("xas", "XA", "claimNames: {kind: A, plural: as}"),
    definition("xbs", "XB"),
  );
  const compositions = write(
    "compositions.yaml",
    composition("one", "XA", `  resources:\n${template("b.example/v1", "Sheep")}${template("v1", "ConfigMap")}`),
    composition("two", "XA", `  resources:\n${template("a.example/v1", "XB")}${template("v1", "Secret")}`),
    "apiVersion: a.example/v1\nkind: XA\nmetadata: {name: an-instance}\n",
  );
  const { text, roles } = await print(definitions, compositions, path("crds"));
  expect(roles).toEqual([
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: {
        name: "xfn-controller:xas.a.example",
        labels: { "rbac.crossplane.io/aggregate-to-crossplane": "true" },
      },
      rules: [
        { apiGroups: ["a.example"], resources: ["xas", "as"], verbs: EDIT },
        {
          apiGroups: ["a.example"],
          resources: ["xas/status", "as/status", "xas/finalizers", "as/finalizers"],
          verbs: ["update", "patch"],
        },
        { apiGroups: [""], resources: ["configmaps"], verbs: EDIT },
        { apiGroups: ["a.example"], resources: ["xbs"], verbs: EDIT },
        { apiGroups: ["b.example"], resources: ["sheep"], verbs: EDIT },
      ],
    },
    expect.objectContaining({ metadata: expect.objectContaining({ name: "xfn-controller:xbs.a.example" }) }),
  ]);
  expect(text.match(/^#.*/gm)).toEqual([expect.stringContaining("ConfigMap (v1) is a guess")]);
});

test.each([
  ["Bucket", "buckets"],
  ["Policy", "policies"],
  ["Ingress", "ingresses"],
  ["Endpoints", "endpoints"],
])("a plural without a CRD is a guess: %s", async (kind, plural) => {
  const templates = `  resources:\n${template("b.example/v1", kind)}`;
  const printed = await print(write("all.yaml", definition("xas", "XA"), composition("c", "XA", templates)));
  expect(rulesOf(printed)).toContainEqual({ apiGroups: ["b.example"], resources: [plural], verbs: EDIT });
  expect(printed.text).toContain(`# The plural of ${kind} (b.example/v1) is a guess`);
});

test("a comment asks for a kind that only patches set", async () => {
  const templates = "  resources: [{name: t, base: {apiVersion: v1}}]";
  const printed = await print(write("all.yaml", definition("xas", "XA"), composition("c", "XA", templates)));
  expect(rulesOf(printed)).toHaveLength(2);
  expect(printed.text).toContain("# Patches set the kind of template t of Composition c: add it.");
});

test("required resources are only read, and a comment asks for the kinds that functions compose", async () => {
  const steps = `  mode: Pipeline
  pipeline:
  - step: s
    functionRef: {name: f}
    requirements:
      requiredResources:
      - {requirementName: r, apiVersion: b.example/v1, kind: Bucket, name: bucket}
`;
  const printed = await print(write("all.yaml", definition("xas", "XA"), composition("c", "XA", steps)));
  expect(rulesOf(printed)).toContainEqual({
    apiGroups: ["b.example"],
    resources: ["buckets"],
    verbs: ["get", "list", "watch"],
  });
  expect(printed.text).toContain("# Composition c has functions");
});

test.each([
  ["a missing file", () => path("none.yaml"), "there is no such file"],
  ["no definition", () => write("none.yaml", crd("b.example", "Sheep", "sheep")), "no CompositeResourceDefinition in"],
  [
    "a Composition without its definition",
    () => write("c.yaml", definition("xas", "XA"), composition("c", "XC", `  resources:\n${template("v1", "Pod")}`)),
    "Composition c is for XC (a.example/v1): give its definition too",
  ],
  ["an invalid definition", () => write("d.yaml", definition("xas", "")), "d.yaml:"],
])("%s is refused", async (_, file, problem) => {
  await expect(printRoles([file()])).rejects.toMatchObject({
    name: "UsageError",
    message: expect.stringContaining(problem),
  });
});
