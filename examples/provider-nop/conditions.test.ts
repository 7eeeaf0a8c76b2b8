import { describe, expect, test } from "vitest";
import { conditionsAt } from "./conditions.ts";
import { milliseconds, readSpec } from "./nop-resource.ts";

const SPEC = readSpec({
  spec: {
    forProvider: {
      conditionAfter: [
        { time: "5s", conditionType: "Ready", conditionStatus: "True" },
        { time: "0s", conditionType: "Ready", conditionStatus: "False", conditionReason: "Creating" },
        { time: "1m", conditionType: "Ready", conditionStatus: "False", conditionReason: "Broken" },
      ],
    },
  },
});
const CREATED = Date.parse("2026-01-01T00:00:00Z");

const ready = (conditions: readonly { [key: string]: unknown }[]): unknown =>
  conditions.find((condition) => condition["type"] === "Ready");

describe("conditions of a NopResource", () => {
  test("start with those due at creation, and have the time of the next change", () => {
    const found = conditionsAt(SPEC, [], CREATED, CREATED);
    expect(ready(found.conditions)).toMatchObject({ status: "False", reason: "Creating" });
    expect(found).toMatchObject({ changed: true, ready: false, nextMs: 5_000 });
  });

  test("include Ready after its delay, in any order of the spec", () => {
    const found = conditionsAt(SPEC, [], CREATED, CREATED + 5_000);
    expect(ready(found.conditions)).toMatchObject({ status: "True", reason: "Available" });
    expect(found).toMatchObject({ ready: true, nextMs: 55_000 });
  });

  test("end with the last ones of the spec", () => {
    const found = conditionsAt(SPEC, [], CREATED, CREATED + 3_600_000);
    expect(ready(found.conditions)).toMatchObject({ status: "False", reason: "Broken" });
    expect(found).toMatchObject({ ready: false, nextMs: undefined });
  });

  test("do not change, time included, while none becomes due", () => {
    const { conditions } = conditionsAt(SPEC, [], CREATED, CREATED + 5_000);
    const later = conditionsAt(SPEC, conditions, CREATED, CREATED + 20_000);
    expect(later.changed).toBe(false);
    expect(later.conditions).toEqual(conditions);
  });

  test("keep the transition time if only the reason changes", () => {
    const before = conditionsAt(SPEC, [], CREATED, CREATED).conditions.map((one) =>
      one["type"] === "Ready" ? { ...one, reason: "Other" } : one,
    );
    const after = conditionsAt(SPEC, before, CREATED, CREATED + 1_000);
    expect(after.changed).toBe(true);
    expect(ready(after.conditions)).toMatchObject({ reason: "Creating", lastTransitionTime: "2026-01-01T00:00:00Z" });
  });
});

test.each([
  ["0s", 0],
  ["250ms", 250],
  ["1m30s", 90_000],
  ["1.5h", 5_400_000],
])("%s are %d milliseconds", (text, ms) => {
  expect(milliseconds(text)).toBe(ms);
});
