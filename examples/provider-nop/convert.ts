import { type JsonObject, objectAt, objectsAt, textAt } from "@xfn/json";

/** Names of a condition's fields in v1alpha1, and in v1beta1. */
const FIELDS = [
  ["time", "after"],
  ["conditionType", "type"],
  ["conditionStatus", "status"],
  ["conditionReason", "reason"],
] as const;

/**
 * Converts a NopResource from one version to the other. v1alpha1 has `conditionAfter`, as Crossplane's provider-nop;
 * v1beta1 has `conditions`. Each has all of the other, so that a conversion loses nothing.
 */
export function convert(object: JsonObject, apiVersion: string): JsonObject {
  if (object["apiVersion"] === apiVersion) return object;
  const toBeta = apiVersion.endsWith("/v1beta1");
  const spec = objectAt(object, "spec");
  const { conditionAfter, conditions, ...rest } = objectAt(spec, "forProvider");
  if ((toBeta ? conditionAfter : conditions) === undefined) return { ...object, apiVersion };
  const list = objectsAt(spec, "forProvider", toBeta ? "conditionAfter" : "conditions").map((condition) => {
    const renamed: JsonObject = {};
    for (const [alpha, beta] of FIELDS) {
      const value = condition[toBeta ? alpha : beta];
      if (value !== undefined) renamed[toBeta ? beta : alpha] = value;
    }
    return renamed;
  });
  const forProvider = { ...rest, [toBeta ? "conditions" : "conditionAfter"]: list };
  return { ...object, apiVersion, spec: { ...spec, forProvider } };
}

/** Answers a ConversionReview (Kubernetes, "Webhook conversion"). */
export function answerReview(review: JsonObject): JsonObject {
  const { apiVersion = null, kind = null } = review;
  const { uid = null } = objectAt(review, "request");
  const version = textAt(review, "request", "desiredAPIVersion") ?? "";
  const convertedObjects = objectsAt(review, "request", "objects").map((one) => convert(one, version));
  return { apiVersion, kind, response: { uid, convertedObjects, result: { status: "Success" } } };
}
