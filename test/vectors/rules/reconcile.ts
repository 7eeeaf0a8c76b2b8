import { compileTemplates, isReady, type ResourceTemplate } from "@xfn/composition";
import { isObject, type JsonObject, type JsonValue, type KubernetesObject, type ReadinessCheck } from "@xfn/functionio";
import type { Pass, Reconciled } from "../adapters/reconcile.ts";
import { child, list, type Rule } from "../rule.ts";
import type { Expected, VectorCase } from "../vector-file.ts";

// Reconciles of an XR. The vectors record the answers of functions with the output, but here they are input.

const ANNOTATION = "crossplane.io/composition-resource-name";
const FILE = "functionio-merge";

/** Entries of one step without a name, or with the same name. */
export const entryNames: Rule = {
  name: "entries-have-names",
  file: FILE,
  reason:
    "A function's answer is rejected if two desired resources have the same name, or one has no name. The reference uses the last, or an empty name.",
  applies: (vector) => failingStep(vector, hasBadNames) !== undefined,
  outcome: (vector, recorded) => failed(vector, recorded, failingStep(vector, hasBadNames) ?? 0),
};

/** Invalid connection details. */
export const detailsFirst: Rule = {
  name: "function-details-are-checked-first",
  file: FILE,
  reason:
    "Invalid connection details of a function fail the run before anything is created. The reference fails after it has created the resources.",
  applies: (vector) => failingStep(vector, hasBadDetails) !== undefined,
  outcome: (vector, recorded) => failed(vector, recorded, failingStep(vector, hasBadDetails) ?? 0),
};

/** A fatal result before the last function. */
export const firstFatal: Rule = {
  name: "first-fatal-result-ends",
  file: FILE,
  reason:
    "The first fatal result ends the run. In the reference all functions run, and a later one can remove the result.",
  applies: (vector) => failingStep(vector, isFatal) !== undefined,
  outcome: (vector, recorded) => failed(vector, recorded, failingStep(vector, isFatal) ?? 0),
};

/** An unknown severity. */
export const unknownSeverity: Rule = {
  name: "unknown-severity-is-a-warning",
  file: FILE,
  reason: "A result of unknown severity is reported as a warning. The reference drops it.",
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

/** A function that returns no XR, or fields that only the server sets. */
export const compositeOptional: Rule = {
  name: "composite-need-not-be-returned",
  file: FILE,
  reason:
    "A function that returns no desired XR does not change the XR. Of a desired XR's metadata only labels and annotations count. The reference fails without an XR, and because of its resourceVersion.",
  applies: (vector) =>
    !runFails(vector) && outputs(vector).some((pass) => pass.some((io) => hasNoComposite(io, vector))),
  outcome: succeeded,
};

/** A controller that a function sets. */
export const ourController: Rule = {
  name: "controller-is-set-by-us",
  file: FILE,
  reason: "The XR controls composed resources, even if a function sets another controller. The reference fails.",
  applies: (vector) =>
    !runFails(vector) && lastDesired(vector).some(({ resource }) => hasOtherController(resource, vector)),
  outcome: succeeded,
};

/** Readiness checks of functions that v1.13 does not have. */
export const booleanChecks: Rule = {
  name: "function-readiness-match-true-false",
  file: FILE,
  reason: "The checks MatchTrue and MatchFalse exist. v1.13 has neither, and fails after it has applied everything.",
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

/** Existing resources that no function desires. */
export const undesiredKept: Rule = {
  name: "undesired-resources-are-kept",
  file: FILE,
  reason:
    "With functions, an existing resource that no step desires is retained with its reference, unless undesiredResources is Delete. The reference implementation deletes or forgets it.",
  applies: (vector) => hasFunctions(vector) && !runFails(vector) && referenced(vector).length > 0,
  outcome: (vector, recorded) =>
    changed(recorded, (outcome) => {
      for (const object of referenced(vector)) {
        if (isForeign(object, vector)) continue;
        if (!outcome.objects.some((one) => isSame(one, object))) outcome.objects.push(object);
        addReference(outcome, object);
      }
      // The next run observes it.
      for (const pass of outcome.passes.slice(1)) {
        for (const input of pass.functionInputs) observe(input as JsonObject, outcome, references(outcome));
      }
      const deletionFails = Object.keys(child(child(vector, "server"), "fail")).some((key) =>
        key.startsWith("delete "),
      );
      if (deletionFails) for (const pass of outcome.passes) Object.assign(pass, { synced: "True", ready: "True" });
    }),
};

/** An object that moves to another entry. */
export const renamedInPlace: Rule = {
  name: "renamed-in-place",
  file: FILE,
  reason:
    "An object that is desired under another entry's name moves to that entry unchanged. The reference deletes and creates it again.",
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
    "A resource without a name gets one from the XR's UID and its entry, which is recorded. The reference asks the server for a name, or records none and never finds the object again.",
  applies: (vector) => !runFails(vector) && (isNameless(vector) || dryRunFails(vector)),
  outcome: (vector, recorded) =>
    changed(recorded, (outcome) => {
      setReferences(
        outcome,
        references(outcome).filter(({ name }) => name !== undefined),
      );
      for (const object of outcome.objects) if (object["kind"] !== xrOf(vector)["kind"]) addReference(outcome, object);
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
    "Templates without names are called template-<index>. An object is found by the name of its entry, never by its position in a list. An object without that name is left alone. Without names the reference uses positions, and skips the functions.",
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

function changed(recorded: Expected, change: (outcome: Reconciled) => void): Expected {
  if ("error" in recorded) return recorded;
  const output = structuredClone(recorded.output) as Reconciled;
  change(output);
  return { output };
}

/** The result of a run that fails at a step: nothing is created, changed or deleted. */
function failed(vector: VectorCase, recorded: Expected, step: number): Expected {
  return changed(recorded, (outcome) => {
    for (const pass of outcome.passes) {
      pass.functionInputs = pass.functionInputs.slice(0, step + 1);
      const before = (outputs(vector)[0] ?? [])
        .slice(0, step + 1)
        .filter((io) => !hasBadNames(io) && !hasBadDetails(io));
      const events = results(before).filter(({ severity }) => severity !== "Fatal");
      Object.assign(pass, { synced: "False", published: {} });
      pass.results = events.map(({ severity, message }) => `${String(severity)} ${String(message)}`);
    }
    outcome.objects = objectsOf(vector);
  });
}

/** The result of a successful run. */
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

/** The answers of functions, by pass. */
function outputs(vector: VectorCase): JsonObject[][] {
  return list(child(vector, "output")["passes"]).map((pass) => list(pass["functionOutputs"]));
}

/** Whether the run ends before anything is created, so that no other rule applies. */
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

/** The existing objects that the XR refers to. */
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

/** Creates the input from the current objects. */
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

/** A new composed resource. */
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
