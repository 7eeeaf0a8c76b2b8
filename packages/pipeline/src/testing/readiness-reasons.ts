import { isDeepStrictEqual } from "node:util";
import { conditionStatus, isReady, ReadinessError } from "@xfn/composition";
import type { ReadinessCheck } from "@xfn/functionio";
import { type JsonObject, type KubernetesObject, objectsAt } from "@xfn/json";

/** The readiness checks of one composed resource. */
export interface EntryChecks {
  /** The checks of its template in the Composition. */
  template: readonly ReadinessCheck[];
  /** The checks that functions added. */
  functions: readonly ReadinessCheck[];
}

/**
 * Explains why a composed resource is not ready: one line for each failed check, without values of the resource.
 *
 * @param observed the object, if it exists
 */
export function readinessReasons(observed: KubernetesObject | undefined, checks: EntryChecks): string[] {
  if (observed === undefined) {
    return ["it does not exist yet: give what exists as `observed`"];
  }
  const { template, functions } = checks;
  if (template.length === 0 && functions.length === 0) return checkReason(observed, READY, 0, "function");
  return [
    ...template.flatMap((check, index) => checkReason(observed, check, index, "template")),
    ...functions.flatMap((check, index) => checkReason(observed, check, index, "function")),
  ];
}

/** The default check. */
const READY: ReadinessCheck = { type: "MatchCondition", matchCondition: { type: "Ready", status: "True" } };

function conditionOf({ status }: JsonObject, type: string): JsonObject | undefined {
  return objectsAt(status, "conditions").find((one) => one["type"] === type);
}

function checkReason(
  observed: KubernetesObject,
  check: ReadinessCheck,
  index: number,
  source: "template" | "function",
): string[] {
  try {
    if (isReady(observed, [check], source)) return [];
  } catch (error) {
    if (!(error instanceof ReadinessError)) throw error;
    // The first check was evaluated alone.
    return [error.message.replace("readinessChecks[0]", `readinessChecks[${index}]`)];
  }
  const reason = describe(check, observed);
  // This is the default check, which no author wrote.
  return [isDeepStrictEqual({ ...check }, READY) ? reason : `readinessChecks[${index}]: ${reason}`];
}

function describe(check: ReadinessCheck, observed: KubernetesObject): string {
  switch (check.type) {
    case "MatchCondition": {
      const { type = "", status = "" } = check.matchCondition ?? {};
      const condition = conditionOf(observed, type);
      if (condition === undefined) return `it has no condition ${type}`;
      const found = conditionStatus(observed, type) ?? "not of the form that Kubernetes gives conditions";
      const { reason } = condition;
      return `its condition ${type} is ${found}, not ${status}${typeof reason === "string" && reason !== "" ? ` (${reason})` : ""}`;
    }
    case "NonEmpty":
      return `${check.fieldPath} is not there`;
    case "MatchString":
      return `${check.fieldPath} is not ${JSON.stringify(check.matchString)}`;
    case "MatchInteger":
      return `${check.fieldPath} is not ${check.matchInteger}`;
    case "MatchTrue":
      return `${check.fieldPath} is not true`;
    case "MatchFalse":
      return `${check.fieldPath} is not false`;
    default:
      return `${check.type} does not hold`;
  }
}
