import { createHash } from "node:crypto";
import type { JsonObject, JsonValue, KubernetesObject } from "@xfn/functionio";
import type { Client, LiveObject } from "@xfn/kubernetes";
import { applied, appliedFields, project } from "./applied-fields.ts";
import { canonicalJson } from "./canonical-json.ts";
import { sameJson } from "./same-json.ts";

/** How {@link AppliedMemory.apply} applies. */
export interface ApplyChangedOptions {
  readonly fieldManager: string;
  readonly subresource?: "status" | undefined;
  /** The write fails with `Conflict` unless the object is still as it was observed. */
  readonly onlyIfUnchanged?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What became of an apply. */
export interface Applied {
  readonly object: LiveObject;
  /** False: it was so already, and nothing was sent. */
  readonly written: boolean;
}

/**
 * Applies (server-side) what differs from what is there, and sends nothing where it would change nothing.
 *
 * That nothing is sent is safe because it is decided by what the server says that we own. An apply changes an object only if it
 * sets a field to another value, takes one over, or gives one up. So it changes nothing if the fields that we own are exactly
 * those of the intent, and have its values. Whoever changes such a field changes the value, and whoever takes one away takes
 * it from our entry in `managedFields`; both are seen here. A cache that lags behind shows an older object, and the event by
 * which it catches up reconciles again.
 *
 * A server may write a value in another form than it was given (a quantity of "1000m" becomes "1"), or drop a field that the
 * schema does not know. Then the comparison fails for ever, and what was sent last, with what the server made of it, is
 * remembered: the same intent on the same owned values would be answered in the same way.
 */
export class AppliedMemory {
  readonly #sent: Map<string, { intent: string; owned: string }> = new Map();

  /**
   * @param intent every field that is to be ours, and no other
   * @param observed the object as it is known to be; undefined if there is none: it is created
   * @throws {ApiError} `Conflict` also if the object observed is gone or another one has its name
   */
  async apply(
    client: Client,
    intent: KubernetesObject,
    observed: LiveObject | undefined,
    options: ApplyChangedOptions,
  ): Promise<Applied> {
    const { fieldManager, subresource, signal } = options;
    if (observed !== undefined && this.isApplied(intent, observed, options))
      return { object: observed, written: false };
    const object = await client.apply(observed === undefined ? intent : pinned(intent, observed, options), {
      fieldManager,
      ...(subresource && { subresource }),
      ...(signal && { signal }),
    });
    this.#remember(intent, object, options);
    return { object, written: true };
  }

  /** Whether an apply would change nothing. */
  isApplied(intent: KubernetesObject, observed: LiveObject, options: ApplyChangedOptions): boolean {
    if (intent.apiVersion !== observed.apiVersion) return false;
    if (isAsOwned(intent, observed, options)) return true;
    const sent = this.#sent.get(keyOf(observed, options));
    return sent !== undefined && sent.intent === digest(intent) && sent.owned === ownedText(observed, options);
  }

  /** What the server took as it was given is seen from the object. Digests, which cost more than the comparison, are for the rest. */
  #remember(intent: KubernetesObject, object: LiveObject, options: ApplyChangedOptions): void {
    const key = keyOf(object, options);
    const owned = isAsOwned(intent, object, options) ? undefined : ownedText(object, options);
    if (owned === undefined) this.#sent.delete(key);
    else this.#sent.set(key, { intent: digest(intent), owned });
  }

  /** Forgets an object that is gone. */
  forget(uid: string): void {
    for (const subresource of ["", "status"]) this.#sent.delete(`${uid}/${subresource}`);
  }
}

/** Whether the fields that we own, in the version that we apply, are exactly those of the intent, and have its values. */
function isAsOwned(intent: KubernetesObject, object: LiveObject, options: ApplyChangedOptions): boolean {
  const owned = applied(object, options.fieldManager, options.subresource ?? "");
  // What was applied in another version is applied again: the server forgets it when that version goes.
  if (owned === undefined || owned.apiVersion !== object.apiVersion) return false;
  const { fields } = owned;
  const wanted = withoutIdentity(intent);
  return sameJson(project(object, fields), wanted) && sameJson(project(wanted, fields), wanted);
}

function keyOf({ metadata }: LiveObject, { subresource = "" }: { subresource?: string | undefined }): string {
  return `${metadata.uid}/${subresource}`;
}

/** With the UID an apply cannot create what has gone meanwhile, nor change another object of the name. */
function pinned(
  intent: KubernetesObject,
  { metadata: { uid, resourceVersion } }: LiveObject,
  { onlyIfUnchanged = false }: ApplyChangedOptions,
): KubernetesObject {
  return { ...intent, metadata: { ...intent.metadata, uid, ...(onlyIfUnchanged && { resourceVersion }) } };
}

/** What `managedFields` never names. */
const IDENTITY: readonly string[] = ["name", "namespace", "uid", "resourceVersion"];

function withoutIdentity(intent: KubernetesObject): JsonObject {
  const fields = without(intent, ["apiVersion", "kind", "metadata"]);
  const metadata = without(intent.metadata ?? {}, IDENTITY);
  return Object.keys(metadata).length === 0 ? fields : { ...fields, metadata };
}

function without(object: JsonObject, names: readonly string[]): JsonObject {
  const rest = Object.create(null) as JsonObject;
  for (const name of Object.keys(object)) if (!names.includes(name)) rest[name] = object[name] ?? null;
  return rest;
}

function ownedText(object: LiveObject, options: ApplyChangedOptions): string | undefined {
  const fields = appliedFields(object, options.fieldManager, options.subresource ?? "");
  return fields === undefined ? undefined : digest([fields, project(object, fields)]);
}

/** Kept in place of values, which may be secrets and are long. */
function digest(value: JsonValue): string {
  return createHash("sha256").update(canonicalJson(value)).digest("base64");
}
