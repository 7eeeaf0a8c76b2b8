import { isReady } from "@xfn/composition";
import type { ReadinessCheck } from "@xfn/functionio";
import type { Pass } from "../../adapters/reconcile.ts";
import type { Rule } from "../../rule.ts";
import type { Expected, VectorCase } from "../../vector-file.ts";
import {
  FILE,
  failingStep,
  hasBadDetails,
  hasBadNames,
  hasNoComposite,
  hasOtherController,
  hasUnknownSeverity,
  isBoolean,
  isFatal,
  isSame,
  lastDesired,
  objectsOf,
  outputs,
  results,
  runFails,
} from "./case.ts";
import { addReference, changed, identified } from "./outcome.ts";
import { failedNames } from "./templates.ts";

// Rules about the responses of functions.

/** Entries of one step without a name, or with the same name. */
export const entryNames: Rule = {
  name: "entries-have-names",
  file: FILE,
  reason:
    "An answer in which two desired resources have one name, or one has none, is rejected. The reference uses the last, or an empty name.",
  applies: (vector) => failingStep(vector, hasBadNames) !== undefined,
  outcome: (vector, recorded) => failed(vector, recorded, failingStep(vector, hasBadNames) ?? 0),
};

/** Invalid connection details. */
export const detailsFirst: Rule = {
  name: "function-details-are-checked-first",
  file: FILE,
  reason:
    "Invalid connection details of a function fail the run before anything is created. The reference fails after that.",
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

export const unknownSeverity: Rule = {
  name: "unknown-severity-is-a-warning",
  file: FILE,
  reason: "A result of unknown severity is reported as a warning. The reference drops it.",
  applies: (vector) => !runFails(vector) && outputs(vector).some((pass) => results(pass).some(hasUnknownSeverity)),
  outcome: (vector, recorded) =>
    changed(recorded, (outcome) => {
      for (const [index, pass] of outcome.passes.entries()) {
        const all = results(outputs(vector)[index] ?? []).map((result) => {
          const severity = hasUnknownSeverity(result) ? "Warning" : String(result["severity"]);
          return `${severity} ${String(result["message"])}`;
        });
        pass.results = [...failedNames(vector).map((name) => `Warning composed resource "${name}":`), ...all];
      }
    }),
};

/** A function that returns no XR, or fields that only the server sets. */
export const compositeOptional: Rule = {
  name: "composite-need-not-be-returned",
  file: FILE,
  reason:
    "A function that returns no desired XR does not change the XR, and of its metadata only labels and annotations count. The reference fails without an XR, and with a resourceVersion.",
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
      pass.results = [
        ...failedNames(vector).map((name) => `Warning composed resource "${name}":`),
        ...events.map(({ severity, message }) => `${String(severity)} ${String(message)}`),
      ];
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
