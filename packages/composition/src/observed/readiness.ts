import { CodedError } from "@xfn/errors";
import type { ReadinessCheck } from "@xfn/functionio";
import type { JsonObject, JsonValue } from "@xfn/json";
import { FieldPathError, findFieldPath, parseFieldPath } from "../field-path/field-path.ts";
import { asInt64, goKind } from "../values/go-value.ts";
import { isObject, kindOf } from "../values/json.ts";

export const READINESS_CHECK_TYPES: readonly ReadinessCheck["type"][] = [
  "NonEmpty",
  "MatchString",
  "MatchInteger",
  "MatchTrue",
  "MatchFalse",
  "MatchCondition",
  "None",
];

/**
 * A readiness check could not be evaluated. The message names the check and the field path, never a value.
 * `InvalidCheck`: the check itself is wrong. `CannotCheck`: the value in the resource has another type.
 */
export class ReadinessError extends CodedError<"InvalidCheck" | "CannotCheck"> {
  override readonly name = "ReadinessError";
  /** The index of the check. */
  readonly index: number;

  constructor(code: ReadinessError["code"], index: number, message: string, options?: ErrorOptions) {
    super(code, `readinessChecks[${index}]: ${message}`, options);
    this.index = index;
  }
}

/**
 * The origin of a check. In a `template` of a Composition an empty field is not set, so it cannot match the empty
 * string or 0. A `function` can match them.
 */
export type ReadinessSource = "template" | "function";

/**
 * Whether an observed composed resource is ready: all checks must pass. Without checks, the condition `Ready` must be
 * `True`. Evaluation stops at the first check that fails. A missing field fails. As in Crossplane, `NonEmpty` passes
 * for every existing value, even an empty one.
 *
 * @throws {ReadinessError}
 */
export function isReady(
  resource: JsonObject,
  checks: readonly ReadinessCheck[] = [],
  source: ReadinessSource = "function",
): boolean {
  if (checks.length === 0) return conditionStatus(resource, "Ready") === "True";
  return checks.every((check, index) => holds(resource, check, index, source));
}

/** Whether a resource that does not exist yet is ready: only if all checks are `None`. */
export function isReadyUnobserved(checks: readonly ReadinessCheck[] = []): boolean {
  return checks.length > 0 && checks.every((check) => check.type === "None");
}

/**
 * The status of a condition: `True`, `False` or `Unknown`, the last also for a missing condition. As in Crossplane, it
 * is undefined, and matches nothing, if the resource has no status or invalid conditions.
 */
export function conditionStatus(resource: JsonObject, type: string): string | undefined {
  const status = Object.hasOwn(resource, "status") ? resource["status"] : undefined;
  if (status === undefined) return undefined;
  const conditions = status === null ? null : isObject(status) ? (status["conditions"] ?? null) : undefined;
  if (conditions === null) return "Unknown";
  if (!Array.isArray(conditions) || !conditions.every(isCondition)) return undefined;
  const condition = conditions.find((one) => text(one, "type") === type);
  return condition === undefined ? "Unknown" : text(condition, "status");
}

const CONDITION_FIELDS = ["type", "status", "lastTransitionTime", "reason", "message"] as const;

/** Go decodes all conditions at once, so an invalid one fails all. */
function isCondition(value: JsonValue): value is JsonObject | null {
  if (value === null) return true;
  return isObject(value) && CONDITION_FIELDS.every((field) => typeof (value[field] ?? "") === "string");
}

/** A field of a condition, "" if absent or null. */
function text(condition: JsonObject | null, field: "type" | "status"): string {
  const value = condition?.[field];
  return typeof value === "string" ? value : "";
}

function holds(resource: JsonObject, check: ReadinessCheck, index: number, source: ReadinessSource): boolean {
  const invalid = (message: string): ReadinessError => new ReadinessError("InvalidCheck", index, message);
  const expected = <T>(value: T | undefined | null, field: string): T => {
    const unset = source === "template" && (value === "" || value === 0 || value === 0n);
    if (value === undefined || value === null || unset) throw invalid(`type ${check.type} needs ${field}`);
    return value;
  };
  switch (check.type) {
    case "None":
      return true;
    case "MatchCondition": {
      const condition = expected(check.matchCondition, "matchCondition");
      return (conditionStatus(resource, condition.type ?? "") ?? "") === (condition.status ?? "");
    }
    case "NonEmpty":
      return look(resource, expected(check.fieldPath, "fieldPath"), index) !== undefined;
    case "MatchString": {
      const wanted = expected(check.matchString, "matchString");
      const path = expected(check.fieldPath, "fieldPath");
      return typed(look(resource, path, index), "string", path, index) === wanted;
    }
    case "MatchInteger": {
      const wanted = expected(check.matchInteger, "matchInteger");
      if (goKind(wanted) !== "int64") throw invalid("matchInteger is not an integer of 64 bits");
      const path = expected(check.fieldPath, "fieldPath");
      return integer(look(resource, path, index), path, index) === asInt64(wanted);
    }
    case "MatchTrue":
    case "MatchFalse": {
      const path = expected(check.fieldPath, "fieldPath");
      return typed(look(resource, path, index), "boolean", path, index) === (check.type === "MatchTrue");
    }
    default:
      throw invalid(`there is no type ${JSON.stringify(check.type)}; use one of ${READINESS_CHECK_TYPES.join(", ")}`);
  }
}

/** The value at a path. Undefined if it does not exist yet. */
function look(resource: JsonObject, path: string, index: number): JsonValue | undefined {
  try {
    return findFieldPath(resource, parseFieldPath(path));
  } catch (cause) {
    if (!(cause instanceof FieldPathError)) throw cause;
    throw new ReadinessError(cause.code === "WrongType" ? "CannotCheck" : "InvalidCheck", index, cause.message, {
      cause,
    });
  }
}

function typed(
  value: JsonValue | undefined,
  type: "string" | "boolean",
  path: string,
  index: number,
): string | boolean | undefined {
  if (value === undefined) return undefined;
  if ((typeof value === "string" || typeof value === "boolean") && typeof value === type) return value;
  throw new ReadinessError("CannotCheck", index, `${path}: expected a ${type}, found ${kindOf(value)}`);
}

function integer(value: JsonValue | undefined, path: string, index: number): bigint | undefined {
  if (value === undefined) return undefined;
  if ((typeof value === "number" || typeof value === "bigint") && goKind(value) === "int64") return asInt64(value);
  throw new ReadinessError("CannotCheck", index, `${path}: expected an integer, found ${kindOf(value)}`);
}
