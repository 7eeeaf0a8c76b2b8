import { expect, test } from "vitest";
import { checkSpec } from "../../testing/check-spec.ts";

const RESOURCES = "resources: [{name: a, base: {apiVersion: v1, kind: ConfigMap}}]\n";

test.each([
  ["canary: {percent: 10}", { shadowComposites: 0, canary: { percent: 10 }, durationMs: 300_000, maxFailures: 0 }],
  [
    "shadow: {composites: 3}, canary: {matchLabels: {tier: a}}, analysis: {duration: 1m30s, maxFailures: 2}",
    { shadowComposites: 3, canary: { matchLabels: { tier: "a" } }, durationMs: 90_000, maxFailures: 2 },
  ],
])("rollout: {%s}", (rollout, expected) => {
  const { spec, errors, warnings } = checkSpec(`${RESOURCES}rollout: {${rollout}}\n`);
  expect([...errors, ...warnings]).toEqual([]);
  expect(spec?.rollout).toEqual(expected);
});

test.each([
  ["shadow: {composites: 3}", "canary"],
  ["canary: {}", "canary.percent"],
  ["canary: {percent: 10, matchLabels: {a: b}}", "canary.percent"],
  ["canary: {percent: 0}", "canary.percent"],
  ["canary: {percent: 101}", "canary.percent"],
  ["canary: {matchLabels: {}}", "canary.matchLabels"],
  ["canary: {percent: 10}, shadow: {composites: 21}", "shadow.composites"],
  ["canary: {percent: 10}, analysis: {duration: 0s}", "analysis.duration"],
  ["canary: {percent: 10}, analysis: {duration: 25h}", "analysis.duration"],
  ["canary: {percent: 10}, analysis: {maxFailures: -1}", "analysis.maxFailures"],
])("rollout: {%s} is refused", (rollout, path) => {
  const { errors } = checkSpec(`${RESOURCES}rollout: {${rollout}}\n`);
  expect(errors.join("\n")).toContain(`rollout.${path}`);
});
