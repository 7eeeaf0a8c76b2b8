import { isObject, type JsonObject, type KubernetesObject } from "@xfn/json";
import { child, list, type Rule } from "../../rule.ts";
import type { VectorCase } from "../../vector-file.ts";
import {
  ANNOTATION,
  type Desired,
  FILE,
  hasFunctions,
  hasUnnamedTemplates,
  isForeign,
  isSame,
  isUnannotated,
  lastDesired,
  objectsOf,
  referenced,
  runFails,
  xrOf,
} from "./case.ts";
import { observeLater } from "./observe-later.ts";
import { addReference, changed, identified, merged, references, setReferences } from "./outcome.ts";
import { failingChecks, settle } from "./settle.ts";
import { existing, failedNames, named, rendered } from "./templates.ts";

// Templates, and the objects of entries.

/** A failed template whose resource a function desires. */
export const repairs: Rule = {
  name: "functions-repair-templates",
  file: FILE,
  reason: "A resource whose template fails is created if a function desires it. In the reference it remains failed.",
  applies: (vector) => hasFunctions(vector) && !runFails(vector) && repaired(vector).length > 0,
  outcome: (vector, recorded) =>
    changed(recorded, (outcome) => {
      for (const { name, resource } of repaired(vector)) {
        const there = existing(vector).get(name)?.metadata?.name;
        const desired = named({
          ...resource,
          metadata: { ...resource.metadata, ...(there !== undefined && { name: there }) },
        });
        const index = outcome.objects.findIndex((one) => isSame(one, desired));
        const { status: _, ...object } = identified(name, desired, vector);
        if (index === -1) outcome.objects.push(object);
        else outcome.objects[index] = merged(outcome.objects[index] ?? {}, object);
        addReference(outcome, desired);
      }
      observeLater(outcome, vector);
      settle(outcome, vector);
    }),
};

/** Templates without names, and objects without the name of their entry. */
export const namedEntries: Rule = {
  name: "entries-are-found-by-name",
  file: FILE,
  reason:
    "Templates without names are called template-<index>, and objects are found by the names of their entries. While the XR controls an object without one, nothing is created. Without names the reference uses positions, and skips the functions.",
  applies: (vector) => !hasFunctions(vector) && (hasUnnamedTemplates(vector) || referenced(vector).some(isUnannotated)),
  outcome: (vector, recorded) =>
    changed(recorded, (outcome) => {
      if (referenced(vector).some(isUnannotated)) {
        outcome.objects = objectsOf(vector);
        for (const pass of outcome.passes)
          Object.assign(pass, { synced: "False", ready: "none", results: [], published: {} });
        return;
      }
      const xr = outcome.objects.filter((one) => isSame(one, xrOf(vector)));
      const there = referenced(vector);
      outcome.objects = [...xr];
      setReferences(outcome, []);
      for (const object of there) addReference(outcome, object);
      for (const [name, resource] of rendered(vector)) {
        const object = identified(name, resource, vector);
        outcome.objects.push(object);
        addReference(outcome, object);
      }
      for (const pass of outcome.passes) {
        pass.ready = "False";
        pass.results = pass.results.map((one) =>
          one.replace(/composed resource "(\d+)"/, 'composed resource "template-$1"'),
        );
      }
    }),
};

/** With functions, existing objects without the name of an entry. */
export const functionsAllTheSame: Rule = {
  name: "functions-run-all-the-same",
  file: FILE,
  reason:
    "An object without the name of its entry is left alone, and the functions run. The reference then uses positions, and skips the functions.",
  applies: (vector) => hasFunctions(vector) && referenced(vector).some(isUnannotated),
  // The vectors do not record the answers in this case.
  outcome: (vector, recorded) =>
    changed(recorded, (outcome) => {
      outcome.objects = objectsOf(vector);
    }),
};

/** Two objects for one entry. */
export const firstOfTwo: Rule = {
  name: "first-of-two-objects-of-an-entry",
  file: FILE,
  reason: "Of two objects for one entry the first is used, and the other left alone. The reference uses the last.",
  applies: (vector) => hasFunctions(vector) && doubles(vector).length > 0,
  outcome: (vector, recorded) =>
    changed(recorded, (outcome) => {
      for (const [name, object] of doubles(vector)) {
        for (const { functionInputs } of outcome.passes) {
          for (const input of functionInputs) {
            const observed = list(child(input as JsonObject, "observed")["resources"]);
            for (const entry of observed) if (entry["name"] === name) entry["resource"] = object;
          }
        }
      }
    }),
};

/** Failed templates in the input of functions. */
export const failedTemplates: Rule = {
  name: "failed-templates-are-not-passed-on",
  file: FILE,
  reason:
    "Functions do not get the partial result of a failed template, and the XR is not ready. The reference passes it on as if it were complete.",
  applies: (vector) => hasFunctions(vector) && failedNames(vector).length > 0,
  outcome: (vector, recorded) =>
    changed(recorded, (outcome) => {
      const names = failedNames(vector);
      for (const { functionInputs } of outcome.passes) {
        const first = functionInputs[0];
        if (!isObject(first)) continue;
        const desired = child(first, "desired");
        desired["resources"] = list(desired["resources"]).filter(({ name }) => !names.includes(String(name)));
      }
      const desired = lastDesired(vector).map(({ name }) => name);
      if (!names.every((name) => desired.includes(name))) for (const pass of outcome.passes) pass.ready = "False";
    }),
};

