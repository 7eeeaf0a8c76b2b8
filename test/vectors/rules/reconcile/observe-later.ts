import { isObject, type JsonObject } from "@xfn/json";
import type { Reconciled } from "../../adapters/reconcile.ts";
import { child, list } from "../../rule.ts";
import type { VectorCase } from "../../vector-file.ts";
import { ANNOTATION, isForeign, isSame, xrOf } from "./case.ts";
import { references } from "./outcome.ts";
import { detailsIn } from "./settle.ts";

/** Makes later passes observe the objects and references that an outcome has, if the reference has others. */
export function observeLater(outcome: Reconciled, vector: VectorCase): void {
  for (const pass of outcome.passes.slice(1)) {
    for (const input of pass.functionInputs) observe(child(input as JsonObject, "observed"), outcome, vector);
    // Later functions get what the first one returned, and the vector has recorded that.
    const desired = child(pass.functionInputs[0] as JsonObject, "desired");
    setReferences(desired, outcome);
    for (const { name, resource } of list(desired["resources"])) {
      const object = outcome.objects.find((one) => entryOf(one) === name && isOwn(one, outcome, vector));
      if (object !== undefined && isObject(resource))
        child(resource, "metadata")["name"] = child(object, "metadata")["name"] ?? null;
    }
  }
}

function observe(observed: JsonObject, outcome: Reconciled, vector: VectorCase): void {
  setReferences(observed, outcome);
  const resources = list(observed["resources"]);
  for (const object of outcome.objects) {
    const name = entryOf(object);
    if (name === undefined || !isOwn(object, outcome, vector)) continue;
    if (resources.some((one) => isSame(child(one, "resource"), object))) continue;
    const details = [...detailsIn(object, vector)].map(([name, value]): JsonObject => ({ name, value }));
    resources.push({ name, resource: object, connectionDetails: details.toSorted(byName) });
  }
  observed["resources"] = resources;
}

function setReferences(state: JsonObject, outcome: Reconciled): void {
  const xr = child(child(state, "composite"), "resource");
  xr["spec"] = { ...child(xr, "spec"), resourceRefs: references(outcome) };
}

function isOwn(object: JsonObject, outcome: Reconciled, vector: VectorCase): boolean {
  if (isSame(object, xrOf(vector)) || isForeign(object, vector)) return false;
  return references(outcome).some(
    ({ kind, name }) => kind === object["kind"] && name === child(object, "metadata")["name"],
  );
}

function entryOf(object: JsonObject): JsonObject[string] | undefined {
  return child(child(object, "metadata"), "annotations")[ANNOTATION];
}

function byName(a: JsonObject, b: JsonObject): number {
  return String(a["name"]) < String(b["name"]) ? -1 : 1;
}
