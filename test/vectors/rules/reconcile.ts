import { compileTemplates, isReady, type ResourceTemplate } from "@xfn/composition";
import { isObject, type JsonObject, type JsonValue, type KubernetesObject, type ReadinessCheck } from "@xfn/functionio";
import type { Pass, Reconciled } from "../adapters/reconcile.ts";
import { child, list, type Rule } from "../rule.ts";
import type { Expected, VectorCase } from "../vector-file.ts";

// Reconciles of an XR. What functions returned is recorded with the output, but it is input here.

const ANNOTATION = "crossplane.io/composition-resource-name";
const FILE = "functionio-merge";

/** Entries of one step that have no name, or two of one name. */
export const entryNames: Rule = {
  name: "entries-have-names",
  file: FILE,
  reason:
    "What a function returns is refused if two of its desired resources have one name, or one has none. The reference takes the last, or an empty name.",
  applies: (vector) => failingStep(vector, hasBadNames) !== undefined,
  outcome: (vector, recorded) => failed(vector, recorded, failingStep(vector, hasBadNames) ?? 0),
};

/** Connection details that say nothing. */
export const detailsFirst: Rule = {
  name: "function-details-are-checked-first",
  file: FILE,
  reason:
    "A function whose connection details cannot be used fails before anything is made. The reference makes its resources, and fails then.",
  applies: (vector) => failingStep(vector, hasBadDetails) !== undefined,
  outcome: (vector, recorded) => failed(vector, recorded, failingStep(vector, hasBadDetails) ?? 0),
};

/** A fatal result of a function that is not the last. */
export const firstFatal: Rule = {
  name: "first-fatal-result-ends",
  file: FILE,
  reason: "The first fatal result ends the run. In the reference all functions run, and a later one can take it back.",
  applies: (vector) => failingStep(vector, isFatal) !== undefined,
  outcome: (vector, recorded) => failed(vector, recorded, failingStep(vector, isFatal) ?? 0),
};

/** A word that is no severity. */
export const unknownSeverity: Rule = {
  name: "unknown-severity-is-a-warning",
  file: FILE,
  reason: "A result of unknown severity is told as a warning. The reference drops it.",
  applies: (vector) => !runFails(vector) && outputs(vector).some((pass) => results(pass).some(hasUnknownSeverity)),
  outcome: (vector, recorded) =>
    changed(recorded, (outcome) => {
      for (const [index, pass] of outcome.passes.entries()) {
        pass.results = results(outputs(vector)[index] ?? []).map((result) => {
          const severity = hasUnknownSeverity(result) ? "Warning" : String(result["severity"]);
          return `${severity} ${String(result["message"])}`;
        });
      }
    }),
};

/** A function that says nothing of the XR, or what only the server says of it. */
export const compositeOptional: Rule = {
  name: "composite-need-not-be-returned",
  file: FILE,
  reason:
    "A function that returns no desired XR leaves it as it is, and of its metadata only labels and annotations count. The reference fails without one, and by its resourceVersion.",
  applies: (vector) =>
    !runFails(vector) && outputs(vector).some((pass) => pass.some((io) => hasNoComposite(io, vector))),
  outcome: succeeded,
};

/** A controller that a function sets. */
export const ourController: Rule = {
  name: "controller-is-set-by-us",
  file: FILE,
  reason: "Composed resources are controlled by the XR, whatever a function says. The reference fails.",
  applies: (vector) =>
    !runFails(vector) && lastDesired(vector).some(({ resource }) => hasOtherController(resource, vector)),
  outcome: succeeded,
};

