import { expect, test } from "vitest";
import { withReady } from "./package-conditions.ts";

const INSTALLED = { type: "Installed", status: "True", reason: "ActivePackageRevision" } as const;
const UNHEALTHY = { type: "Healthy", status: "False", reason: "UnhealthyPackageRevision", message: "why" } as const;

test("Ready repeats the first condition that is not true", () => {
  expect(withReady([INSTALLED, UNHEALTHY])).toEqual([INSTALLED, UNHEALTHY, { ...UNHEALTHY, type: "Ready" }]);
  const unknown = { type: "Healthy", status: "Unknown", reason: "UnknownPackageRevisionHealth" } as const;
  expect(withReady([INSTALLED, unknown])).toContainEqual({ ...unknown, type: "Ready" });
});

test("Ready is true if all conditions are", () => {
  const ready = { type: "Ready", status: "True", reason: "Available" };
  expect(withReady([INSTALLED, { ...UNHEALTHY, status: "True" }])).toContainEqual(ready);
});
