import type { JsonObject } from "@xfn/json";
import type { Reconciled } from "../../adapters/reconcile.ts";
import { child, list, type Rule } from "../../rule.ts";
import type { VectorCase } from "../../vector-file.ts";
import {
  ANNOTATION,
  dryRunFails,
  FILE,
  hasFunctions,
  isForeign,
  isNameless,
  isSame,
  lastDesired,
  outputs,
  referenced,
  renamed,
  runFails,
  xrOf,
} from "./case.ts";
import { observeLater } from "./observe-later.ts";
import { addReference, changed, merged, references, setReferences } from "./outcome.ts";
import { settle } from "./settle.ts";
import { rendered } from "./templates.ts";

// State that exists before a run, or that a run leaves.

/** Existing resources that no function desires. */
export const undesiredKept: Rule = {
  name: "undesired-resources-are-kept",
  file: FILE,
  reason:
    "With functions, an existing resource that no step desires is retained with its reference, unless undesiredResources is Delete. The reference deletes or forgets it.",
  applies: (vector) => hasFunctions(vector) && !runFails(vector) && referenced(vector).length > 0,
  outcome: (vector, recorded) =>
    changed(recorded, (outcome) => {
      for (const object of referenced(vector)) {
        if (isForeign(object, vector)) continue;
        if (!outcome.objects.some((one) => isSame(one, object))) outcome.objects.push(object);
        addReference(outcome, object);
      }
      observeLater(outcome, vector);
      const deletionFails = Object.keys(child(child(vector, "server"), "fail")).some((key) =>
        key.startsWith("delete "),
      );
      if (!deletionFails) return;
      settle(outcome, vector);
    }),
};

/** Without functions, objects that have lost their controller. */
export const uncontrolledKept: Rule = {
  name: "uncontrolled-objects-stay-referenced",
  file: FILE,
  reason:
    "The XR keeps its reference to an object that no template desires and that has lost its controller reference, and warns. The reference forgets the object.",
  applies: (vector) => !hasFunctions(vector) && uncontrolled(vector).length > 0,
  outcome: (vector, recorded) =>
    changed(recorded, (outcome) => {
      for (const object of uncontrolled(vector)) addReference(outcome, object);
    }),
};

/** Without functions, details that are published and that no template yields. */
export const detailsComplete: Rule = {
  name: "details-of-templates-are-complete",
  file: FILE,
  reason:
    "Templates alone are a complete statement: a detail that no template names any more is removed. The reference publishes it again.",
  applies: (vector) => !hasFunctions(vector) && Object.keys(publishedBefore(vector)).length > 0,
  outcome: (vector, recorded) => changed(recorded, (outcome) => settle(outcome, vector)),
};

/** An object that moves to another entry. */
export const renamedInPlace: Rule = {
  name: "renamed-in-place",
  file: FILE,
  reason:
    "An object that is desired under another entry's name moves to that entry. The reference deletes and creates it again.",
  applies: (vector) => hasFunctions(vector) && !runFails(vector) && renamed(vector).length > 0,
  outcome: (vector, recorded) =>
    changed(recorded, (outcome) => {
      for (const object of renamed(vector)) {
        const index = outcome.objects.findIndex((one) => isSame(one, object));
        const { creationTimestamp: _, uid: __, ...metadata } = child(outcome.objects[index], "metadata");
        const kept = merged(object, { ...outcome.objects[index], metadata });
        outcome.objects[index] = kept;
        for (const pass of outcome.passes.slice(1)) {
          for (const input of pass.functionInputs) {
            for (const entry of list(child(input as JsonObject, "observed")["resources"])) {
              if (isSame(child(entry, "resource"), kept)) entry["resource"] = kept;
            }
          }
        }
      }
    }),
};

