import { expect, test } from "vitest";
import { answerReview, convert } from "./convert.ts";

const ALPHA = {
  apiVersion: "nop.crossplane.io/v1alpha1",
  kind: "NopResource",
  metadata: { name: "a" },
  spec: {
    forProvider: {
      conditionAfter: [{ time: "5s", conditionType: "Ready", conditionStatus: "True", conditionReason: "Available" }],
      deleteAfter: "1s",
    },
    writeConnectionSecretToRef: { name: "a", namespace: "b" },
  },
};
const BETA = {
  ...ALPHA,
  apiVersion: "nop.crossplane.io/v1beta1",
  spec: {
    ...ALPHA.spec,
    forProvider: {
      deleteAfter: "1s",
      conditions: [{ after: "5s", type: "Ready", status: "True", reason: "Available" }],
    },
  },
};

test("a conversion renames fields, and loses nothing in either direction", () => {
  expect(convert(ALPHA, BETA.apiVersion)).toEqual(BETA);
  expect(convert(BETA, ALPHA.apiVersion)).toEqual(ALPHA);
  expect(convert(ALPHA, ALPHA.apiVersion)).toBe(ALPHA);
  const empty = { ...ALPHA, spec: { forProvider: {} } };
  expect(convert(empty, BETA.apiVersion)).toEqual({ ...empty, apiVersion: BETA.apiVersion });
});

test("a review gets all objects in the version that it asks for", () => {
  const request = { uid: "1", desiredAPIVersion: BETA.apiVersion, objects: [ALPHA, BETA] };
  expect(answerReview({ apiVersion: "apiextensions.k8s.io/v1", kind: "ConversionReview", request })).toEqual({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "ConversionReview",
    response: { uid: "1", convertedObjects: [BETA, BETA], result: { status: "Success" } },
  });
});
