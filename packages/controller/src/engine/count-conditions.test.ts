import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { countConditions } from "./count-conditions.ts";

const KIND = { group: "example.org", version: "v1", kind: "XApp", plural: "xapps", namespaced: false };

function app(status?: JsonObject): LiveObject {
  const metadata = { name: "a", uid: "u", resourceVersion: "1" };
  return { apiVersion: "example.org/v1", kind: "XApp", metadata, ...(status && { status }) };
}
const conditions = (...all: readonly (readonly [type: string, status: string])[]): JsonObject => ({
  conditions: all.map(([type, status]) => ({ type, status, reason: "R" })),
});

test("objects are counted by condition and status, without conditions of functions", () => {
  const objects = [
    app(conditions(["Ready", "True"], ["Synced", "True"], ["FromFunction", "True"])),
    app(conditions(["Ready", "False"], ["Synced", "True"], ["Responsive", "False"])),
    app(),
    app({ conditions: "none" }),
    app({ conditions: [null, "x", {}] }),
  ];
  expect(countConditions(KIND, objects)).toEqual([
    { kind: "XApp.example.org", condition: "Ready", status: "True", count: 1 },
    { kind: "XApp.example.org", condition: "Synced", status: "True", count: 2 },
    { kind: "XApp.example.org", condition: "Ready", status: "False", count: 1 },
    { kind: "XApp.example.org", condition: "Responsive", status: "False", count: 1 },
  ]);
});
