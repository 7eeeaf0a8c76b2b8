import { describe, expect, test } from "vitest";
import { type CheckedSpec, checkSpec } from "../../testing/check-spec.ts";

const at = "spec.environment.environmentConfigs[0]";

function source(text: string): CheckedSpec {
  return checkSpec(`resources: []\nenvironment: {environmentConfigs: [${text}]}`);
}

describe("environment", () => {
  test("is read, with default types of its patches", () => {
    const { spec, errors, warnings } = checkSpec(`
resources: []
environment:
  defaultData: {region: eu}
  policy: {resolution: Optional, resolve: Always}
  environmentConfigs:
  - ref: {name: base}
  - type: Selector
    selector:
      mode: Multiple
      maxMatch: 3
      sortByFieldPath: data.order
      matchLabels:
      - {key: stage, valueFromFieldPath: spec.stage, fromFieldPathPolicy: Optional}
      - {key: team, type: Value, value: a}
  patches:
  - fromFieldPath: spec.size
`);
    expect([...errors, ...warnings]).toEqual([]);
    expect(spec?.environment?.patches).toEqual([{ type: "FromCompositeFieldPath", fromFieldPath: "spec.size" }]);
    expect(spec?.environment?.environmentConfigs).toHaveLength(2);
    expect(spec?.environment?.defaultData).toEqual({ region: "eu" });
  });

  test.each([
    ["{}", "ref: Required"],
    ["{ref: {}}", "ref.name: Required"],
    ["{ref: {name: ''}}", "ref.name: Required"],
    ["{type: Selector}", "selector: Required"],
    ["{type: Selector, selector: {}}", "selector.matchLabels: Required"],
    [
      "{type: Selector, selector: {maxMatch: 1, matchLabels: [{key: a, type: Value, value: b}]}}",
      "selector.maxMatch: Invalid",
    ],
    [
      "{type: Selector, selector: {mode: Some, matchLabels: [{key: a, type: Value, value: b}]}}",
      "selector.mode: Invalid",
    ],
    [
      "{type: Selector, selector: {mode: Multiple, maxMatch: -1, matchLabels: [{key: a, type: Value, value: b}]}}",
      "selector.maxMatch: Invalid",
    ],
    ["{type: Selector, selector: {matchLabels: [{}]}}", "selector.matchLabels[0].key: Required"],
    ["{type: Selector, selector: {matchLabels: [{key: a}]}}", "selector.matchLabels[0].valueFromFieldPath: Required"],
    ["{type: Selector, selector: {matchLabels: [{key: a, type: Value}]}}", "selector.matchLabels[0].value: Required"],
    ["{type: Selector, selector: {matchLabels: [{key: a, type: Moon}]}}", "selector.matchLabels[0].type: Invalid"],
    ["{type: Moon}", "type: Invalid"],
  ])("a source %s is rejected", (text, expected) => {
    expect(source(text).errors).toEqual([`${at}.${expected}`]);
  });

  test.each([
    [
      "environment: {patches: [{type: FromEnvironmentFieldPath, fromFieldPath: a}]}",
      "spec.environment.patches[0].type: Invalid",
    ],
    ["environment: {patches: [{type: PatchSet, patchSetName: p}]}", "spec.environment.patches[0].type: Invalid"],
    ["environment: {patches: [{}]}", "spec.environment.patches[0].fromFieldPath: Required"],
    ["environment: {policy: {resolve: Never}}", "spec.environment.policy.resolve: Invalid"],
    ["environment: {defaultData: []}", "spec.environment.defaultData: Invalid"],
    ["environment: x", "spec.environment: Invalid"],
  ])("%s is rejected", (text, expected) => {
    expect(checkSpec(text).errors).toEqual([expected]);
  });
});
