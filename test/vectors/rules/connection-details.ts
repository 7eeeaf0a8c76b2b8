import type { JsonObject } from "@xfn/json";
import { connectionDetails } from "../adapters/connection-details.ts";
import { attempt, list, type Rule } from "../rule.ts";

/** The reference infers types for templates only. */
export const functionDetailTypes: Rule = {
  name: "function-connection-details-types",
  file: "connection-details",
  reason:
    "A function's connection detail without a type gets that of the field that is set, as in a template. The reference skips it.",
  applies: (vector) => vector["source"] === "function" && list(vector["connectionDetails"]).some(isUntyped),
  // The result with explicit types, which other vectors compare with the reference.
  outcome: (vector) =>
    attempt(() =>
      connectionDetails.run({
        ...vector,
        connectionDetails: list(vector["connectionDetails"]).map((detail) =>
          isUntyped(detail) ? { ...detail, type: typeByField(detail) } : detail,
        ),
      }),
    ),
};

function isUntyped(detail: JsonObject): boolean {
  return detail["type"] === undefined;
}

function typeByField(detail: JsonObject): string {
  if (detail["value"] !== undefined) return "FromValue";
  if (detail["fromConnectionSecretKey"] !== undefined) return "FromConnectionSecretKey";
  return detail["fromFieldPath"] !== undefined ? "FromFieldPath" : "FromConnectionSecretKey";
}
