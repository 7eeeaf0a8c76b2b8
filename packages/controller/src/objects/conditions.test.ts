import { expect, test } from "vitest";
import { conditionOf, withConditions } from "./conditions.ts";

const NOW = Date.parse("2026-01-02T03:04:05.678Z");
const BEFORE = "2026-01-01T00:00:00Z";
const CURRENT = [
  { type: "Other", status: "True", reason: "Kept", lastTransitionTime: BEFORE },
  { type: "Synced", status: "True", reason: "ReconcileSuccess", lastTransitionTime: BEFORE },
];

test("a new condition is appended, with the time in seconds", () => {
  expect(withConditions(CURRENT, [{ type: "Ready", status: "False", reason: "Creating" }], NOW)).toEqual([
    ...CURRENT,
    { type: "Ready", status: "False", reason: "Creating", lastTransitionTime: "2026-01-02T03:04:05Z" },
  ]);
});

test("the transition time changes only with the status", () => {
  const same = withConditions(CURRENT, [{ type: "Synced", status: "True", reason: "Again", message: "m" }], NOW);
  expect(same?.[1]).toMatchObject({ reason: "Again", message: "m", lastTransitionTime: BEFORE });
  const other = withConditions(CURRENT, [{ type: "Synced", status: "False", reason: "Again" }], NOW);
  expect(other?.[1]).toMatchObject({ lastTransitionTime: "2026-01-02T03:04:05Z" });
});

test("an equal condition is no change", () => {
  expect(
    withConditions(CURRENT, [{ type: "Synced", status: "True", reason: "ReconcileSuccess" }], NOW),
  ).toBeUndefined();
});

test("messages are shortened, and invalid conditions are dropped", () => {
  const [condition] =
    withConditions("x", [{ type: "Synced", status: "False", reason: "R", message: "m".repeat(10_000) }], NOW) ?? [];
  expect((condition as { message: string }).message.length).toBeLessThan(5000);
  expect(conditionOf({ status: { conditions: [5] } }, "Synced")).toBeUndefined();
});
