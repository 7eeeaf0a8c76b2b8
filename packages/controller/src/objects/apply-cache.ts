import { createHash } from "node:crypto";
import { canonicalJson, type JsonObject, type JsonValue, type KubernetesObject, newObject, sameJson } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { appliedFields, lastApplied, project } from "./applied-fields.ts";

/** The manager of an apply, and the part of the object that it writes. */
export interface ApplyOptions {
  readonly fieldManager: string;
  readonly subresource?: "status" | undefined;
}

/**
 * Tells whether a server-side apply would change something.
 *
 * The decision is safe because it uses `managedFields` of the observed object. An apply changes an object only if it
 * sets a field to another value, takes over a field, or gives one up. It changes nothing if the manager owns exactly
 * the fields of the intent, with its values. If another writer changes such a field, its value changes. If another
 * writer removes it, the manager's entry loses it. Both are visible here. A stale cache shows an older object, and the
 * event that updates the cache reconciles again.
 *
 * A server may store a value in another form (the quantity "1000m" becomes "1"), or drop a field that the schema lacks.
 * The comparison then always fails. Therefore the last intent is recorded with the values that the server stored for
 * it: the same intent on the same stored values has the same result.
 */
export class ApplyCache {
  readonly #sent: Map<string, { intent: string; owned: string }> = new Map();

  /** Whether an apply would change nothing. */
  isApplied(intent: KubernetesObject, observed: LiveObject, options: ApplyOptions): boolean {
    if (intent.apiVersion !== observed.apiVersion) return false;
    if (isAsOwned(intent, observed, options)) return true;
    const sent = this.#sent.get(keyOf(observed, options));
    return sent !== undefined && sent.intent === digestOf(intent) && sent.owned === ownedText(observed, options);
  }

  /**
   * Records what the server stored for an intent.
   *
   * @param object the server's answer to the apply
   */
  record(intent: KubernetesObject, object: LiveObject, options: ApplyOptions): void {
    // Digests cost more than the comparison, so they are computed only where the comparison fails.
    const key = keyOf(object, options);
    const owned = isAsOwned(intent, object, options) ? undefined : ownedText(object, options);
    if (owned === undefined) this.#sent.delete(key);
    else this.#sent.set(key, { intent: digestOf(intent), owned });
  }

  /** Drops the record of a deleted object. */
  forget(uid: string): void {
    for (const subresource of ["", "status"]) this.#sent.delete(`${uid}/${subresource}`);
  }
}

/** Whether the manager owns exactly the fields of the intent, in its version, with its values. */
function isAsOwned(intent: KubernetesObject, object: LiveObject, options: ApplyOptions): boolean {
  const owned = lastApplied(object, options.fieldManager, options.subresource ?? "");
  // The server drops fields of another version with that version, so they must be applied again.
  if (owned === undefined || owned.apiVersion !== object.apiVersion) return false;
  const { fields } = owned;
  const wanted = withoutIdentity(intent);
  return sameJson(project(object, fields), wanted) && sameJson(project(wanted, fields), wanted);
}

function keyOf({ metadata }: LiveObject, { subresource = "" }: { subresource?: string | undefined }): string {
  return `${metadata.uid}/${subresource}`;
}

/** Fields that never appear in `managedFields`. */
const IDENTITY: readonly string[] = ["name", "namespace", "uid", "resourceVersion"];

function withoutIdentity(intent: KubernetesObject): JsonObject {
  const fields = without(intent, ["apiVersion", "kind", "metadata"]);
  const metadata = without(intent.metadata ?? {}, IDENTITY);
  return Object.keys(metadata).length === 0 ? fields : { ...fields, metadata };
}

function without(object: JsonObject, names: readonly string[]): JsonObject {
  const rest = newObject();
  for (const name of Object.keys(object)) if (!names.includes(name)) rest[name] = object[name] ?? null;
  return rest;
}

function ownedText(object: LiveObject, options: ApplyOptions): string | undefined {
  const fields = appliedFields(object, options.fieldManager, options.subresource ?? "");
  return fields === undefined ? undefined : digestOf([fields, project(object, fields)]);
}

/** Recorded in place of values, which may be long or secret. */
export function digestOf(value: JsonValue): string {
  return createHash("sha256").update(canonicalJson(value)).digest("base64");
}
