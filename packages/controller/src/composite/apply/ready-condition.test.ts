import type { ObservedResource } from "@xfn/functionio";
import type { JsonObject } from "@xfn/json";
import { expect, test } from "vitest";
import { readyCondition } from "./ready-condition.ts";

const entry = (name: string, ...conditions: JsonObject[]): ObservedResource => ({
  name,
  resource: { apiVersion: "v1", kind: "Widget", metadata: { name }, status: { conditions } },
});
const condition = (type: string, status: string, message: string): JsonObject => ({
  type,
  status,
  reason: "R",
  message,
});
const messageOf = (...resources: ObservedResource[]): string | undefined =>
  readyCondition(
    resources.map(({ name }) => name),
    resources,
  ).message;

test("the condition Synced of a resource comes before Ready, which only follows from it", () => {
  const resource = entry("a", condition("Ready", "False", "not available"), condition("Synced", "False", "denied"));
  expect(messageOf(resource)).toMatch(/Widget a.*Synced.*denied/);
  expect(messageOf(resource)).not.toContain("not available");
});

test("only conditions with the status False are a reason", () => {
  const resource = entry("a", condition("Synced", "True", "applied"), condition("Ready", "Unknown", "starting"));
  expect(messageOf(resource)).toBe("Unready resources: a");
});

test("ten entries are named, three with their reasons, each of at most 500 characters", () => {
  const resources = Array.from({ length: 12 }, (_, index) =>
    entry(`e${index}`, condition("Ready", "False", "m".repeat(10_000))),
  );
  const reasons = messageOf(...resources)?.split("; ") ?? [];
  const names = reasons.pop();
  expect(names).toBe("Unready resources: e0, e1, e2, e3, e4, e5, e6, e7, e8, e9, and 2 more");
  expect(reasons.map((reason) => reason.replace(/^.*: /, "").length)).toEqual([500, 500, 500]);
});
