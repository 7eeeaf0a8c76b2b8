import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import pico from "picocolors";
import { expect, test } from "vitest";
import { text } from "./rollout-command.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");

const revision = (rollout: JsonObject): LiveObject => ({
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "CompositionRevision",
  metadata: { name: "databases-1", uid: "u", resourceVersion: "1" },
  spec: { revision: 2 },
  status: { rollout },
});
const report = (rollout: JsonObject): string => text("databases", revision(rollout), pico.createColors(false), NOW);

test("a canary has its composite resources, and the time left", () => {
  const canary = { composites: ["shop/a", "shop/b"], omitted: 3 };
  const shown = report({ phase: "Canary", message: "watches it", canary, canaryUntil: "2026-01-01T00:03:12Z" });
  expect(shown).toContain("  in the canary: shop/a, shop/b and 3 more\n  time left: 3m12s\n");
});

test("a canary whose time is over has none left, and a complete rollout has no canary", () => {
  const canary = { composites: ["a"] };
  expect(report({ phase: "Canary", canary, canaryUntil: "2025-12-31T23:59:59Z" })).not.toContain("time left");
  expect(report({ phase: "Complete", canary, canaryUntil: "2026-01-01T00:03:12Z" })).not.toContain("canary");
});

test("a failure stands once", () => {
  const shadow = [
    { name: "a", error: "InvalidDesired: no such field" },
    { name: "b", error: "another" },
  ];
  const shown = report({ phase: "RolledBack", message: "failed in shadow: a: InvalidDesired: no such field", shadow });
  expect(shown.split("InvalidDesired")).toHaveLength(2);
  expect(shown).toContain("in shadow, a failed\n");
  expect(shown).toContain("in shadow, b failed: another\n");
});

test("a terminal has colours, and only for what they mean", () => {
  const shadow = [{ name: "a", differences: [{ resource: "r", path: "spec.a[0]", applied: "1", desired: "2" }] }];
  const painted = text("databases", revision({ phase: "Canary", message: "m", shadow }), pico.createColors(true), NOW);
  expect(painted).toContain("\u001b[33mCanary\u001b[39m");
  expect(painted).toContain("r spec.a[0]: \u001b[31m1\u001b[39m -> \u001b[32m2\u001b[39m");
});
