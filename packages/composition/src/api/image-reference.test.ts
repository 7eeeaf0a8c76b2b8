import { readDocuments } from "@xfn/json/document";
import { describe, expect, test } from "vitest";
import type { Schema } from "../api-schema/schema.ts";
import { CALLED_PACKAGE_REFERENCE, IMAGE_REFERENCE, isPackageReference, PACKAGE_REFERENCE } from "./image-reference.ts";
import { checkComposition } from "./parse-composition.ts";

const DIGEST = `sha256:${"0a".repeat(32)}`;

const PACKAGES = [
  "xpkg.crossplane.io/crossplane-contrib/function-auto-ready:v0.6.0",
  `ghcr.io/acme/f@${DIGEST}`,
  `ghcr.io/acme/f:v1@${DIGEST}`,
  `ghcr.io/acme/f@sha512:${"0a".repeat(64)}`,
  "localhost/a:v1",
  "localhost:5000/a/b_c/d__e/f-g:V1_2.3-rc",
  "registry:5000/a:1",
  "127.0.0.1:5000/a:1",
  "[::1]:5000/a:1",
  "a.b/c:latest",
];

const IMAGES = ["nginx", "acme/f", "acme/f:v1", `nginx@${DIGEST}`, "ghcr.io/acme/f", "store:f"];

const FOLDERS = ["./f", "../f", "/f", "."];

const WRONG = [
  "ghcr.io/acme/f:",
  "ghcr.io/acme/f:v1:v2",
  "ghcr.io/acme/f@sha256:0123",
  `ghcr.io/acme/f@${DIGEST}0`,
  `ghcr.io/acme/f@${DIGEST.toUpperCase()}`,
  `ghcr.io/acme/f@md5:${"0".repeat(32)}`,
  "ghcr.io/acme/f@",
  "ghcr.io/Acme/f:v1",
  "ghcr.io/acme//f:v1",
  "ghcr.io/acme/f:v 1",
  "ghcr.io/acme/f:v1\n",
  `ghcr.io/acme/f:${"v".repeat(129)}`,
  "-ghcr.io/acme/f:v1",
  `ghcr.io/${"a".repeat(1024)}:v1`,
  "oci:",
];

/** The expression that an API server applies to a field. */
function celOf({ openApi }: Schema<string>): RegExp {
  const [rule] = openApi["x-kubernetes-validations"] as { rule: string }[];
  return new RegExp(/^self\.matches\(r'(.*)'\)$/s.exec(rule?.rule ?? "")?.[1] ?? "^\\b$", "u");
}

/** The problems of a Composition with a step. */
function problems(step: string): readonly string[] {
  const [document] = readDocuments(`apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: c}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: X}
  mode: Pipeline
  pipeline:
  - {step: a, ${step}}
`);
  if (document === undefined) throw new Error("no document");
  return checkComposition(document).findings.map(({ path }) => path);
}

describe.each([
  ["package", (text: string) => `functionRef: {package: ${JSON.stringify(text)}}`, CALLED_PACKAGE_REFERENCE],
  ["image", (text: string) => `container: {image: ${JSON.stringify(text)}}`, IMAGE_REFERENCE],
  ["image", (text: string) => `wasm: {image: ${JSON.stringify(text)}}`, IMAGE_REFERENCE],
])("a %s of a step", (field, step, schema) => {
  const accepted = field === "image" ? [...PACKAGES, ...IMAGES, "oci:d"] : [...PACKAGES, "oci:d"];
  const refused = field === "image" ? WRONG : [...WRONG, ...IMAGES];

  test.each(accepted)("can be %s, in a file and at an API server", (text) => {
    expect(problems(step(text))).toEqual([]);
    expect(text).toMatch(celOf(schema));
  });

  test.each(FOLDERS)("can be the folder %s in a file only", (text) => {
    expect(problems(step(text))).toEqual([]);
    expect(text).not.toMatch(celOf(schema));
  });

  test.each(refused)("cannot be %s, in a file or at an API server", (text) => {
    expect(problems(step(text))).toEqual([expect.stringMatching(new RegExp(`${field}$`))]);
    const { maxLength } = schema.openApi;
    expect(text.length > Number(maxLength) || !celOf(schema).test(text)).toBe(true);
  });
});

test("a package of a Function must be at a registry", () => {
  for (const text of PACKAGES) expect(PACKAGE_REFERENCE.problemOf(text)).toBeUndefined();
  for (const text of [...WRONG, ...IMAGES, ...FOLDERS, "oci:d"])
    expect(PACKAGE_REFERENCE.problemOf(text)).toContain("must be");
});

test("a step's package has a registry and a version, or is a layout", () => {
  expect([...PACKAGES, "oci:d"].filter(isPackageReference)).toHaveLength(PACKAGES.length + 1);
  expect([...WRONG, ...IMAGES, ...FOLDERS].filter(isPackageReference)).toEqual([]);
});
