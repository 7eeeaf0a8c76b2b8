import { formatFieldPath } from "@xfn/composition";
import {
  isObject,
  type JsonObject,
  type JsonPath,
  type JsonValue,
  type KubernetesObject,
  newObject,
  sameJson,
} from "@xfn/json";
import { printJson } from "@xfn/json/text";
import { type SecretValues, secretFields } from "@xfn/pipeline/trace";
import { isSecret } from "../objects/kinds.ts";
import { shortened } from "../objects/shortened.ts";

/** A field of a composed resource that a revision would change. Values are JSON, shortened, without secrets. */
export interface Difference {
  /** The name of the entry. */
  readonly resource: string;
  /** Such as `spec.size`; empty for the whole object. */
  readonly path: string;
  /** Absent: the field, or the object, does not exist. */
  readonly applied?: string;
  /** Absent: the field, or the object, would be deleted. */
  readonly desired?: string;
}

/** The text in place of a secret value. */
const MASK = "(masked)";

const MAX_VALUE = 120;
const MAX_PATH = 200;

/** Fields with a secret value in many kinds, in addition to those that a trace hides. */
const SECRET_FIELD = /(?:password|passwd|token|secret|credentials?|private_?key)$/i;
const SERVER_FIELDS: readonly string[] = [
  "managedFields",
  "resourceVersion",
  "generation",
  "uid",
  "creationTimestamp",
  "ownerReferences",
];

/**
 * The fields in which an object would change.
 *
 * @param applied as it exists; undefined if it would be created
 * @param desired as it would exist; undefined if it would be deleted
 * @param secrets values that are masked wherever they are
 */
export function differencesOf(
  resource: string,
  applied: KubernetesObject | undefined,
  desired: KubernetesObject | undefined,
  secrets: Pick<SecretValues, "isIn">,
): Difference[] {
  const title = (object: KubernetesObject): string => JSON.stringify(`${object.kind} ${object.metadata?.name}`);
  if (applied === undefined || desired === undefined) {
    if (desired !== undefined) return [{ resource, path: "", desired: title(desired) }];
    return applied === undefined ? [] : [{ resource, path: "", applied: title(applied) }];
  }
  const found: Difference[] = [];
  const shownName = (name: string | number): string | number =>
    typeof name === "string" && secrets.isIn(name) ? MASK : name;
  const hidesAll = isSecret(desired);
  const hides = [secretFields(applied), secretFields(desired)];
  const compare = (before: JsonValue | undefined, after: JsonValue | undefined, at: Place): void => {
    if (sameJson(before ?? null, after ?? null)) return;
    const hidden = at.hidden || namesSecret(before) || namesSecret(after);
    if (isObject(before) && isObject(after)) {
      for (const key of new Set([...Object.keys(before), ...Object.keys(after)]))
        compare(own(before, key), own(after, key), {
          path: [...at.path, key],
          hidden: hidden || SECRET_FIELD.test(key),
        });
    } else if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
      for (const [index, value] of after.entries())
        compare(before[index], value, { path: [...at.path, index], hidden });
    } else {
      const isHidden = hidden || hides.some((hidesAt) => hidesAt(at.path));
      const show = (value: JsonValue): string =>
        isHidden ? MASK : shortened(printJson(withoutSecrets(value, secrets)), MAX_VALUE);
      const path = shortened(formatFieldPath(at.path.map(shownName)), MAX_PATH);
      const values = {
        ...(before !== undefined && { applied: show(before) }),
        ...(after !== undefined && { desired: show(after) }),
      };
      found.push({ resource, path, ...values });
    }
  };
  // All fields of a Secret: an annotation of kubectl has a copy of its data.
  compare(comparable(applied), comparable(desired), { path: [], hidden: hidesAll });
  return found;
}

interface Place {
  readonly path: JsonPath;
  /** Whether values here are secret. */
  readonly hidden: boolean;
}

/** Whether an object is a named value, such as an environment variable, with the name of a secret. */
function namesSecret(value: JsonValue | undefined): boolean {
  const name = isObject(value) ? own(value, "name") : undefined;
  return typeof name === "string" && SECRET_FIELD.test(name);
}

/** An object without its status and without what the server sets. */
function comparable({ metadata = {}, ...object }: KubernetesObject): JsonObject {
  const kept = newObject();
  for (const [field, value] of Object.entries(metadata))
    if (value !== undefined && !SERVER_FIELDS.includes(field)) kept[field] = value;
  const copy: JsonObject = { ...object, metadata: kept };
  delete copy["status"];
  return copy;
}

function own(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function withoutSecrets(value: JsonValue, secrets: Pick<SecretValues, "isIn">): JsonValue {
  if (typeof value === "string") return secrets.isIn(value) ? MASK : value;
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, secrets));
  if (!isObject(value)) return value;
  if (namesSecret(value)) return MASK;
  const copy = newObject();
  for (const key of Object.keys(value))
    copy[secrets.isIn(key) ? MASK : key] = SECRET_FIELD.test(key)
      ? MASK
      : withoutSecrets(own(value, key) ?? null, secrets);
  return copy;
}
