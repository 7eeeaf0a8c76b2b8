import { isObject, type JsonObject, type JsonValue } from "@xfn/json";
import { child, list, type Rule } from "../rule.ts";
import { isBooleanCheck } from "./readiness.ts";
import { convertsJson, joins } from "./transforms.ts";

/** Features of later versions are valid. */
export const laterFeatures: Rule = {
  name: "validation-of-later-features",
  file: "functionio-merge",
  reason:
    "Convert to object and array with format json, string Join, MatchTrue and MatchFalse are valid. v1.13 rejects them.",
  applies: (vector) => vector.group === "validation" && used(child(vector, "validate")).length > 0,
  outcome: (vector, recorded) => {
    if ("error" in recorded || !isObject(recorded.output)) return recorded;
    const later = used(child(vector, "validate"));
    const refused = later.flatMap(({ valid }) => valid);
    const errors = namesOf(recorded.output["errors"]).filter((field) => !refused.includes(field));
    const all = [...new Set([...errors, ...later.flatMap(({ missing }) => missing)])].toSorted();
    return { output: { valid: all.length === 0, errors: all } };
  },
};

/** The invalid fields, which a file records as errors with their field, or as the fields alone. */
function namesOf(errors: JsonValue | undefined): string[] {
  if (!Array.isArray(errors)) return [];
  return errors.map((error) => String(isObject(error) ? error["field"] : error));
}

/** A use of a feature that v1.13 lacks: its valid fields, and its missing ones. */
interface Use {
  valid: string[];
  missing: string[];
}

function used(spec: JsonObject): Use[] {
  const uses: Use[] = [];
  for (const field of ["resources", "patchSets"]) {
    for (const [index, owner] of list(spec[field]).entries()) {
      const path = `spec.${field}[${index}]`;
      for (const [patchIndex, patch] of list(owner["patches"]).entries()) {
        for (const [at, transform] of list(patch["transforms"]).entries()) {
          uses.push(...useOfTransform(transform, `${path}.patches[${patchIndex}].transforms[${at}]`));
        }
      }
      for (const [at, check] of list(owner["readinessChecks"]).entries()) {
        if (!isBooleanCheck(check)) continue;
        const checkPath = `${path}.readinessChecks[${at}]`;
        const missing = (check["fieldPath"] ?? "") === "" ? [`${checkPath}.fieldPath`] : [];
        uses.push({ valid: [`${checkPath}.type`], missing });
      }
    }
  }
  return uses;
}

function useOfTransform(transform: JsonObject, path: string): Use[] {
  if (convertsJson(transform)) {
    const { toType } = child(transform, "convert");
    // Only these types have the format json.
    const isNew = toType === "object" || toType === "array";
    return [{ valid: isNew ? [`${path}.convert.toType`, `${path}.convert.format`] : [], missing: [] }];
  }
  if (!joins(transform)) return [];
  const join = child(transform, "string")["join"];
  const missing = join === undefined ? `${path}.string.join` : `${path}.string.join.separator`;
  const complete = isObject(join) && join["separator"] !== undefined;
  return [{ valid: [`${path}.string.type`], missing: complete ? [] : [missing] }];
}
