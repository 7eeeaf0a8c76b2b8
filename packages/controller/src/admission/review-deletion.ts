import { isObject, type JsonObject, objectAt, textAt } from "@xfn/json";
import type { LiveObject, ObjectReference } from "@xfn/kubernetes";
import { describeReference, referenceTo } from "../objects/references.ts";
import { causeOf } from "../usage/used-object.ts";

/** The deletion of an object, of which the API server asks. */
export interface ReviewedDeletion {
  readonly uid: string;
  readonly object: ObjectReference;
  readonly propagation: string;
  readonly isDryRun: boolean;
}

/** Reads an AdmissionReview (Kubernetes, "Dynamic Admission Control"). @returns undefined if it is not of a deletion */
export function readReview(review: unknown): ReviewedDeletion | undefined {
  const request = isObject(review) ? objectAt(review, "request") : {};
  const { uid, operation, dryRun, oldObject } = request;
  if (typeof uid !== "string" || operation !== "DELETE" || !isObject(oldObject)) return undefined;
  const object = referenceTo(oldObject);
  if (object.apiVersion === "" || object.kind === "" || object.name === "") return undefined;
  const propagation = textAt(request, "options", "propagationPolicy") ?? "Background";
  return { uid, object, propagation, isDryRun: dryRun === true };
}

/** The answer to a review: a denial if usages protect the object. */
export function answerTo(uid: string, usages: readonly LiveObject[]): JsonObject {
  return {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    response: { uid, allowed: usages.length === 0, ...denial(usages) },
  };
}

function denial(usages: readonly LiveObject[]): JsonObject {
  const [first] = usages;
  if (first === undefined) return {};
  const count = usages.length === 1 ? "1 usage" : `${usages.length} usages`;
  const message = `the object is in use by ${count}, including ${describeReference(referenceTo(first))} ${causeOf(first)}`;
  return { status: { code: 409, reason: "InUse", message: message.trimEnd() } };
}