/** Readiness checks of functions that v1.13 does not have. */
export const booleanChecks: Rule = {
  name: "function-readiness-match-true-false",
  file: FILE,
  reason: "The checks MatchTrue and MatchFalse exist; v1.13 has neither, and fails after everything was applied.",
  applies: (vector) => !runFails(vector) && lastDesired(vector).some(({ checks }) => checks.some(isBoolean)),
  outcome: (vector, recorded) =>
    changed(recorded, (outcome) => {
      const ready = lastDesired(vector).every(({ resource, checks }) => {
        const object = outcome.objects.find((one) => isSame(one, resource));
        return object !== undefined && isReady(object, checks as unknown as ReadinessCheck[]);
      });
      for (const pass of outcome.passes) Object.assign(pass, { synced: "True", ready: ready ? "True" : "False" });
    }),
};

/** What exists and no function names. */
export const undesiredKept: Rule = {
  name: "undesired-resources-are-kept",
  file: FILE,
  reason:
    "With functions, what exists and nothing desires is left alone unless undesiredResources says Delete, and its reference stays. The reference deletes it, or forgets it.",
  applies: (vector) => hasFunctions(vector) && !runFails(vector) && referenced(vector).length > 0,
  outcome: (vector, recorded) =>
    changed(recorded, (outcome) => {
      for (const object of referenced(vector)) {
        if (isForeign(object, vector)) continue;
        if (!outcome.objects.some((one) => isSame(one, object))) outcome.objects.push(object);
        addReference(outcome, object);
      }
      // The next run sees it.
      for (const pass of outcome.passes.slice(1)) {
        for (const input of pass.functionInputs) observe(input as JsonObject, outcome, references(outcome));
      }
      const deletionFails = Object.keys(child(child(vector, "server"), "fail")).some((key) =>
        key.startsWith("delete "),
      );
      if (deletionFails) for (const pass of outcome.passes) Object.assign(pass, { synced: "True", ready: "True" });
    }),
};

