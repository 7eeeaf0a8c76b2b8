import { extractConnectionDetails, isReady } from "@xfn/composition";
import type { ConnectionDetail, ReadinessCheck } from "@xfn/functionio";
import type { JsonObject, KubernetesObject } from "@xfn/json";
import type { Reconciled } from "../../adapters/reconcile.ts";
import { child, list } from "../../rule.ts";
import type { VectorCase } from "../../vector-file.ts";
import { ANNOTATION, hasFunctions, lastDesired, outputs, referenced, xrOf } from "./case.ts";
import { failedNames, rendered } from "./templates.ts";

// Readiness and connection details that follow from the objects of an outcome, by our own packages: the vectors of
// readiness and connection details compare them with the reference.

interface Entry {
  name: string;
  object: JsonObject | undefined;
  /** The secret of the object that existed before. */
  secret: Map<string, string>;
  template: JsonObject;
  desired: JsonObject;
}

/** Sets readiness and details of all passes, for a run that applies its resources. */
export function settle(outcome: Reconciled, vector: VectorCase, applied = true): void {
  const entries = entriesOf(outcome.objects, vector);
  const explicit = list(child(child(outputs(vector).at(-1)?.at(-1), "desired"), "composite")["connectionDetails"]).map(
    ({ name, value }): [string, string] => [String(name), String(value)],
  );
  const published = Object.fromEntries([...explicit, ...entries.flatMap(detailsOf)]);
  const isReadyNow =
    entries.every((one) => readiness(one) === true) &&
    failedNames(vector).every((name) => entries.some((one) => one.name === name));
  for (const pass of outcome.passes) {
    Object.assign(pass, { synced: applied ? "True" : "False", ready: isReadyNow ? "True" : "False", published });
  }
}

/** The entries with a check of the wrong type for its field. */
export function failingChecks(vector: VectorCase): string[] {
  const objects = list(child(vector, "output")["finalObjects"]);
  return entriesOf(objects, vector).flatMap((entry) => (readiness(entry) === undefined ? [entry.name] : []));
}

/** Undefined if a check has the wrong type. */
function readiness(entry: Entry): boolean | undefined {
  try {
    return isEntryReady(entry);
  } catch {
    return undefined;
  }
}

function entriesOf(objects: readonly JsonObject[], vector: VectorCase): Entry[] {
  const io = child(outputs(vector).at(-1)?.at(-1), "desired");
  const names = hasFunctions(vector)
    ? lastDesired(vector).map(({ name }) => name)
    : rendered(vector).map(([name]) => name);
  const templates = list(child(vector, "composition")["resources"]);
  return names.map((name) => ({
    name,
    object: objects.find((object) => entryName(object) === name && isControlled(object, vector)),
    secret: detailsIn(
      referenced(vector).find((object) => entryName(object) === name),
      vector,
    ),
    template: templates.find((one) => one["name"] === name) ?? {},
    desired: list(io["resources"]).find((one) => one["name"] === name) ?? {},
  }));
}

function entryName(object: JsonObject): unknown {
  return child(child(object, "metadata"), "annotations")[ANNOTATION];
}

function isControlled(object: JsonObject, vector: VectorCase): boolean {
  const { uid } = child(xrOf(vector), "metadata");
  return list(child(object, "metadata")["ownerReferences"]).some((one) => one["uid"] === uid);
}

/** The details in the Secret of an object. */
export function detailsIn(object: JsonObject | undefined, vector: VectorCase): Map<string, string> {
  const { namespace, name } = child(child(object, "spec"), "writeConnectionSecretToRef");
  const data = child(child(child(vector, "server"), "secrets"), `${String(namespace)}/${String(name)}`);
  return new Map(Object.entries(data).map(([key, value]) => [key, String(value)]));
}

function isEntryReady({ object, template, desired }: Entry): boolean {
  if (object === undefined) return false;
  const own = list(template["readinessChecks"]) as unknown as ReadinessCheck[];
  const added = list(desired["readinessChecks"]) as unknown as ReadinessCheck[];
  if (own.length + added.length === 0) return isReady(object);
  return (own.length === 0 || isReady(object, own, "template")) && (added.length === 0 || isReady(object, added));
}

function detailsOf({ object, secret, template, desired }: Entry): [string, string][] {
  if (object === undefined) return [];
  return [template, desired].flatMap(({ connectionDetails }) => {
    const details = list(connectionDetails) as unknown as ConnectionDetail[];
    return [...extractConnectionDetails({ details, resource: object as KubernetesObject, secret })];
  });
}
