import { isObject, type JsonObject, type JsonValue } from "@xfn/json";
import type { Client, LiveObject, RequestOptions } from "../client/client.ts";
import { ReferenceResolutionError } from "./reference-error.ts";
import {
  keyOf,
  parentOf,
  pathText,
  type ReferenceField,
  type ReferenceSelector,
  readSelector,
} from "./reference-field.ts";

const EXTERNAL_NAME = "crossplane.io/external-name";

/**
 * Gives fields of a resource the values of the objects to which they refer. First writes the references that selectors
 * choose, then the values. Makes no request if all fields are resolved.
 *
 * A field that has a value keeps it. A reference wins over a selector. A selector chooses the first matching object by
 * name, and keeps its choice. Objects that are being deleted, and the resource itself, never match.
 *
 * @param resource the resource as the provider read it. The writes fail with `Conflict` if it has changed since
 * @returns the resource with its references and values
 * @throws {ReferenceResolutionError} after everything that can be resolved was written
 * @throws {ApiError}
 */
export async function resolveReferences(
  client: Pick<Client, "update">,
  resource: LiveObject,
  fields: readonly ReferenceField[],
  options: RequestOptions = {},
): Promise<LiveObject> {
  const problems: ReferenceResolutionError[] = [];
  const selected = await write(client, resource, options, (copy) =>
    attemptAll(fields, problems, (field) => select(copy, field)),
  );
  const resolved = await write(client, selected, options, (copy) =>
    attemptAll(fields, problems, (field) => evaluate(copy, field)),
  );
  const [first] = problems;
  if (first === undefined) return resolved;
  // A problem that no other object can resolve decides: waiting would not help.
  const worst = problems.find(({ retryable }) => !retryable) ?? first;
  throw new ReferenceResolutionError(worst.code, problems.map(({ message }) => message).join("; "));
}

/** Updates the resource if a function changes a copy of it. */
async function write(
  client: Pick<Client, "update">,
  resource: LiveObject,
  options: RequestOptions,
  change: (copy: LiveObject) => boolean,
): Promise<LiveObject> {
  const copy = structuredClone(resource);
  return change(copy) ? await client.update(copy, options) : resource;
}

/** Tries each field, so that one which fails does not delay the others. Returns whether one changed. */
function attemptAll(
  fields: readonly ReferenceField[],
  problems: ReferenceResolutionError[],
  change: (field: ReferenceField) => boolean,
): boolean {
  let changed = false;
  for (const field of fields) {
    try {
      changed = change(field) || changed;
    } catch (error) {
      if (!(error instanceof ReferenceResolutionError)) throw error;
      problems.push(error);
    }
  }
  return changed;
}

/** Sets the reference of a field from its selector. */
function select(resource: LiveObject, { path, target }: ReferenceField): boolean {
  const parent = parentOf(resource, path);
  const written = parent?.[keyOf(path, "Selector")];
  if (parent === undefined || isSet(parent[keyOf(path)]) || isSet(parent[keyOf(path, "Ref")]) || !isSet(written)) {
    return false;
  }
  const field = pathText(path, "Selector");
  const selector = readSelector(written, field);
  const controller = controllerUid(resource);
  if (selector.matchesController && controller === undefined) {
    const problem = "matchControllerRef needs a controller, and this object has none; use matchLabels, or compose it";
    throw new ReferenceResolutionError("InvalidReference", `${field}: ${problem}`);
  }
  const { namespace } = resource.metadata;
  const [chosen] = target.cache
    .list(target.kind.namespaced ? namespace : undefined)
    .filter((candidate) => matches(candidate, selector, controller) && candidate.metadata.uid !== resource.metadata.uid)
    .toSorted(
      (a, b) => compare(a.metadata.name, b.metadata.name) || compare(a.metadata.namespace, b.metadata.namespace),
    );
  if (chosen === undefined) {
    const problem = `no ${target.kind.kind} matches yet; create one with ${describeSelector(selector)}`;
    throw new ReferenceResolutionError("ReferenceNotResolved", `${field}: ${problem}`);
  }
  const { name, namespace: place } = chosen.metadata;
  parent[keyOf(path, "Ref")] = place === undefined || place === namespace ? { name } : { name, namespace: place };
  return true;
}

/** Sets the value of a field from its reference. */
function evaluate(resource: LiveObject, { path, target, value = externalName }: ReferenceField): boolean {
  const parent = parentOf(resource, path);
  const written = parent?.[keyOf(path, "Ref")];
  if (parent === undefined || isSet(parent[keyOf(path)]) || !isSet(written)) return false;
  const field = pathText(path, "Ref");
  const { name, namespace = resource.metadata.namespace } = readReference(written, field);
  const { kind } = target.kind;
  const found = target.cache.get(name, target.kind.namespaced ? namespace : undefined);
  const pending = (problem: string): Error =>
    new ReferenceResolutionError("ReferenceNotResolved", `${field}: ${kind} ${name} ${problem}`);
  if (found === undefined) throw pending("does not exist yet");
  if (found.metadata.uid === resource.metadata.uid)
    throw new ReferenceResolutionError("InvalidReference", `${field}: ${kind} ${name} refers to itself; name another`);
  if (found.metadata["deletionTimestamp"] !== undefined) throw pending("is being deleted; name another");
  const result = value(found);
  if (!isSet(result)) throw pending("has no value for the field yet");
  parent[keyOf(path)] = result;
  return true;
}

function readReference(written: JsonValue, field: string): { name: string; namespace?: string } {
  const name = isObject(written) ? written["name"] : undefined;
  const namespace = isObject(written) ? written["namespace"] : undefined;
  if (typeof name !== "string" || name === "")
    throw new ReferenceResolutionError("InvalidReference", `${field}: name is missing`);
  return { name, ...(typeof namespace === "string" && namespace !== "" && { namespace }) };
}

function matches(
  candidate: LiveObject,
  { matchesController, labels }: ReferenceSelector,
  controller: string | undefined,
): boolean {
  const { metadata } = candidate;
  if (metadata["deletionTimestamp"] !== undefined) return false;
  if (matchesController && controllerUid(candidate) !== controller) return false;
  return [...labels].every(([label, value]) => metadata.labels?.[label] === value);
}

function describeSelector({ matchesController, labels }: ReferenceSelector): string {
  const wanted = [...labels].map(([label, value]) => `the label ${label}=${value}`);
  if (matchesController) wanted.push("the same controller");
  return wanted.join(" and ");
}

function controllerUid({ metadata }: LiveObject): string | undefined {
  const owners: JsonValue | undefined = metadata["ownerReferences"];
  if (!Array.isArray(owners)) return undefined;
  const controller = owners.find((owner): owner is JsonObject => isObject(owner) && owner["controller"] === true);
  const uid = controller?.["uid"];
  return typeof uid === "string" ? uid : undefined;
}

function externalName({ metadata }: LiveObject): JsonValue | undefined {
  return metadata.annotations?.[EXTERNAL_NAME];
}

/** Whether a field has a value. Go providers write an unset string as "". */
function isSet(value: JsonValue | undefined): value is JsonValue {
  return value !== undefined && value !== null && value !== "";
}

function compare(a = "", b = ""): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
