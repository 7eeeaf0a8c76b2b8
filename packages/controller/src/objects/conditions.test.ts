import type { JsonObject, JsonValue } from "@xfn/json";
import { expect, test } from "vitest";
import { conditionOf, withConditions } from "./conditions.ts";

const NOW = Date.parse("2026-01-02T03:04:05.678Z");
const BEFORE = "2026-01-01T00:00:00Z";
const CURRENT = [
  { type: "Other", status: "True", reason: "Kept", lastTransitionTime: BEFORE },
  { type: "Synced", status: "True", reason: "ReconcileSuccess", lastTransitionTime: BEFORE },
];

const withCurrent = (conditions: JsonValue, generation?: number): JsonObject => ({
  metadata: { name: "a", ...(generation !== undefined && { generation }) },
  status: { conditions },
});

test("a condition has the generation of its object, and a new generation is a change", () => {
  const synced = { type: "Synced", status: "True", reason: "ReconcileSuccess" } as const;
  const conditions = withConditions(withCurrent(CURRENT, 3), [synced], NOW);
  expect(conditions).toEqual([CURRENT[0], { ...CURRENT[1], observedGeneration: 3 }]);
  expect(withConditions(withCurrent(conditions ?? [], 3), [synced], NOW)).toBeUndefined();
  expect(withConditions(withCurrent(conditions ?? [], 4), [synced], NOW)?.[1]).toMatchObject({ observedGeneration: 4 });
});

test("a new condition is appended, with the time in seconds", () => {
  expect(withConditions(withCurrent(CURRENT), [{ type: "Ready", status: "False", reason: "Creating" }], NOW)).toEqual([
    ...CURRENT,
    { type: "Ready", status: "False", reason: "Creating", lastTransitionTime: "2026-01-02T03:04:05Z" },
  ]);
});

test("the transition time changes only with the status", () => {
  const same = withConditions(
    withCurrent(CURRENT),
    [{ type: "Synced", status: "True", reason: "Again", message: "m" }],
    NOW,
  );
  expect(same?.[1]).toMatchObject({ reason: "Again", message: "m", lastTransitionTime: BEFORE });
  const other = withConditions(withCurrent(CURRENT), [{ type: "Synced", status: "False", reason: "Again" }], NOW);
  expect(other?.[1]).toMatchObject({ lastTransitionTime: "2026-01-02T03:04:05Z" });
});

test("an equal condition is not a change", () => {
  expect(
    withConditions(withCurrent(CURRENT), [{ type: "Synced", status: "True", reason: "ReconcileSuccess" }], NOW),
  ).toBeUndefined();
});

test("messages are shortened, and invalid conditions are dropped", () => {
  const [condition] =
    withConditions(
      withCurrent("x"),
      [{ type: "Synced", status: "False", reason: "R", message: "m".repeat(10_000) }],
      NOW,
    ) ?? [];
  expect((condition as { message: string }).message.length).toBeLessThan(5000);
  expect(conditionOf({ status: { conditions: [5] } }, "Synced")).toBeUndefined();
});
