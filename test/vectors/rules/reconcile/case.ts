import { isObject, type JsonObject, type KubernetesObject } from "@xfn/json";
import { child, list } from "../../rule.ts";
import type { VectorCase } from "../../vector-file.ts";

// Facts of a case. The vectors record the answers of functions with the output, but here they are input.

export const FILE = "functionio-merge";

export const ANNOTATION = "crossplane.io/composition-resource-name";

export function isSame(a: JsonObject, b: JsonObject): boolean {
  return a["kind"] === b["kind"] && child(a, "metadata")["name"] === child(b, "metadata")["name"];
}

export function xrOf(vector: VectorCase): JsonObject {
  return objectsOf(vector)[0] ?? {};
}

export function objectsOf(vector: VectorCase): JsonObject[] {
  return list(child(vector, "server")["objects"]);
}

export function hasFunctions(vector: VectorCase): boolean {
  return list(child(vector, "composition")["functions"]).length > 0;
}

/** The answers of functions, by pass. */
export function outputs(vector: VectorCase): JsonObject[][] {
  return list(child(vector, "output")["passes"]).map((pass) => list(pass["functionOutputs"]));
}

/** Whether the run ends before anything is created, so that no other rule applies. */
export function runFails(vector: VectorCase): boolean {
  return outputs(vector).some((pass) =>
    pass.some((io) => io["error"] !== undefined || hasBadNames(io) || hasBadDetails(io) || isFatal(io)),
  );
}

export function failingStep(vector: VectorCase, fails: (io: JsonObject) => boolean): number | undefined {
  const index = (outputs(vector)[0] ?? []).findIndex(fails);
  return index === -1 ? undefined : index;
}

export function hasBadNames(io: JsonObject): boolean {
  const names = list(child(io, "desired")["resources"]).map(({ name }) => name ?? "");
  return names.includes("") || new Set(names).size < names.length;
}

export function hasBadDetails(io: JsonObject): boolean {
  return list(child(io, "desired")["resources"]).some(({ connectionDetails }) =>
    list(connectionDetails).some(
      ({ type, name, fromConnectionSecretKey }) =>
        (name ?? "") === "" &&
        (type === "FromValue" || type === "FromFieldPath" || fromConnectionSecretKey === undefined),
    ),
  );
}

export function isFatal(io: JsonObject): boolean {
  return list(io["results"]).some(({ severity }) => severity === "Fatal");
}

export function results(pass: readonly JsonObject[]): JsonObject[] {
  return list(pass.at(-1)?.["results"]);
}

export function hasUnknownSeverity({ severity }: JsonObject): boolean {
  return severity !== "Fatal" && severity !== "Warning" && severity !== "Normal";
}

export function hasNoComposite(io: JsonObject, vector: VectorCase): boolean {
  const { resource } = child(child(io, "desired"), "composite");
  if (!isObject(resource) || resource["kind"] === undefined) return true;
  const version = child(resource, "metadata")["resourceVersion"];
  return (
    version !== undefined &&
    version !== child(xrOf(vector), "metadata")["resourceVersion"] &&
    outputs(vector).length === 1
  );
}

export interface Desired {
  name: string;
  resource: KubernetesObject;
  checks: JsonObject[];
}

export function lastDesired(vector: VectorCase): Desired[] {
  const io = outputs(vector).at(-1)?.at(-1) ?? {};
  return list(child(io, "desired")["resources"]).flatMap(({ name, resource, readinessChecks }) =>
    isObject(resource) ? [{ name: String(name), resource, checks: list(readinessChecks) }] : [],
  );
}

export function hasOtherController(resource: JsonObject, vector: VectorCase): boolean {
  const { uid } = child(xrOf(vector), "metadata");
  return list(child(resource, "metadata")["ownerReferences"]).some(
    (one) => one["controller"] === true && one["uid"] !== uid,
  );
}

export function isBoolean({ type }: JsonObject): boolean {
  return type === "MatchTrue" || type === "MatchFalse";
}

/** The existing objects that the XR refers to, in the order of its references. */
export function referenced(vector: VectorCase): JsonObject[] {
  return list(child(xrOf(vector), "spec")["resourceRefs"]).flatMap(({ kind, name }) =>
    objectsOf(vector).filter((object) => kind === object["kind"] && name === child(object, "metadata")["name"]),
  );
}

export function isForeign(object: JsonObject, vector: VectorCase): boolean {
  return hasOtherController(object, vector);
}

export function isUnannotated(object: JsonObject): boolean {
  return child(child(object, "metadata"), "annotations")[ANNOTATION] === undefined;
}

export function hasUnnamedTemplates(vector: VectorCase): boolean {
  const templates = list(child(vector, "composition")["resources"]);
  return templates.length > 0 && templates.every(({ name }) => name === undefined);
}

export function renamed(vector: VectorCase): JsonObject[] {
  return referenced(vector).filter((object) => {
    const entry = child(child(object, "metadata"), "annotations")[ANNOTATION];
    return (
      entry !== undefined &&
      lastDesired(vector).some(({ name, resource }) => name !== entry && isSame(object, resource))
    );
  });
}

export function isNameless(vector: VectorCase): boolean {
  return outputs(vector).some((pass) =>
    pass.some((io) =>
      list(child(io, "desired")["resources"]).some(
        ({ resource }) => isObject(resource) && child(resource, "metadata")["name"] === undefined,
      ),
    ),
  );
}

export function dryRunFails(vector: VectorCase): boolean {
  return Object.keys(child(child(vector, "server"), "fail")).some((key) => /^create .*-\d{5}$/.test(key));
}
