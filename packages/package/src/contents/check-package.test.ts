import { readDocuments } from "@xfn/json/document";
import { describe, expect, test } from "vitest";
import { checkPackage, MAX_OBJECTS, type PackageContents } from "./check-package.ts";
import { faultLine } from "./fault.ts";

const meta = (kind = "Function", version = "v1", more = ""): string =>
  `apiVersion: meta.pkg.crossplane.io/${version}\nkind: ${kind}\nmetadata: {name: mine}\n${more}`;
const object = (apiVersion: string, kind: string, name = "it"): string =>
  `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: ${name}}\n`;
const CRD = object("apiextensions.k8s.io/v1", "CustomResourceDefinition");

function read(texts: readonly string[]): ReturnType<typeof checkPackage> {
  return checkPackage(texts.flatMap((text, at) => readDocuments(Buffer.from(text), { source: `${at}.yaml` })));
}

function check(...texts: string[]): PackageContents | string[] {
  const checked = read(texts);
  return "faults" in checked ? checked.faults.map(faultLine) : checked;
}

function codes(...texts: string[]): string[] {
  const checked = read(texts);
  return "faults" in checked ? checked.faults.map(({ code }) => code) : [];
}

describe("a package", () => {
  test.each([
    ["Function", "v1"],
    ["Function", "v1beta1"],
    ["Function", "v1alpha1"],
    ["Provider", "v1"],
    ["Provider", "v1alpha1"],
    ["Configuration", "v1"],
    ["Configuration", "v1alpha1"],
  ])("is a %s of %s", (kind, version) => {
    expect(check(meta(kind, version))).toMatchObject({ kind, version, name: "mine" });
  });

  test.each([
    ["Function", [CRD]],
    ["Provider", [CRD, object("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration")]],
    [
      "Configuration",
      [
        object("apiextensions.crossplane.io/v1", "CompositeResourceDefinition"),
        object("apiextensions.crossplane.io/v2", "CompositeResourceDefinition", "other"),
        object("apiextensions.crossplane.io/v1", "Composition"),
        object("ops.crossplane.io/v1alpha1", "CronOperation"),
      ],
    ],
  ])("of a %s holds what that may hold, and its metadata apart", (kind, objects) => {
    const contents = check(...objects, meta(kind)) as PackageContents;
    expect(contents.objects).toHaveLength(objects.length);
    expect(contents.metadata).toMatchObject({ kind });
  });

  test.each([
    ["Function", object("apiextensions.crossplane.io/v1", "Composition")],
    ["Configuration", CRD],
    ["Provider", object("apiextensions.crossplane.io/v1", "CompositeResourceDefinition")],
    ["Function", object("v1", "Secret")],
    ["Function", object("apiextensions.k8s.io/v1alpha7", "CustomResourceDefinition")],
    ["Function", "just: text\n"],
    ["Function", "- a\n"],
  ])("of a %s refuses another kind: %j", (kind, other) => {
    expect(check(meta(kind), other)).toEqual([expect.stringMatching(/^1\.yaml:1:1: .* cannot be in a /)]);
  });

  const crd = (name: string, group: string): string =>
    `${object("apiextensions.k8s.io/v1", "CustomResourceDefinition", name)}spec: {group: ${group}}\n`;
  test.each([
    ["Function", crd("environmentconfigs.apiextensions.crossplane.io", "apiextensions.crossplane.io")],
    ["Function", crd("imageconfigs.pkg.crossplane.io", "pkg.crossplane.io")],
    ["Provider", crd("mutatingwebhookconfigurations.admissionregistration.k8s.io", "admissionregistration.k8s.io")],
    ["Provider", crd("a.example.org", "rbac.authorization.k8s.io")],
    ["Provider", crd("clusterroles.rbac.authorization.k8s.io", "example.org")],
    ["Provider", crd("a.acme.kubernetes.io", "acme.kubernetes.io")],
    [
      "Provider",
      `${object("apiextensions.crossplane.io/v1alpha1", "ManagedResourceDefinition", "x.k8s.io")}spec: {group: k8s.io}\n`,
    ],
    [
      "Configuration",
      `${object("apiextensions.crossplane.io/v2", "CompositeResourceDefinition", "x.pkg.crossplane.io")}spec: {group: pkg.crossplane.io}\n`,
    ],
  ])("of a %s adds no kind to a group of Kubernetes or the controller: %j", (kind, other) => {
    expect(codes(meta(kind), other)).toEqual(["ForbiddenObject"]);
    expect(check(meta(kind), other)).toEqual([expect.stringMatching(/^1\.yaml:.*: spec\.group of the .* belongs to /)]);
  });

  test("names each object once, even with several versions", () => {
    const old = object("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition");
    expect(check(meta(), CRD, old)).toEqual([expect.stringMatching(/^2\.yaml:1:1: .* it is there twice$/)]);
    expect(codes(meta(), CRD, old)).toEqual(["DuplicateObject"]);
    expect(codes(meta("Configuration"), object("apiextensions.crossplane.io/v1", "Composition", "'-'"))).toEqual([
      "InvalidObject",
    ]);
  });

  test(`has at most ${MAX_OBJECTS} objects`, () => {
    const [document] = readDocuments(CRD);
    if (document === undefined) throw new Error("no document");
    const checked = checkPackage(Array.from({ length: MAX_OBJECTS + 1 }, () => document));
    expect(checked).toMatchObject({ faults: [{ code: "TooLarge" }] });
  });

  test("lists at most 20 faults", () => {
    expect(codes(meta(), ...Array.from({ length: 30 }, () => object("v1", "Secret")))).toHaveLength(20);
  });

  test.each([
    ["NoMetadata", [CRD]],
    ["SeveralMetadata", [meta(), meta()]],
    ["UnknownKind", [meta("Bundle")]],
    ["ForbiddenObject", [meta(), object("v1", "Secret")]],
    ["InvalidMetadata", [meta("Function", "v1", "spec: {dependsOn: [{provider: a.b/c, version: latest}]}\n")]],
  ])("has a fault with the code %s", (code, texts) => {
    expect(codes(...texts)[0]).toBe(code);
  });

  test("has dependencies", () => {
    const spec = `spec: {dependsOn: [{provider: "xpkg.example/acme/p", version: ">=v1"}], crossplane: {version: ^2}}\n`;
    expect(check(meta("Configuration", "v1", spec))).toMatchObject({
      crossplane: "^2",
      dependencies: [{ kind: "Provider", package: "xpkg.example/acme/p", constraint: ">=v1" }],
    });
  });

  test("has one metadata document; a second one is reported with its position", () => {
    expect(check(CRD)).toHaveLength(1);
    expect(check(meta(), meta("Provider"))).toHaveLength(3);
  });

  test.each([
    [meta("Bundle"), /kind must be/],
    [meta("Function", "v2"), /apiVersion must be/],
    [meta("Provider", "v1beta1"), /apiVersion must be/],
    [meta().replace("mine", "Not_A_Name"), /metadata\.name/],
    [meta("Function", "v1", "spec: {crossplane: {version: latest}}\n"), /version constraint/],
    [meta("Function", "v1", "spec: {crossplane: {version: 1.0}}\n"), /version constraint/],
  ])("reports errors in its metadata, with their positions", (text, message) => {
    expect(check(text)).toEqual([expect.stringMatching(message)]);
    expect(check(text)).toEqual([expect.stringMatching(/^0\.yaml:\d+:\d+: /)]);
  });

  test.each([
    ">=v1.14.0-0",
    ">= 1.14, < 2.0 || ^3",
    "1.2.x",
    "v1.14.0",
    "~1.2",
    "1.0 - 2.0",
    "*",
    ">1.0 <2.0",
    "!=1.2.3",
  ])("may constrain Crossplane's version: %s", (constraint) => {
    expect(check(meta("Function", "v1", `spec: {crossplane: {version: "${constraint}"}}\n`))).toHaveProperty("name");
  });

  test.each(["", "||", ">=", "1.2.3.4", ">= 1.0,", `${"1 ".repeat(120)}x!`])(
    "may not constrain it by %j",
    (constraint) => {
      const text = meta("Function", "v1", `spec: {crossplane: {version: "${constraint}"}}\n`);
      expect(check(text)).toEqual([expect.stringMatching(/version constraint/)]);
    },
  );
});
