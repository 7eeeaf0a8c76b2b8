import { readDocuments } from "@xfn/functionio/document";
import { describe, expect, test } from "vitest";
import type { CompositionSpec } from "./composition.ts";
import type { Finding } from "./composition-error.ts";
import { checkComposition } from "./parse-composition.ts";

const head = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: c}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XDatabase}
`;

function check(spec: string): { spec: CompositionSpec | undefined; errors: string[]; warnings: string[] } {
  const [document] = readDocuments(`${head}${spec.replace(/^/gm, "  ")}\n`);
  if (document === undefined) throw new Error("no document");
  const { composition, findings } = checkComposition(document);
  const of = (severity: Finding["severity"]): string[] =>
    findings.filter((finding) => finding.severity === severity).map(({ path, code }) => `${path}: ${code}`);
  return { spec: composition?.spec, errors: of("error"), warnings: of("warning") };
}

describe("mode: Pipeline", () => {
  test("is read with its steps", () => {
    const { spec, errors, warnings } = check(`
mode: Pipeline
pipeline:
- step: first
  functionRef: {name: function-go-templating}
  input: {apiVersion: gotemplating.fn.crossplane.io/v1beta1, kind: GoTemplate, source: Inline}
- step: second
  functionRef: {name: function-auto-ready}
`);
    expect([...errors, ...warnings]).toEqual([]);
    expect(spec?.mode).toBe("Pipeline");
    expect(spec?.pipeline).toEqual([
      {
        step: "first",
        functionRef: { name: "function-go-templating" },
        input: { apiVersion: "gotemplating.fn.crossplane.io/v1beta1", kind: "GoTemplate", source: "Inline" },
      },
      { step: "second", functionRef: { name: "function-auto-ready" } },
    ]);
  });

  test.each([
    ["mode: Magic", "spec.mode: Invalid"],
    ["mode: Pipeline", "spec.pipeline: Required"],
    ["mode: Pipeline\npipeline: []", "spec.pipeline: Required"],
    ["mode: Pipeline\npipeline: [{functionRef: {name: f}}]", "spec.pipeline[0].step: Required"],
    ["mode: Pipeline\npipeline: [{step: s}]", "spec.pipeline[0].functionRef: Required"],
    ["mode: Pipeline\npipeline: [{step: s, functionRef: {}}]", "spec.pipeline[0].functionRef.name: Required"],
    [
      "mode: Pipeline\npipeline: [{step: s, functionRef: {name: f}}, {step: s, functionRef: {name: g}}]",
      "spec.pipeline[1].step: Duplicate",
    ],
  ])("%j is refused", (text, expected) => {
    expect(check(text).errors).toEqual([expected]);
  });

  test("what the mode leaves without effect is warned about", () => {
    const step = "[{step: s, functionRef: {name: f}}]";
    expect(
      check(`mode: Pipeline\npipeline: ${step}\nresources: [{name: a, base: {apiVersion: v1, kind: K}}]`),
    ).toMatchObject({
      errors: [],
      warnings: ["spec.resources: Ignored"],
    });
    expect(check(`resources: []\npipeline: ${step}`)).toMatchObject({
      errors: [],
      warnings: ["spec.pipeline: Ignored"],
    });
  });
});
