import type { JsonObject } from "@xfn/functionio";
import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { yieldFields } from "./yield-fields.ts";

/** A composite on which the Composition has set these labels. */
const composite = (labels: Record<string, string>, composed: readonly string[]): LiveObject => {
  const fields: JsonObject = Object.fromEntries(composed.map((key) => [`f:${key}`, {}]));
  const managedFields = [
    {
      manager: "apiextensions.crossplane.io/composite",
      operation: "Apply",
      fieldsV1: { "f:metadata": { "f:labels": fields } },
    },
  ];
  return {
    apiVersion: "example.org/v1",
    kind: "XThing",
    metadata: { name: "a", uid: "a", resourceVersion: "1", labels, managedFields },
  };
};

test("a claim yields a label that the Composition has set to another value, and no other", () => {
  const known = composite({ team: "composed", stage: "dev", same: "x" }, ["team", "same"]);
  expect(yieldFields({ team: "a", stage: "prod", same: "x", new: "y" }, known, "metadata", "labels")).toEqual({
    own: { stage: "prod", same: "x", new: "y" },
    yielded: ["metadata.labels.team"],
  });
});

test("a claim without a composite yields nothing", () => {
  expect(yieldFields({ team: "a" }, undefined, "metadata", "labels")).toEqual({ own: { team: "a" }, yielded: [] });
});
