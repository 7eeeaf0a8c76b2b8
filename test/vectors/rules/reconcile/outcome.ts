import { isObject, type JsonObject, type JsonValue, type KubernetesObject } from "@xfn/json";
import type { Reconciled } from "../../adapters/reconcile.ts";
import { child, list } from "../../rule.ts";
import type { Expected, VectorCase } from "../../vector-file.ts";
import { ANNOTATION, xrOf } from "./case.ts";

// Changes of a recorded outcome.

const INHERITED: ReadonlySet<string> = new Set([
  "crossplane.io/composite",
  "crossplane.io/claim-name",
  "crossplane.io/claim-namespace",
]);

export function changed(recorded: Expected, change: (outcome: Reconciled) => void): Expected {
  if ("error" in recorded) return recorded;
  const output = structuredClone(recorded.output) as Reconciled;
  change(output);
  return { output };
}

/** A new composed resource. */
export function identified(name: string, resource: KubernetesObject, vector: VectorCase): JsonObject {
  const xr = xrOf(vector);
  const { labels, uid, name: xrName } = child(xr, "metadata");
  const inherited = Object.entries(isObject(labels) ? labels : {}).filter(([label]) => INHERITED.has(label));
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
    metadata: merged(metadata, {
      labels: Object.fromEntries(inherited),
      annotations: { [ANNOTATION]: name },
      ownerReferences: [owner],
    }),
  };
}

export function references(outcome: Reconciled): JsonObject[] {
  return outcome.objects.flatMap((object) => list(child(object, "spec")["resourceRefs"]));
}

export function setReferences(outcome: Reconciled, list: JsonObject[]): void {
  for (const object of outcome.objects) {
    if (object["kind"] !== "XApp") continue;
    object["spec"] = { ...child(object, "spec"), resourceRefs: list };
  }
}

export function addReference(outcome: Reconciled, object: JsonObject): void {
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

export function merged(base: JsonObject, overlay: JsonObject): JsonObject {
  const result: Record<string, JsonValue> = { ...base };
  for (const [key, value] of Object.entries(overlay)) {
    const there = result[key];
    result[key] = isObject(value) && isObject(there) ? merged(there, value) : value;
  }
  return result;
}
