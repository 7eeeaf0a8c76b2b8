import { isObject, type JsonObject, type JsonValue } from "@xfn/json";
import { child, type Rule } from "../../rule.ts";
import type { VectorCase } from "../../vector-file.ts";
import { FILE, objectsOf, xrOf } from "./case.ts";
import { changed } from "./outcome.ts";

const LABELS = ["crossplane.io/claim-name", "crossplane.io/claim-namespace"];

/** XRs that no claim has. */
export const claimLabels: Rule = {
  name: "claim-labels-need-a-claim",
  file: FILE,
  reason:
    "Resources of an XR without a claim have no labels of a claim, as in Crossplane 2. The reference sets empty ones.",
  applies: (vector) => objectsOf(vector).length > 0 && unclaimed(vector).length > 0,
  outcome: (vector, recorded) =>
    changed(recorded, (outcome) => {
      outcome.objects = outcome.objects.map((object) => without(unclaimed(vector), object));
      for (const pass of outcome.passes)
        pass.functionInputs = pass.functionInputs.map((input) => ({
          ...(input as JsonObject),
          observed: without(unclaimed(vector), child(input as JsonObject, "observed")),
        }));
    }),
};

function unclaimed(vector: VectorCase): string[] {
  const labels = child(child(xrOf(vector), "metadata"), "labels");
  return LABELS.filter((label) => labels[label] === undefined);
}

/** Drops empty labels of the object, and of the objects in it. */
function without(labels: readonly string[], object: JsonObject): JsonObject {
  const kept = Object.entries(object).filter(([key, value]) => !(value === "" && labels.includes(key)));
  return Object.fromEntries(kept.map(([key, value]) => [key, inside(labels, value)]));
}

function inside(labels: readonly string[], value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((one) => inside(labels, one));
  return isObject(value) ? without(labels, value) : value;
}
