import { describe, expect, test } from "vitest";
import { checkSpec } from "../../test/check-spec.ts";

describe("mode: Pipeline", () => {
  test("is read with its steps", () => {
    const { spec, errors, warnings } = checkSpec(`
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
  ])("%j is rejected", (text, expected) => {
    expect(checkSpec(text).errors).toEqual([expected]);
  });

  test("fields without effect in a mode are warnings", () => {
    const step = "[{step: s, functionRef: {name: f}}]";
    expect(
      checkSpec(`mode: Pipeline\npipeline: ${step}\nresources: [{name: a, base: {apiVersion: v1, kind: K}}]`),
    ).toMatchObject({
      errors: [],
      warnings: ["spec.resources: Ignored"],
    });
    expect(checkSpec(`resources: []\npipeline: ${step}`)).toMatchObject({
      errors: [],
      warnings: ["spec.pipeline: Ignored"],
    });
  });
});
