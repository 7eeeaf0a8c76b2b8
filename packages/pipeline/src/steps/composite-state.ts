import type { Desired, DesiredComposite, ExplicitConnectionDetail } from "@xfn/functionio";
import {
  firstDifference,
  isObject,
  type JsonObject,
  type JsonValue,
  type KubernetesObject,
  newObject,
} from "@xfn/json";
import type { CompositeResource } from "../observed/observed-entries.ts";
import type { CompositeView } from "./composite-view.ts";
import { labelled } from "./run-templates.ts";

/** The input of {@link CompositeState}. */
export interface CompositeStateInput {
  /** The observed XR. */
  composite: CompositeResource;
  connectionDetails: readonly ExplicitConnectionDetail[];
  /** The XR after the patches of templates to it. Absent if there were none. */
  patched?: JsonObject | undefined;
  /** The fields of the XR that those patches set. */
  desired: JsonObject | undefined;
  /** See `PipelineInput.applied`. */
  applied?: JsonObject | undefined;
}

/**
 * The XR in desired state. As in Crossplane 1.13, functions get all of it, with its connection details. Only the fields
 * that a function changes are desired: otherwise a function that returns its input would own the fields of users.
 *
 * Earlier runs have set some fields already, so a function that sets one again does not change it. Such a field of the
 * status is not given, which makes it a change. Other such fields are given, and desired as long as they are returned:
 * a function may compute them from their own values.
 */
export class CompositeState implements CompositeView {
  readonly #observed: KubernetesObject;
  readonly #applied: JsonObject;
  readonly #details: ReadonlyMap<string, string>;
  #given: DesiredComposite;
  #passedOn: readonly ExplicitConnectionDetail[] = [];

  constructor({ composite, connectionDetails, patched, desired, applied = {} }: CompositeStateInput) {
    const status = childOf(applied, "status") ?? {};
    this.#observed = withoutStatus(labelled(composite), status, {});
    this.#applied = applied;
    this.#details = new Map(connectionDetails.map(({ name, value }) => [name, value]));
    const resource = patched ? withoutStatus(patched, status, childOf(desired, "status") ?? {}) : this.#observed;
    this.#given = { resource, ...(connectionDetails.length > 0 && { connectionDetails: [...connectionDetails] }) };
  }

  /** Returns the same object until a function changes it. */
  get given(): DesiredComposite {
    return this.#given;
  }

  get passedOn(): readonly ExplicitConnectionDetail[] {
    return this.#passedOn;
  }

  take(returned: Desired["composite"], before: Desired["composite"]): DesiredComposite | undefined {
    const { resource, connectionDetails = [], ...rest } = returned ?? {};
    const given = { ...returned, resource: resource ?? this.#observed };
    if (firstDifference(this.#given, given) !== undefined) this.#given = given;
    const isPassedOn = ({ name, value }: ExplicitConnectionDetail): boolean => this.#details.get(name) === value;
    this.#passedOn = connectionDetails.filter(isPassedOn);
    const details = connectionDetails.filter((detail) => !isPassedOn(detail));
    const desired: DesiredComposite = rest;
    const changed = resource && this.#changed(resource, before?.resource);
    if (changed !== undefined) desired.resource = changed;
    // The function returned the XR without the fields of earlier runs, so they must go: desire an XR without them.
    else if (resource !== undefined && Object.keys(this.#applied).length > 0) desired.resource = kindOf(resource);
    if (details.length > 0) desired.connectionDetails = details;
    return Object.keys(desired).length === 0 ? undefined : desired;
  }

  #changed(resource: KubernetesObject, before: KubernetesObject | undefined): KubernetesObject | undefined {
    const { status: _, ...applied } = this.#applied;
    const changed = changedFields(resource, this.#observed, [withoutKind(before ?? {}), applied]);
    return changed && { ...kindOf(resource), ...changed };
  }
}

/** The API version and kind of an object, alone. */
export function kindOf({ apiVersion, kind }: KubernetesObject): KubernetesObject {
  return { ...(apiVersion !== undefined && { apiVersion }), ...(kind !== undefined && { kind }) };
}

// Every desired XR has its kind, which does not show that a field is desired.
function withoutKind(desired: JsonObject): JsonObject {
  const { apiVersion: _, kind: __, ...fields } = desired;
  return fields;
}

/** The fields that differ from the observed ones, or that one of the other objects has. A list is one field. */
export function changedFields(
  returned: JsonObject,
  observed: JsonObject,
  others: readonly JsonObject[],
): JsonObject | undefined {
  let changed: JsonObject | undefined;
  for (const key of Object.keys(returned)) {
    const value = returned[key] as JsonValue;
    const was = fieldOf(observed, key);
    const theirs = others.map((other) => fieldOf(other, key)).filter((one) => one !== undefined);
    let field: JsonValue | undefined;
    if (isObject(value) && isObject(was)) {
      field = changedFields(value, was, theirs.filter(isObject));
      // An empty object that was set before has no field that could keep it desired.
      if (isEmpty(value) && theirs.some((one) => isObject(one) && isEmpty(one))) field = value;
    } else if (theirs.length > 0 || firstDifference(value, was) !== undefined) field = value;
    if (field === undefined) continue;
    changed ??= newObject();
    changed[key] = field;
  }
  return changed;
}

function isEmpty(object: JsonObject): boolean {
  return Object.keys(object).length === 0;
}

/** The XR without the fields of its status that earlier runs set and this one does not. */
function withoutStatus(composite: JsonObject, applied: JsonObject, desired: JsonObject): KubernetesObject {
  const status = childOf(composite, "status");
  if (status === undefined || Object.keys(applied).length === 0) return composite;
  return { ...composite, status: without(status, applied, desired) };
}

function without(object: JsonObject, fields: JsonObject, except: JsonObject): JsonObject {
  const rest = newObject();
  for (const key of Object.keys(object)) {
    const value = object[key] as JsonValue;
    const removed = fieldOf(fields, key);
    const kept = fieldOf(except, key);
    if (removed === undefined || (kept !== undefined && !isObject(kept))) rest[key] = value;
    else if (isObject(value) && isObject(removed)) {
      const inner = without(value, removed, isObject(kept) ? kept : {});
      if (Object.keys(inner).length > 0) rest[key] = inner;
    }
  }
  return rest;
}

function childOf(object: JsonObject | undefined, key: string): JsonObject | undefined {
  const value = object && fieldOf(object, key);
  return isObject(value) ? value : undefined;
}

function fieldOf(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
