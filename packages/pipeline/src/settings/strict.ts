import type { Schema, SchemaIssue } from "@xfn/composition/schema";
import type { Desired, Observed } from "@xfn/functionio";
import {
  firstDifference,
  formatPath,
  isObject,
  type JsonObject,
  type JsonPath,
  type JsonValue,
  type KubernetesObject,
  newObject,
} from "@xfn/json";

/** The known schemas of kinds. */
export interface KindSchemas {
  /** The schema of a kind; undefined if it is not known. */
  of(apiVersion: string, kind: string): Schema | undefined | Promise<Schema | undefined>;
}

/** The state around a step. */
export interface StepStates {
  readonly observed: Observed;
  readonly before: Desired;
  readonly after: Desired;
}

/**
 * Compares the objects that a step desires with the schemas of their kinds. Skips entries that the step did not change.
 * An existing object has the fields of others too, so it is checked as it would be after the apply.
 *
 * @returns the problems, with entry and field, and without a value
 */
export async function schemaProblems(states: StepStates, schemas: KindSchemas): Promise<string[]> {
  const existing = entriesOf(states.observed);
  const before = entriesOf(states.before);
  const problems: string[] = [];
  for (const [title, resource] of entriesOf(states.after)) {
    const was = before.get(title);
    if (was === resource || (was !== undefined && firstDifference(was, resource) === undefined)) continue;
    const { apiVersion, kind } = resource;
    if (typeof apiVersion !== "string" || typeof kind !== "string") continue;
    const schema = await schemas.of(apiVersion, kind);
    if (schema === undefined) continue;
    const known = existing.get(title);
    const found = problemsOf(resource, known?.kind === kind ? known : undefined, schema);
    problems.push(...found.map((problem) => `${title} (${kind}): ${problem}`));
  }
  return problems;
}

/** The objects of a state, by their titles in messages. */
function entriesOf({ composite, resources = [] }: Desired | Observed): ReadonlyMap<string, KubernetesObject> {
  const entries = new Map<string, KubernetesObject>();
  if (composite?.resource !== undefined) entries.set("desired.composite", composite.resource);
  for (const { name, resource } of resources) {
    if (resource !== null) entries.set(`desired.resources ${JSON.stringify(name)}`, resource);
  }
  return entries;
}

function problemsOf(resource: KubernetesObject, existing: KubernetesObject | undefined, schema: Schema): string[] {
  // The pipeline adds metadata to an object that has none.
  const wanted: JsonObject = { metadata: {}, ...resource };
  const whole = existing === undefined ? wanted : overlaid(existing, wanted);
  const issues = schema.validate(schema.default(whole), existing).filter((issue) => concerns(wanted, issue));
  const unknown = schema.prune(wanted).unknown.map((at) => `${formatPath(at)}: unknown field`);
  return [...issues.map(describe), ...unknown];
}

/** An object after an apply, except that lists are replaced as a whole. */
function overlaid(existing: JsonObject, wanted: JsonObject): JsonObject {
  const result: JsonObject = Object.assign(newObject(), existing);
  for (const key of Object.keys(wanted)) {
    const value = wanted[key] as JsonValue;
    const was = result[key];
    result[key] = isObject(value) && isObject(was) ? overlaid(was, value) : value;
  }
  return result;
}

/** Whether an issue is about a field that the step desires, and not about one of the existing object alone. */
function concerns(wanted: JsonObject, { at, reason }: SchemaIssue): boolean {
  const path: JsonPath = reason === "Required" ? at.slice(0, -1) : at;
  let value: JsonValue | undefined = wanted;
  for (const key of path) {
    if (Array.isArray(value)) value = value[Number(key)];
    else value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
    if (value === undefined) return false;
  }
  return true;
}

function describe({ path, reason, message, rule, isComputed }: SchemaIssue): string {
  const field = path === "" ? "the object" : path;
  // A messageExpression can quote values.
  if (isComputed === true) return `${field}: failed rule: ${rule}`;
  if (reason === "Required") return `${field}: is required${message === "" ? "" : `: ${message}`}`;
  return `${field}: ${message === "" ? reason : message}`;
}
