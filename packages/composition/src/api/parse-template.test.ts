import { readDocuments } from "@xfn/json/document";
import { describe, expect, test } from "vitest";
import { type CheckedSpec, checkSpec, HEAD } from "../../testing/check-spec.ts";
import { checkComposition } from "./parse-composition.ts";

const base = "base: {apiVersion: v1, kind: K}";
const fn = "functions: [{name: f, type: Container, container: {image: i}}]";

describe("resources", () => {
  test("are read with their patches, details and checks", () => {
    const { spec, errors, warnings } = checkSpec(`
patchSets:
- name: common
  patches:
  - fromFieldPath: metadata.labels
resources:
- name: db
  base:
    apiVersion: v1
    kind: K
  patches:
  - type: PatchSet
    patchSetName: common
  - fromFieldPath: spec.size
  connectionDetails:
  - fromConnectionSecretKey: host
  readinessChecks:
  - type: MatchString
    fieldPath: status.state
    matchString: up
- name: bare
  base: {apiVersion: v1, kind: K}
`);
    expect([...errors, ...warnings]).toEqual([]);
    expect(spec?.resources).toEqual([
      {
        name: "db",
        base: { apiVersion: "v1", kind: "K" },
        patches: [
          { type: "PatchSet", patchSetName: "common" },
          { type: "FromCompositeFieldPath", fromFieldPath: "spec.size" },
        ],
        connectionDetails: [{ fromConnectionSecretKey: "host" }],
        readinessChecks: [{ type: "MatchString", fieldPath: "status.state", matchString: "up" }],
      },
      { name: "bare", base: { apiVersion: "v1", kind: "K" } },
    ]);
    expect(spec?.patchSets).toEqual([
      { name: "common", patches: [{ type: "FromCompositeFieldPath", fromFieldPath: "metadata.labels" }] },
    ]);
    expect(spec?.resourcesField).toBeUndefined();
  });

  test("a name of another type is one error", () => {
    const { errors } = checkSpec(`resources: [{name: a, ${base}}, {name: no, ${base}}]\n${fn}`);
    expect(errors).toEqual(["spec.resources[1].name: Invalid"]);
  });

  test("can use from and to, without names and types", () => {
    const [document] = readDocuments(`
apiVersion: apiextensions.crossplane.io/v1alpha1
kind: Composition
metadata: {name: private-mysql-server}
spec:
  from: {apiVersion: database.example.org/v1alpha1, kind: MySQLInstance}
  to:
  - base: {apiVersion: azure.crossplane.io/v1alpha3, kind: ResourceGroup}
    patches:
    - fromFieldPath: "spec.region"
      toFieldPath: "spec.forProvider.location"
      transforms:
      - type: map
        map: {us-west: "West US", us-east: "East US"}
  - base: {apiVersion: database.azure.crossplane.io/v1beta1, kind: MySQLServer}
    patches:
    - fromFieldPath: "spec.storageGB"
      toFieldPath: "spec.forProvider.storageMB"
      transforms:
      - type: math
        math: {multiply: 1024}
    connectionDetails:
    - {name: username, fromConnectionSecretKey: username}
`);
    if (document === undefined) throw new Error("no document");
    const { composition, findings } = checkComposition(document);
    expect(findings).toEqual([]);
    expect(composition?.spec.resources.map(({ name }) => name)).toEqual(["template-0", "template-1"]);
    expect(composition?.spec.resourcesField).toBe("to");
    expect(composition?.spec.resources[0]?.patches?.[0]?.type).toBe("FromCompositeFieldPath");
  });

  test("paths name the field to if the author wrote it", () => {
    expect(checkSpec(`to: [{${base}, patches: [{}]}]`).errors).toEqual([
      "spec.to[0].patches[0].fromFieldPath: Required",
    ]);
    expect(checkSpec(`to: []\nresources: []`).errors).toEqual(["spec.to: Invalid"]);
  });

  test("the document is not changed", () => {
    const [document] = readDocuments(`${HEAD}  resources: [{${base}, patches: [{fromFieldPath: a}]}]`);
    if (document === undefined) throw new Error("no document");
    const before = JSON.stringify(document.value);
    checkComposition(document);
    expect(JSON.stringify(document.value)).toBe(before);
  });

  test.each([
    ["two with one name", `resources: [{name: a, ${base}}, {name: a, ${base}}]`, "spec.resources[1].name: Duplicate"],
    ["a name after none", `resources: [{${base}}, {name: a, ${base}}]`, "spec.resources[1].name: Invalid"],
    ["none after a name", `resources: [{name: a, ${base}}, {${base}}]`, "spec.resources[1].name: Required"],
    ["none with functions", `${fn}\nresources: [{${base}}]`, "spec.resources[0].name: Required"],
    ["an empty name with functions", `${fn}\nresources: [{name: "", ${base}}]`, "spec.resources[0].name: Required"],
    ["a number for a name", `resources: [{name: 7, ${base}}]`, "spec.resources[0].name: Invalid"],
    ["no base", "resources: [{name: a}]", "spec.resources[0].base: Required"],
    ["a text for a base", "resources: [{name: a, base: x}]", "spec.resources[0].base: Invalid"],
    [
      "metadata that is none",
      "resources: [{name: a, base: {kind: K, metadata: []}}]",
      "spec.resources[0].base.metadata: Invalid",
    ],
    ["an object for a list", "resources: {name: a}", "spec.resources: Invalid"],
    ["a text for a template", "resources: [a]", "spec.resources[0]: Invalid"],
    ["a patch set without a name", "patchSets: [{patches: []}]", "spec.patchSets[0].name: Required"],
  ])("with %s are rejected", (_, spec, expected) => {
    expect(checkSpec(spec).errors).toEqual([expected]);
  });

  test.each([
    [
      "a base without a kind",
      "resources: [{name: a, base: {apiVersion: v1}}]",
      "spec.resources[0].base.kind: Required",
    ],
    [
      "a patch set that does not exist",
      `resources: [{name: a, ${base}, patches: [{type: PatchSet, patchSetName: p}]}]`,
      "spec.resources[0].patches[0].patchSetName: Invalid",
    ],
    [
      "two patch sets with one name",
      "resources: []\npatchSets: [{name: p}, {name: p}]",
      "spec.patchSets[1].name: Duplicate",
    ],
    ["an unknown field", `resources: [{name: a, ${base}, patch: []}]`, "spec.resources[0].patch: Unknown"],
  ])("with %s are accepted, as by Crossplane, with a warning", (_, spec, expected) => {
    expect(checkSpec(spec)).toMatchObject({ errors: [], warnings: [expected] });
  });
});

