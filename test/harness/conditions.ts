import { isObject, type JsonObject } from "@xfn/json";

/** A condition of an object; empty if it has none of the type. */
export function condition(object: JsonObject | undefined, type: string): JsonObject {
  return listOf(object).find((one) => one["type"] === type) ?? {};
}

/** Returns the conditions of an object: `{ Ready: "True Available" }`. */
export function conditionsOf(object: JsonObject | undefined): Record<string, string> {
  return Object.fromEntries(
    listOf(object).map((one) => [String(one["type"]), [one["status"], one["reason"]].join(" ")]),
  );
}

function listOf(object: JsonObject | undefined): JsonObject[] {
  const status = object?.["status"];
  const conditions = isObject(status) ? status["conditions"] : undefined;
  return Array.isArray(conditions) ? conditions.filter(isObject) : [];
}