/** Without functions, the objects of failed templates. */
export const failedKept: Rule = {
  name: "failed-templates-keep-their-objects",
  file: FILE,
  reason:
    "If a template fails, the XR keeps its reference to the object, and the template yields no connection details. The reference forgets the object, and publishes the details.",
  applies: (vector) => !hasFunctions(vector) && failedNames(vector).length > 0,
  outcome: (vector, recorded) =>
    changed(recorded, (outcome) => {
      const objects = existing(vector);
      for (const name of failedNames(vector)) {
        const object = objects.get(name);
        if (object !== undefined) addReference(outcome, object);
      }
      settle(outcome, vector);
    }),
};

/** An entry whose object a function gives another name. */
export const objectKept: Rule = {
  name: "entries-keep-their-objects",
  file: FILE,
  reason:
    "An existing object keeps its name, even if a function gives its entry another one. The reference creates a second object and forgets the first.",
  applies: (vector) => hasFunctions(vector) && !runFails(vector) && otherwiseNamed(vector).length > 0,
  outcome: (vector, recorded) =>
    changed(recorded, (outcome) => {
      for (const [{ name, resource }, object] of otherwiseNamed(vector)) {
        const second = named(resource);
        const isNew = !objectsOf(vector).some((one) => isSame(one, second));
        if (isNew) outcome.objects = outcome.objects.filter((one) => !isSame(one, second));
        const { status: _, ...desired } = identified(
          name,
          { ...resource, metadata: { ...resource.metadata, name: String(child(object, "metadata")["name"]) } },
          vector,
        );
        outcome.objects = outcome.objects.map((one) => (isSame(one, object) ? merged(object, desired) : one));
        const others = references(outcome).filter(
          (one) => one["kind"] !== second.kind || one["name"] !== second.metadata?.name,
        );
        setReferences(outcome, isNew ? others.filter(({ name }) => name !== undefined) : references(outcome));
        addReference(outcome, object);
        if (resource.metadata?.name === undefined) continue;
        for (const pass of outcome.passes) pass.results.unshift(`Warning composed resource "${name}":`);
      }
      settle(outcome, vector);
    }),
};

/** Resources of which some cannot be applied. */
export const othersApplied: Rule = {
  name: "one-failure-leaves-the-others",
  file: FILE,
  reason:
    "If a resource cannot be applied, the others are, and the details of existing resources are published. The reference ends at the first failure.",
  applies: (vector) => !runFails(vector) && failedWrites(vector).length > 0 && allDesired(vector).length > 1,
  outcome: (vector, recorded) =>
    changed(recorded, (outcome) => {
      for (const [name, resource] of allDesired(vector)) {
        if (failedWrites(vector).some((one) => isSame(one, resource))) continue;
        const { status: _, ...desired } = identified(name, resource, vector);
        const index = outcome.objects.findIndex((one) => isSame(one, resource));
        if (index === -1) outcome.objects.push(desired);
        else outcome.objects[index] = merged(outcome.objects[index] ?? {}, desired);
      }
      settle(outcome, vector, false);
    }),
};

/** Checks of the wrong type. */
export const detailsFirst: Rule = {
  name: "details-do-not-wait-for-readiness",
  file: FILE,
  reason:
    "A readiness check that cannot be evaluated leaves the XR unready, and its details are published. The reference publishes none.",
  applies: (vector) => !runFails(vector) && failingChecks(vector).length > 0,
  outcome: (vector, recorded) =>
    changed(recorded, (outcome) => {
      settle(outcome, vector);
      const warnings = failingChecks(vector).map((name) => `Warning composed resource "${name}":`);
      for (const pass of outcome.passes) pass.results.unshift(...warnings);
    }),
};

/** The entries that all steps desire in the end. */
function allDesired(vector: VectorCase): [name: string, resource: KubernetesObject][] {
  if (!hasFunctions(vector)) return rendered(vector);
  return lastDesired(vector).map(({ name, resource }) => [name, named(resource)]);
}

/** The desired objects that the server does not create or change, or that another XR controls. */
function failedWrites(vector: VectorCase): JsonObject[] {
  const keys = Object.keys(child(child(vector, "server"), "fail")).filter((key) => !key.startsWith("delete "));
  return allDesired(vector)
    .map(([, resource]): JsonObject => resource)
    .filter(
      (one) =>
        keys.some((key) => key.endsWith(` ${String(one["kind"])}/${String(child(one, "metadata")["name"])}`)) ||
        objectsOf(vector).some((object) => isSame(object, one) && isForeign(object, vector)),
    );
}

/** Desired entries with their existing object, if the names differ. */
function otherwiseNamed(vector: VectorCase): [entry: Desired, object: KubernetesObject][] {
  const objects = existing(vector);
  return lastDesired(vector).flatMap((entry): [Desired, KubernetesObject][] => {
    const object = objects.get(entry.name);
    return object === undefined || isSame(object, entry.resource) ? [] : [[entry, object]];
  });
}

/** Entries of failed templates that a function desires. */
function repaired(vector: VectorCase): Desired[] {
  const names = failedNames(vector);
  return lastDesired(vector).filter(({ name }) => names.includes(name));
}

/** The first object of each entry with two objects. */
function doubles(vector: VectorCase): [name: string, object: JsonObject][] {
  const byName = new Map<string, JsonObject[]>();
  for (const object of referenced(vector)) {
    const name = child(child(object, "metadata"), "annotations")[ANNOTATION];
    if (typeof name === "string") byName.set(name, [...(byName.get(name) ?? []), object]);
  }
  return [...byName].flatMap(([name, [first, second]]) =>
    first && second ? [[name, first] as [string, JsonObject]] : [],
  );
}