/** An object that is another entry's from now on. */
export const renamedInPlace: Rule = {
  name: "renamed-in-place",
  file: FILE,
  reason:
    "An object that is desired under another entry's name is that entry's from then on, as it is. The reference deletes it and makes it again.",
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

/** Resources that the server would have named. */
export const namesFirst: Rule = {
  name: "names-are-ours",
  file: FILE,
  reason:
    "A resource without a name gets one that is made of the XR's UID and its entry, and is recorded under it. The reference asks the server for one, or records none and never finds the object again.",
  applies: (vector) => !runFails(vector) && (isNameless(vector) || dryRunFails(vector)),
  outcome: (vector, recorded) =>
    changed(recorded, (outcome) => {
      setReferences(
        outcome,
        references(outcome).filter(({ name }) => name !== undefined),
      );
      for (const object of outcome.objects) if (object["kind"] !== xrOf(vector)["kind"]) addReference(outcome, object);
      if (!dryRunFails(vector)) return;
      // What cannot be made fails the reconcile.
      for (const { resource } of lastDesired(vector)) addReference(outcome, resource);
      for (const pass of outcome.passes) Object.assign(pass, { synced: "False", results: [] });
    }),
};

/** Status that functions set. */
export const statusPersisted: Rule = {
  name: "composite-status-is-persisted",
  file: FILE,
  reason:
    "The status of the XR that functions set is there, and is what they observe in the next run. The reference drops it.",
  applies: (vector) =>
    hasFunctions(vector) && !runFails(vector) && outputs(vector).some((pass) => setsStatus(pass, vector)),
  outcome: (vector, recorded) =>
    changed(recorded, (outcome) => {
      let status: JsonObject = child(xrOf(vector), "status");
      for (const [index, pass] of outcome.passes.entries()) {
        for (const input of pass.functionInputs) {
          const observed = child(child(child(input as JsonObject, "observed"), "composite"), "resource");
          observed["status"] = merged(child(observed, "status"), status);
        }
        status = merged(status, statusOf(outputs(vector)[index] ?? []));
      }
      const xr = outcome.objects.find((one) => isSame(one, xrOf(vector)));
      if (xr !== undefined) xr["status"] = merged(child(xr, "status"), status);
    }),
};

/** A template that fails and a function that makes the resource all the same. */
export const repairs: Rule = {
  name: "functions-repair-templates",
  file: FILE,
  reason: "A resource whose template fails is made if a function desires it. In the reference it stays failed.",
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
    "Templates without names are called template-<index>, and an object is found by the name of its entry, never by its place in a list: one without is left alone. The reference goes by places where names are missing, and leaves out the functions.",
  applies: (vector) => !hasFunctions(vector) && (hasUnnamedTemplates(vector) || referenced(vector).some(isUnannotated)),
  outcome: (vector, recorded) =>
    changed(recorded, (outcome) => {
      const xr = outcome.objects.filter((one) => isSame(one, xrOf(vector)));
      const there = referenced(vector);
      outcome.objects = [...xr, ...there.filter(isUnannotated)];
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

/** What exists and has no name of an entry, where there are functions. */
export const functionsAllTheSame: Rule = {
  name: "functions-run-all-the-same",
  file: FILE,
  reason:
    "An object without the name of its entry is left alone, and the functions run. The reference goes by places in lists then, for all resources, and leaves the functions out.",
  applies: (vector) => hasFunctions(vector) && referenced(vector).some(isUnannotated),
  // What they would have returned is not recorded.
  outcome: (vector, recorded) =>
    changed(recorded, (outcome) => {
      outcome.objects = objectsOf(vector);
    }),
};

/** Two objects for one entry. */
export const firstOfTwo: Rule = {
  name: "first-of-two-objects-of-an-entry",
  file: FILE,
  reason:
    "Of two objects that are said to be for one entry the first is, and the other is left alone. The reference takes the last.",
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

/** Templates that fail, as functions see them. */
export const failedTemplates: Rule = {
  name: "failed-templates-are-not-passed-on",
  file: FILE,
  reason:
    "Functions are not given what a template left behind that failed. The reference gives it to them as if it were whole.",
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

function changed(recorded: Expected, change: (outcome: Reconciled) => void): Expected {
  if ("error" in recorded) return recorded;
  const output = structuredClone(recorded.output) as Reconciled;
  change(output);
  return { output };
}

/** Of a run that fails at a step: nothing is made, changed or deleted. */
function failed(vector: VectorCase, recorded: Expected, step: number): Expected {
  return changed(recorded, (outcome) => {
    for (const pass of outcome.passes) {
      pass.functionInputs = pass.functionInputs.slice(0, step + 1);
      const before = (outputs(vector)[0] ?? [])
        .slice(0, step + 1)
        .filter((io) => !hasBadNames(io) && !hasBadDetails(io));
      const told = results(before).filter(({ severity }) => severity !== "Fatal");
      Object.assign(pass, { synced: "False", published: {} });
      pass.results = told.map(({ severity, message }) => `${String(severity)} ${String(message)}`);
    }
    outcome.objects = objectsOf(vector);
  });
}

/** Of a run in which all goes well. */
function succeeded(vector: VectorCase, recorded: Expected): Expected {
  return changed(recorded, (outcome) => {
    for (const { name, resource } of lastDesired(vector)) {
      if (outcome.objects.some((one) => isSame(one, resource))) continue;
      outcome.objects.push(identified(name, resource, vector));
      addReference(outcome, resource);
    }
    const ready = lastDesired(vector).every(
      ({ checks }) => checks.length > 0 && checks.every(({ type }) => type === "None"),
    );
    for (const pass of outcome.passes)
      Object.assign(pass, { synced: "True", ready: ready ? "True" : "False" } satisfies Partial<Pass>);
  });
}

function xrOf(vector: VectorCase): JsonObject {
  return objectsOf(vector)[0] ?? {};
}

function objectsOf(vector: VectorCase): JsonObject[] {
  return list(child(vector, "server")["objects"]);
}

function hasFunctions(vector: VectorCase): boolean {
  return list(child(vector, "composition")["functions"]).length > 0;
}

/** What functions returned, by pass. */
function outputs(vector: VectorCase): JsonObject[][] {
  return list(child(vector, "output")["passes"]).map((pass) => list(pass["functionOutputs"]));
}

/** Whether the run ends before anything is made; then no other rule matters. */
function runFails(vector: VectorCase): boolean {
  return outputs(vector).some((pass) =>
    pass.some((io) => io["error"] !== undefined || hasBadNames(io) || hasBadDetails(io) || isFatal(io)),
  );
}

function failingStep(vector: VectorCase, fails: (io: JsonObject) => boolean): number | undefined {
  const index = (outputs(vector)[0] ?? []).findIndex(fails);
  return index === -1 ? undefined : index;
}

function hasBadNames(io: JsonObject): boolean {
  const names = list(child(io, "desired")["resources"]).map(({ name }) => name ?? "");
  return names.includes("") || new Set(names).size < names.length;
}

function hasBadDetails(io: JsonObject): boolean {
  return list(child(io, "desired")["resources"]).some(({ connectionDetails }) =>
    list(connectionDetails).some(
      ({ type, name, fromConnectionSecretKey }) =>
        (name ?? "") === "" &&
        (type === "FromValue" || type === "FromFieldPath" || fromConnectionSecretKey === undefined),
    ),
  );
}

function isFatal(io: JsonObject): boolean {
  return list(io["results"]).some(({ severity }) => severity === "Fatal");
}

function results(pass: readonly JsonObject[]): JsonObject[] {
  return list(pass.at(-1)?.["results"]);
}

function hasUnknownSeverity({ severity }: JsonObject): boolean {
  return severity !== "Fatal" && severity !== "Warning" && severity !== "Normal";
}

function hasNoComposite(io: JsonObject, vector: VectorCase): boolean {
  const { resource } = child(child(io, "desired"), "composite");
  if (!isObject(resource) || resource["kind"] === undefined) return true;
  const version = child(resource, "metadata")["resourceVersion"];
  return (
    version !== undefined &&
    version !== child(xrOf(vector), "metadata")["resourceVersion"] &&
    outputs(vector).length === 1
  );
}

interface Desired {
  name: string;
  resource: KubernetesObject;
  checks: JsonObject[];
}

function lastDesired(vector: VectorCase): Desired[] {
  const io = outputs(vector).at(-1)?.at(-1) ?? {};
  return list(child(io, "desired")["resources"]).flatMap(({ name, resource, readinessChecks }) =>
    isObject(resource) ? [{ name: String(name), resource, checks: list(readinessChecks) }] : [],
  );
}

function hasOtherController(resource: JsonObject, vector: VectorCase): boolean {
  const { uid } = child(xrOf(vector), "metadata");
  return list(child(resource, "metadata")["ownerReferences"]).some(
    (one) => one["controller"] === true && one["uid"] !== uid,
  );
}

function isBoolean({ type }: JsonObject): boolean {
  return type === "MatchTrue" || type === "MatchFalse";
}

/** What the XR refers to and is there. */
function referenced(vector: VectorCase): JsonObject[] {
  const known = list(child(xrOf(vector), "spec")["resourceRefs"]);
  return objectsOf(vector).filter((object) =>
    known.some(({ kind, name }) => kind === object["kind"] && name === child(object, "metadata")["name"]),
  );
}

function isForeign(object: JsonObject, vector: VectorCase): boolean {
  return hasOtherController(object, vector);
}

function isUnannotated(object: JsonObject): boolean {
  return child(child(object, "metadata"), "annotations")[ANNOTATION] === undefined;
}

function hasUnnamedTemplates(vector: VectorCase): boolean {
  const templates = list(child(vector, "composition")["resources"]);
  return templates.length > 0 && templates.every(({ name }) => name === undefined);
}

function renamed(vector: VectorCase): JsonObject[] {
  return referenced(vector).filter((object) => {
    const entry = child(child(object, "metadata"), "annotations")[ANNOTATION];
    return (
      entry !== undefined &&
      lastDesired(vector).some(({ name, resource }) => name !== entry && isSame(object, resource))
    );
  });
}

function isNameless(vector: VectorCase): boolean {
  return outputs(vector).some((pass) =>
    pass.some((io) =>
      list(child(io, "desired")["resources"]).some(
        ({ resource }) => isObject(resource) && child(resource, "metadata")["name"] === undefined,
      ),
    ),
  );
}

function dryRunFails(vector: VectorCase): boolean {
  return Object.keys(child(child(vector, "server"), "fail")).some((key) => /^create .*-\d{5}$/.test(key));
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

/** Entries of templates that cannot be rendered and that a function desires. */
function repaired(vector: VectorCase): Desired[] {
  const names = failedNames(vector);
  return lastDesired(vector).filter(({ name }) => names.includes(name));
}

/** Entries whose templates cannot be rendered. */
function failedNames(vector: VectorCase): string[] {
  const made = new Map(rendered(vector));
  const templates = list(child(vector, "composition")["resources"]).flatMap(({ name }) =>
    typeof name === "string" ? [name] : [],
  );
  return templates.filter((name) => !made.has(name));
}

/** The first of the objects of each entry that has two. */
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

/** Makes an input of what there is by then. */
function observe(input: JsonObject, outcome: Reconciled, resourceRefs: JsonObject[]): void {
  const observed = child(input, "observed");
  const xr = child(child(observed, "composite"), "resource");
  xr["spec"] = { ...child(xr, "spec"), resourceRefs };
  const resources = list(observed["resources"]);
  for (const object of outcome.objects) {
    const name = child(child(object, "metadata"), "annotations")[ANNOTATION];
    if (name === undefined || resources.some((one) => isSame(child(one, "resource"), object))) continue;
    resources.push({ name, resource: object });
  }
  observed["resources"] = resources;
}

/** What the templates make that can be rendered, by the names of their entries. */
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

/** A composed resource as it is made. */
function identified(name: string, resource: KubernetesObject, vector: VectorCase): JsonObject {
  const xr = xrOf(vector);
  const { labels, uid, name: xrName } = child(xr, "metadata");
  const { ownerReferences: _, ...metadata } = child(resource, "metadata");
  const owner = {
    apiVersion: xr["apiVersion"] ?? null,
    kind: xr["kind"] ?? null,
    name: xrName ?? null,
    uid: uid ?? null,
    controller: true,
    blockOwnerDeletion: true,
  };
  return {
    ...resource,
    metadata: merged(metadata, { labels: labels ?? {}, annotations: { [ANNOTATION]: name }, ownerReferences: [owner] }),
  };
}

function references(outcome: Reconciled): JsonObject[] {
  return outcome.objects.flatMap((object) => list(child(object, "spec")["resourceRefs"]));
}

function setReferences(outcome: Reconciled, list: JsonObject[]): void {
  for (const object of outcome.objects) {
    if (object["kind"] !== "XApp") continue;
    object["spec"] = { ...child(object, "spec"), resourceRefs: list };
  }
}

function addReference(outcome: Reconciled, object: JsonObject): void {
  const { namespace, name } = child(object, "metadata");
  const reference: JsonObject = {
    apiVersion: object["apiVersion"] ?? "",
    kind: object["kind"] ?? "",
    name: name ?? "",
    ...(namespace !== undefined && { namespace }),
  };
  const others = references(outcome).filter(
    (one) => one["kind"] !== reference["kind"] || one["name"] !== reference["name"],
  );
  setReferences(outcome, [...others, reference]);
}

function isSame(a: JsonObject, b: JsonObject): boolean {
  return a["kind"] === b["kind"] && child(a, "metadata")["name"] === child(b, "metadata")["name"];
}

function merged(base: JsonObject, overlay: JsonObject): JsonObject {
  const result: Record<string, JsonValue> = { ...base };
  for (const [key, value] of Object.entries(overlay)) {
    const there = result[key];
    result[key] = isObject(value) && isObject(there) ? merged(there, value) : value;
  }
  return result;
}