describe("readiness checks", () => {
  const checks = (text: string): CheckedSpec =>
    checkSpec(`resources: [{name: a, ${base}, readinessChecks: [${text}]}]`);
  const at = "spec.resources[0].readinessChecks[0]";

  test.each([
    "{type: NonEmpty, fieldPath: a}",
    "{type: MatchString, fieldPath: a, matchString: b}",
    "{type: MatchInteger, fieldPath: a, matchInteger: 3}",
    "{type: MatchTrue, fieldPath: a}",
    "{type: MatchFalse, fieldPath: a}",
    "{type: MatchCondition, matchCondition: {type: Ready, status: 'True'}}",
    "{type: None}",
  ])("%s is valid", (text) => {
    expect(checks(text)).toMatchObject({ errors: [], warnings: [] });
  });

  test.each([
    ["{}", "type: Required"],
    ["{type: Sometimes}", "type: Invalid"],
    ["{type: NonEmpty}", "fieldPath: Required"],
    ["{type: MatchTrue}", "fieldPath: Required"],
    ["{type: MatchString, fieldPath: a}", "matchString: Required"],
    ["{type: MatchString}", "matchString: Required"],
    ["{type: MatchString, matchString: a}", "fieldPath: Required"],
    ["{type: MatchInteger, fieldPath: a, matchInteger: 0}", "matchInteger: Required"],
    ["{type: MatchInteger, fieldPath: a, matchInteger: 1.5}", "matchInteger: Invalid"],
    ["{type: MatchCondition, matchCondition: {status: 'True'}}", "matchCondition.type: Required"],
    ["{type: MatchCondition, matchCondition: {type: Ready}}", "matchCondition.status: Required"],
  ])("%s is rejected", (text, expected) => {
    expect(checks(text).errors[0]).toBe(`${at}.${expected}`);
  });

  test("all problems of a check are reported", () => {
    expect(checks("{type: MatchString}").errors).toEqual([`${at}.matchString: Required`, `${at}.fieldPath: Required`]);
  });

  test("a missing condition is accepted, as in Crossplane, with a warning", () => {
    expect(checks("{type: MatchCondition}")).toMatchObject({
      errors: [],
      warnings: [`${at}.matchCondition: Required`],
    });
  });
});

describe("connection details", () => {
  const details = (text: string): CheckedSpec =>
    checkSpec(`resources: [{name: a, ${base}, connectionDetails: [${text}]}]`);
  const at = "spec.resources[0].connectionDetails[0]";

  test.each([
    "{fromConnectionSecretKey: a}",
    "{name: b, fromConnectionSecretKey: a}",
    "{name: b, fromFieldPath: status.x}",
    "{name: b, value: '5432'}",
    "{name: b, type: FromFieldPath, fromFieldPath: status.x}",
  ])("%s is valid", (text) => {
    expect(details(text)).toMatchObject({ errors: [], warnings: [] });
  });

  test.each([
    ["{name: b}", "fromConnectionSecretKey: Required"],
    ["{fromFieldPath: status.x}", "name: Required"],
    ["{value: '5432'}", "name: Required"],
    ["{name: b, type: FromValue, fromFieldPath: status.x}", "value: Required"],
    ["{name: b, fromFieldPath: status..x}", "fromFieldPath: Invalid"],
  ])("%s publishes nothing, which is a warning", (text, expected) => {
    expect(details(text)).toMatchObject({ errors: [], warnings: [`${at}.${expected}`] });
  });

  test("of an unknown type are rejected", () => {
    expect(details("{name: b, type: FromMoon, value: x}").errors).toEqual([`${at}.type: Invalid`]);
    expect(details("{name: b, value: 5432}").errors).toEqual([`${at}.value: Invalid`]);
  });
});