/** Resources without a name. */
export const namesFirst: Rule = {
  name: "names-are-ours",
  file: FILE,
  reason:
    "A resource without a name gets one from the XR's UID and its entry. The reference asks the server for a name, or records none and never finds the object again.",
  applies: (vector) => !runFails(vector) && (isNameless(vector) || dryRunFails(vector)),
  outcome: (vector, recorded) =>
    changed(recorded, (outcome) => {
      setReferences(
        outcome,
        references(outcome).filter(({ name }) => name !== undefined),
      );
      // The reference creates one in each pass.
      outcome.objects = outcome.objects.filter(
        (object, index) => !isNumbered(object) || isFirst(object, index, outcome),
      );
      for (const object of outcome.objects)
        if (!isSame(object, xrOf(vector)) && !isForeign(object, vector)) addReference(outcome, object);
      if (!dryRunFails(vector)) return;
      // A resource that cannot be created fails the reconcile.
      for (const { resource } of lastDesired(vector)) addReference(outcome, resource);
      for (const pass of outcome.passes) Object.assign(pass, { synced: "False", results: [] });
    }),
};

/** Status that functions set. */
export const statusPersisted: Rule = {
  name: "composite-status-is-persisted",
  file: FILE,
  reason: "The XR's status that functions set is stored, and they observe it in the next run. The reference drops it.",
  applies: (vector) =>
    hasFunctions(vector) && !runFails(vector) && outputs(vector).some((pass) => setsStatus(pass, vector)),
  outcome: (vector, recorded) =>
    changed(recorded, (outcome) => {
      let status: JsonObject = child(xrOf(vector), "status");
      const changedBefore = new Set<string>();
      for (const [index, pass] of outcome.passes.entries()) {
        for (const input of pass.functionInputs) {
          const observed = child(child(child(input as JsonObject, "observed"), "composite"), "resource");
          observed["status"] = merged(child(observed, "status"), status);
        }
        const first = child(child(child(pass.functionInputs[0] as JsonObject, "desired"), "composite"), "resource");
        const given = child(first, "status");
        const returned = statusOf(outputs(vector)[index] ?? []);
        // A field that a function changed is desired only while a function returns it.
        first["status"] = Object.fromEntries(Object.entries(given).filter(([key]) => !changedBefore.has(key)));
        for (const [key, value] of Object.entries(returned))
          if (JSON.stringify(value) !== JSON.stringify(given[key])) changedBefore.add(key);
        status = merged(status, returned);
      }
      const xr = outcome.objects.find((one) => isSame(one, xrOf(vector)));
      if (xr !== undefined) xr["status"] = merged(child(xr, "status"), status);
    }),
};

function uncontrolled(vector: VectorCase): JsonObject[] {
  const desired = rendered(vector).map(([, resource]) => resource);
  return referenced(vector).filter((object) => {
    const owners = list(child(object, "metadata")["ownerReferences"]);
    return !owners.some(({ controller }) => controller === true) && !desired.some((one) => isSame(one, object));
  });
}

/** The details in the XR's Secret. */
function publishedBefore(vector: VectorCase): JsonObject {
  const { namespace, name } = child(child(xrOf(vector), "spec"), "writeConnectionSecretToRef");
  return child(child(child(vector, "server"), "secrets"), `${String(namespace)}/${String(name)}`);
}

function isNumbered(object: JsonObject): boolean {
  return /-\d{5}$/.test(String(child(object, "metadata")["name"]));
}

function isFirst(object: JsonObject, index: number, { objects }: Reconciled): boolean {
  const entry = (one: JsonObject): unknown => child(child(one, "metadata"), "annotations")[ANNOTATION];
  return objects.findIndex((one) => isNumbered(one) && entry(one) === entry(object)) === index;
}

function setsStatus(pass: readonly JsonObject[], vector: VectorCase): boolean {
  const { conditions: _, ...before } = child(xrOf(vector), "status");
  return JSON.stringify(merged(before, statusOf(pass))) !== JSON.stringify(before);
}

function statusOf(pass: readonly JsonObject[]): JsonObject {
  const { conditions: _, ...status } = child(
    child(child(child(pass.at(-1), "desired"), "composite"), "resource"),
    "status",
  );
  return status;
}
