import { messageOf } from "@xfn/errors";
import {
  type FunctionCondition,
  type FunctionResponse,
  type FunctionResult,
  type FunctionRun,
  type State as FunctionState,
  NO_REQUIREMENTS,
  type Requirements,
  type ResourceSelector,
  type ResourceState,
  type SchemaSelector,
  type Target,
} from "@xfn/function-grpc";
import { isObject, type JsonObject, type JsonValue, valueAt } from "@xfn/json";
import { RecordingError } from "./recording-error.ts";
import { isMask } from "./secret-masks.ts";

/**
 * The response of a recorded call of a function package.
 *
 * @throws {RecordingError} `Invalid`
 */
export function readRun(document: JsonObject, step: string): FunctionRun {
  try {
    const rounded = optionalList(document, "rounded").filter((field) => typeof field === "string");
    return { response: responseOf(document), rounded, requestBytes: 0, responseBytes: 0 };
  } catch (cause) {
    const reason = messageOf(cause);
    throw new RecordingError("Invalid", `the recorded output of step ${JSON.stringify(step)} is invalid: ${reason}`, {
      step,
      cause,
    });
  }
}

function responseOf(document: JsonObject): FunctionResponse {
  const { context, output, ttlMs } = document;
  const requirements = optionalObject(document, "requirements");
  return {
    desired: stateOf(optionalObject(document, "desired")),
    results: optionalList(document, "results").map(resultOf),
    conditions: optionalList(document, "conditions").map(conditionOf),
    ...(isObject(context) && { context }),
    requirements: requirements === undefined ? NO_REQUIREMENTS : requirementsOf(requirements),
    ...(isObject(output) && { output }),
    ...(typeof ttlMs === "number" && { ttlMs }),
  };
}

function stateOf(state: JsonObject = {}): FunctionState {
  const composite = optionalObject(state, "composite");
  return { ...(composite && { composite: resourceOf(composite) }), resources: mapAt(state, "resources", resourceOf) };
}

function resourceOf(state: JsonValue): ResourceState {
  if (!isObject(state)) throw new TypeError("an entry is not an object");
  const resource = optionalObject(state, "resource");
  if (resource === undefined) throw new TypeError("an entry has no resource");
  const details = optionalList(state, "connectionDetails").map(detailOf);
  const { ready } = state;
  return {
    resource,
    ...(details.length > 0 && { connectionDetails: new Map(details) }),
    ...(typeof ready === "boolean" && { ready }),
  };
}

function detailOf(detail: JsonValue): [name: string, value: Uint8Array] {
  const base64 = valueAt(detail, "base64");
  // The mask of a binary secret is text.
  if (typeof base64 === "string" && !isMask(base64))
    return [requiredText(detail, "name"), Buffer.from(base64, "base64")];
  return [
    requiredText(detail, "name"),
    Buffer.from(typeof base64 === "string" ? base64 : requiredText(detail, "value")),
  ];
}

function resultOf(result: JsonValue): FunctionResult {
  const reason = optionalText(result, "reason");
  return {
    severity: oneOf(result, "severity", ["Fatal", "Warning", "Normal"]),
    message: requiredText(result, "message"),
    target: targetOf(result),
    ...(reason !== undefined && { reason }),
  };
}

function conditionOf(condition: JsonValue): FunctionCondition {
  const message = optionalText(condition, "message");
  return {
    type: requiredText(condition, "type"),
    status: oneOf(condition, "status", ["True", "False", "Unknown"]),
    reason: requiredText(condition, "reason"),
    target: targetOf(condition),
    ...(message !== undefined && { message }),
  };
}

function targetOf(value: JsonValue): Target {
  return oneOf(value, "target", ["Composite", "CompositeAndClaim"]);
}

function requirementsOf(requirements: JsonObject): Requirements {
  return {
    extraResources: mapAt(requirements, "extraResources", selectorOf),
    resources: mapAt(requirements, "resources", selectorOf),
    schemas: mapAt(requirements, "schemas", kindOf),
  };
}

function selectorOf(selector: JsonValue): ResourceSelector {
  const [name, namespace] = [optionalText(selector, "name"), optionalText(selector, "namespace")];
  const labels = isObject(selector) ? mapAt(selector, "matchLabels", asText) : new Map<string, string>();
  return {
    ...kindOf(selector),
    match: name === undefined ? { labels } : { name },
    ...(namespace !== undefined && { namespace }),
  };
}

function kindOf(value: JsonValue): SchemaSelector {
  return { apiVersion: requiredText(value, "apiVersion"), kind: requiredText(value, "kind") };
}

function optionalObject(object: JsonObject, field: string): JsonObject | undefined {
  const value = object[field];
  if (value === undefined || isObject(value)) return value;
  throw new TypeError(`${field} is not an object`);
}

function optionalList(object: JsonObject, field: string): readonly JsonValue[] {
  const value = object[field] ?? [];
  if (Array.isArray(value)) return value;
  throw new TypeError(`${field} is not a list`);
}

function mapAt<T>(object: JsonObject, field: string, read: (value: JsonValue) => T): Map<string, T> {
  return new Map(Object.entries(optionalObject(object, field) ?? {}).map(([key, value]) => [key, read(value)]));
}

function asText(value: JsonValue | undefined): string {
  if (typeof value === "string") return value;
  throw new TypeError("a value is not a text");
}

function requiredText(value: JsonValue, field: string): string {
  const text = optionalText(value, field);
  if (text === undefined) throw new TypeError(`${field} is missing`);
  return text;
}

function optionalText(value: JsonValue, field: string): string | undefined {
  const text = isObject(value) ? value[field] : undefined;
  if (text === undefined || typeof text === "string") return text;
  throw new TypeError(`${field} is not a text`);
}

function oneOf<T extends string>(value: JsonValue, field: string, values: readonly T[]): T {
  const text = requiredText(value, field);
  const found = values.find((one) => one === text);
  if (found === undefined) throw new TypeError(`${field} is none of ${values.join(", ")}`);
  return found;
}
