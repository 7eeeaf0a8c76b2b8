import { compileTemplates, isReady, type ResourceTemplate } from "@xfn/composition";
import { isObject, type JsonObject, type KubernetesObject, type ReadinessCheck } from "@xfn/functionio";
import { child, list, type Rule } from "../../rule.ts";
import type { VectorCase } from "../../vector-file.ts";
import {
  ANNOTATION,
  type Desired,
  FILE,
  hasFunctions,
  hasUnnamedTemplates,
  isSame,
  isUnannotated,
  lastDesired,
  objectsOf,
  referenced,
  runFails,
  xrOf,
} from "./case.ts";
import { addReference, changed, identified, setReferences } from "./outcome.ts";

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
        if (outcome.objects.some((one) => isSame(one, resource))) continue;
        outcome.objects.push(identified(name, resource, vector));
        addReference(outcome, resource);
      }
      const ready = lastDesired(vector).every(({ resource, checks }) => {
        const object = outcome.objects.find((one) => isSame(one, resource));
        return object !== undefined && isReady(object, checks as unknown as ReadinessCheck[]);
      });
      for (const pass of outcome.passes) pass.ready = ready ? "True" : "False";
    }),
};

/** Templates without names, and objects without the name of their entry. */
export const namedEntries: Rule = {
  name: "entries-are-found-by-name",
  file: FILE,
  reason:
    "Templates without names are called template-<index>. An object is found by the name of its entry, never by its position in a list. While the XR controls an object without that name, nothing is created. Without names the reference uses positions, and skips the functions.",
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
    "An object without the name of its entry is left alone, and the functions run. The reference then uses positions for all resources, and skips the functions.",
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
  reason: "Of two objects for one entry the first is used, and the other is left alone. The reference uses the last.",
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
    "Functions do not get the partial result of a failed template. The reference passes it on as if it were complete.",
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
    }),
};

/** Entries of failed templates that a function desires. */
function repaired(vector: VectorCase): Desired[] {
  const names = failedNames(vector);
  return lastDesired(vector).filter(({ name }) => names.includes(name));
}

/** Entries of failed templates. */
function failedNames(vector: VectorCase): string[] {
  const made = new Map(rendered(vector));
  const templates = list(child(vector, "composition")["resources"]).flatMap(({ name }) =>
    typeof name === "string" ? [name] : [],
  );
  return templates.filter((name) => !made.has(name));
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

/** The rendered templates by the names of their entries. */
function rendered(vector: VectorCase): [name: string, resource: KubernetesObject][] {
  const { resources, patchSets } = child(vector, "composition");
  const templates = list(resources).map((one, index) => ({ ...one, name: one["name"] ?? `template-${index}` }));
  const compiled = compileTemplates({
    resources: templates as unknown as ResourceTemplate[],
    ...(patchSets !== undefined && { patchSets: patchSets as never }),
  });
  const made = compiled.render({ composite: xrOf(vector), observed: new Map() });
  return made.resources
    .flatMap(({ name, resource }) => (resource === undefined ? [] : [[name, named(resource)] as const]))
    .map(([name, resource]) => [name, resource]);
}

function named(resource: KubernetesObject): KubernetesObject {
  const { generateName = "", name = `${generateName}00000` } = resource.metadata ?? {};
  return { ...resource, metadata: { ...resource.metadata, name } };
}
