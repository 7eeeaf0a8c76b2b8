import { type GoValue, getFieldPath, goKind, isNotFound } from "@xfn/composition";
import { isObject, type JsonObject, type JsonValue } from "@xfn/functionio";
import { connectionDetails } from "./adapters/connection-details.ts";
import { readiness } from "./adapters/readiness.ts";
import type { Expected, VectorCase } from "./vector-file.ts";

/**
 * Where our outcome differs from the reference's on purpose. A rule speaks of inputs, not of the names of cases, so that
 * it holds for any folder of vectors. docs/conformance.md lists the rules; a test keeps the two alike.
 */
export interface Rule {
  name: string;
  /** The kind of file whose cases it is for. */
  file: string;
  /** Why we differ, in a sentence. */
  reason: string;
  /** Whether it is about a case; decided by the case's input only. */
  applies(vector: VectorCase): boolean;
  /** What is to come out instead, where the reference says `recorded`. */
  outcome(vector: VectorCase, recorded: Expected): Expected;
}

export const rules: readonly Rule[] = [
  {
    name: "function-connection-details-types",
    file: "connection-details",
    reason:
      "A function's connection detail without a type is read as a template's is: by the field that is set. The reference leaves it out without a word.",
    applies: (vector) => vector["source"] === "function" && list(vector["connectionDetails"]).some(isUntyped),
    // What the same details come to with the types written out, which other vectors compare with the reference.
    outcome: (vector) =>
      attempt(() =>
        connectionDetails.run({
          ...vector,
          connectionDetails: list(vector["connectionDetails"]).map((detail) =>
            isUntyped(detail) ? { ...detail, type: typeByField(detail) } : detail,
          ),
        }),
      ),
  },
  {
    name: "readiness-match-true-false",
    file: "readiness",
    reason: "The checks MatchTrue and MatchFalse exist; v1.13 has neither.",
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
  },
];

function list(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function attempt(run: () => unknown): Expected {
  try {
    return { output: run() };
  } catch (error) {
    return { error: String(error) };
  }
}

function isUntyped(detail: JsonObject): boolean {
  return detail["type"] === undefined;
}

function typeByField(detail: JsonObject): string {
  if (detail["value"] !== undefined) return "FromValue";
  if (detail["fromConnectionSecretKey"] !== undefined) return "FromConnectionSecretKey";
  return detail["fromFieldPath"] !== undefined ? "FromFieldPath" : "FromConnectionSecretKey";
}

function isBooleanCheck(check: JsonObject): boolean {
  return check["type"] === "MatchTrue" || check["type"] === "MatchFalse";
}

/** A field that is not there is not ready yet; one that is no boolean, and a check without a field path, are errors. */
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
