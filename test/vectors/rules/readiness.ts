import { type GoValue, getFieldPath, goKind, isNotFound } from "@xfn/composition";
import type { JsonObject } from "@xfn/json";
import { readiness } from "../adapters/readiness.ts";
import { attempt, list, type Rule } from "../rule.ts";
import type { Expected } from "../vector-file.ts";

/** Checks of later versions. */
export const matchTrueFalse: Rule = {
  name: "readiness-match-true-false",
  file: "readiness",
  reason: "The checks MatchTrue and MatchFalse exist. v1.13 has neither.",
  applies: (vector) => list(vector["readinessChecks"]).some(isBooleanCheck),
  outcome: (vector) => {
    for (const check of list(vector["readinessChecks"])) {
      const expected = isBooleanCheck(check)
        ? booleanCheck(vector["resource"] as JsonObject, check)
        : attempt(() => readiness.run({ ...vector, readinessChecks: [check] }));
      if ("error" in expected || expected.output !== true) return expected;
    }
    return { output: true };
  },
};

/** Whether v1.13 lacks a check. */
export function isBooleanCheck(check: JsonObject): boolean {
  return check["type"] === "MatchTrue" || check["type"] === "MatchFalse";
}

/** A missing field is not ready. A field that is not a boolean, and a check without a field path, are errors. */
function booleanCheck(resource: JsonObject, check: JsonObject): Expected {
  const path = check["fieldPath"];
  if (typeof path !== "string" || path === "") return { error: `${String(check["type"])} without a field path` };
  let value: GoValue;
  try {
    value = getFieldPath(resource, path);
  } catch (error) {
    return isNotFound(error) ? { output: false } : { error: String(error) };
  }
  if (goKind(value) !== "bool") return { error: "the field is not a boolean" };
  return { output: value === (check["type"] === "MatchTrue") };
}
