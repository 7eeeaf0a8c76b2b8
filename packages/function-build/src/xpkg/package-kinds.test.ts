import { readDocuments } from "@xfn/functionio/document";
import { describe, expect, test } from "vitest";
import { type CheckedPackage, checkPackage } from "./package-kinds.ts";

const meta = (kind = "Function", version = "v1", more = ""): string =>
  `apiVersion: meta.pkg.crossplane.io/${version}\nkind: ${kind}\nmetadata: {name: mine}\n${more}`;
const object = (apiVersion: string, kind: string): string => `apiVersion: ${apiVersion}\nkind: ${kind}\n`;
const CRD = object("apiextensions.k8s.io/v1", "CustomResourceDefinition");

function check(...texts: string[]): CheckedPackage | string[] {
  const documents = texts.flatMap((text, at) => readDocuments(Buffer.from(text), { source: `${at}.yaml` }));
  const checked = checkPackage(documents);
  return "faults" in checked ? checked.faults : checked;
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
        object("apiextensions.crossplane.io/v2", "CompositeResourceDefinition"),
        object("apiextensions.crossplane.io/v1", "Composition"),
        object("ops.crossplane.io/v1alpha1", "CronOperation"),
      ],
    ],
  ])("of a %s holds what that may hold, its metadata first", (kind, objects) => {
    const { documents } = check(...objects, meta(kind)) as CheckedPackage;
    expect(documents).toHaveLength(objects.length + 1);
    expect(documents[0]).toMatchObject({ kind });
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
