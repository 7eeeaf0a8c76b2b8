import { objectAt, objectsAt, textOrEmpty } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";

/** The clocks of a cluster's API servers differ by less. */
const CLOCK_SKEW_MS = 30_000;

/** The time at which field managers wrote a field. */
interface Written {
  readonly managers: readonly unknown[];
  /** The path of the field in FieldsV1, such as `f:spec`. */
  readonly path: readonly string[];
}

/**
 * Whether one of these managers wrote a field of an object before the object was created: `older` if a restore from a
 * backup created it, with its managed fields, as Velero does. `foreign` if only other managers own the field.
 */
export function ageOf(object: LiveObject, { managers, path }: Written): "absent" | "foreign" | "older" | "own" {
  const [last = "", ...reversed] = path.toReversed();
  const parents = reversed.toReversed();
  const owners = objectsAt(object, "metadata", "managedFields").filter((entry) =>
    Object.hasOwn(objectAt(entry, "fieldsV1", ...parents), last),
  );
  if (owners.length === 0) return "absent";
  const own = owners.filter(({ manager }) => managers.includes(manager));
  if (own.length === 0) return "foreign";
  const created = Date.parse(textOrEmpty(object, "metadata", "creationTimestamp"));
  return own.every((entry) => Date.parse(textOrEmpty(entry, "time")) < created - CLOCK_SKEW_MS) ? "older" : "own";
}
