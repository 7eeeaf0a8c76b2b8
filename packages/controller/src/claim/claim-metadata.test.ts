import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { claimLabels, wantedAnnotations, wantedLabels } from "./claim-metadata.ts";

const object = (labels: Record<string, string>, annotations: Record<string, string> = {}): LiveObject => ({
  apiVersion: "example.org/v1",
  kind: "Thing",
  metadata: { name: "a", namespace: "b", uid: "c", resourceVersion: "1", labels, annotations },
});

test.each([
  "crossplane.io/composite",
  "crossplane.io/composition-resource-name",
  "crossplane.io/paused",
  "kubernetes.io/metadata.name",
  "kubectl.kubernetes.io/last-applied-configuration",
  "node-role.kubernetes.io/x",
  "x.k8s.io/y",
])("%s is not copied to the composite", (key) => {
  expect(wantedLabels(object({ [key]: "x" }))).toEqual({});
  expect(wantedAnnotations(object({}, { [key]: "x" }), undefined)).toEqual({});
});

test.each(["team", "example.org/team", "notkubernetes.io/x", "my-k8s.io/x"])("%s is copied to the composite", (key) => {
  expect(wantedLabels(object({ [key]: "x" }))).toMatchObject({ [key]: "x" });
  expect(wantedAnnotations(object({}, { [key]: "x" }), undefined)).toEqual({ [key]: "x" });
});

test("a claim cannot impersonate another", () => {
  const labels = { "crossplane.io/claim-name": "other", "crossplane.io/claim-namespace": "other" };
  expect(wantedLabels(object(labels))).toEqual({});
  expect(claimLabels(object(labels))).toEqual({
    "crossplane.io/claim-name": "a",
    "crossplane.io/claim-namespace": "b",
  });
});

const EXTERNAL_NAME = "crossplane.io/external-name";

test.each<[string, string | undefined, string | undefined, boolean, string | undefined]>([
  ["is the claim's while the composite has none", "asked", undefined, false, "asked"],
  ["is the claim's while that of the composite is empty", "asked", "", false, "asked"],
  ["is not set to an empty text", "", undefined, false, undefined],
  ["stays the composite's, even if the claim asks for another", "asked", "has", false, undefined],
  ["stays the composite's if it was copied from the claim", "asked", "has", true, "has"],
])("the external name of the composite %s", (_, asked, has, isOurs, expected) => {
  const annotations = (name: string | undefined): Record<string, string> =>
    name === undefined ? {} : { [EXTERNAL_NAME]: name };
  const composite = object({}, annotations(has));
  const fieldsV1 = { "f:metadata": { "f:annotations": { [`f:${EXTERNAL_NAME}`]: {} } } };
  if (isOurs) composite.metadata["managedFields"] = [{ manager: FIELD_MANAGERS.claim, operation: "Apply", fieldsV1 }];
  expect(wantedAnnotations(object({}, annotations(asked)), composite)).toEqual(annotations(expected));
});
