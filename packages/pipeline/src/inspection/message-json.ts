import { isObject, type JsonObject, type JsonValue, newObject, textOrEmpty } from "@xfn/json";

// The messages of function packages in protobuf's JSON form (https://protobuf.dev/programming-guides/json), as inspectors
// read them. The documents are those of recordings, with masks.

/** Crossplane's text in place of each secret. */
export const REDACTED = "**REDACTED**";

/** Bytes are base64. */
const REDACTED_BYTES: string = Buffer.from(REDACTED).toString("base64");

/** A `RunFunctionRequest`. @param document a masked document of `requestDocument` */
export function requestJson({ observed, desired, ...document }: JsonObject): JsonObject {
  return {
    observed: state(observed),
    desired: state(desired),
    ...replaced(document, {
      credentials: (found) => each(found, (data) => ({ credentialData: { data: redacted(data, "data") } })),
      extraResources: resources,
      requiredResources: resources,
      requiredSchemas: (found) => each(found, (schema) => (isObject(schema) ? { openapiV3: schema } : {})),
    }),
  };
}

/** A `RunFunctionResponse`. @param document a masked document of `runDocument` */
export function responseJson({ desired, ttlMs, ...document }: JsonObject): JsonObject {
  delete document["rounded"];
  return {
    ...(typeof ttlMs === "number" && { meta: { ttl: `${ttlMs / 1000}s` } }),
    desired: state(desired),
    ...replaced(document, {
      results: (found) =>
        items(found, (result) => ({
          ...result,
          severity: constant("SEVERITY", textOrEmpty(result, "severity")),
          target: constant("TARGET", textOrEmpty(result, "target")),
        })),
      conditions: (found) =>
        items(found, (condition) => ({
          ...condition,
          status: constant("STATUS_CONDITION", textOrEmpty(condition, "status")),
          target: constant("TARGET", textOrEmpty(condition, "target")),
        })),
      requirements: (found) =>
        each(found, (selectors, of) => (of === "schemas" ? selectors : each(selectors, selector))),
    }),
  };
}

function state(value: JsonValue | undefined): JsonObject {
  if (!isObject(value)) return {};
  return replaced(value, { composite: resource, resources: (found) => each(found, resource) });
}

function resources(found: JsonValue): JsonValue {
  return each(found, (list) => ({ items: items(list, resource) }));
}

function resource(value: JsonValue): JsonValue {
  if (!isObject(value)) return value;
  return replaced(value, {
    connectionDetails: (details) => {
      const names = items(details, (detail) => textOrEmpty(detail, "name"));
      return Object.fromEntries(names.map((name) => [name, REDACTED_BYTES]));
    },
    ready: (ready) => (ready === true ? "READY_TRUE" : "READY_FALSE"),
  });
}

function selector(value: JsonValue): JsonValue {
  if (!isObject(value)) return value;
  const { name, matchLabels, ...rest } = value;
  return {
    ...rest,
    ...(name !== undefined && { matchName: name }),
    ...(matchLabels !== undefined && { matchLabels: { labels: matchLabels } }),
  };
}

function redacted(value: JsonValue, field: string): JsonValue {
  return each(isObject(value) ? (value[field] ?? {}) : {}, () => REDACTED_BYTES);
}

/** `CompositeAndClaim` as `TARGET_COMPOSITE_AND_CLAIM`. */
function constant(prefix: string, word: string): string {
  return `${prefix}_${word.replace(/(?<=[a-z])[A-Z]/g, "_$&").toUpperCase()}`;
}

/** A copy of an object in which some fields are converted. */
function replaced(
  object: JsonObject,
  fields: Readonly<Record<string, ((value: JsonValue) => JsonValue) | undefined>>,
): JsonObject {
  return each(object, (value, key) => fields[key]?.(value) ?? value) as JsonObject;
}

function each(value: JsonValue, convert: (value: JsonValue, key: string) => JsonValue): JsonValue {
  if (!isObject(value)) return value;
  const copy = newObject();
  for (const key of Object.keys(value)) copy[key] = convert(value[key] ?? null, key);
  return copy;
}

function items<T extends JsonValue>(value: JsonValue, convert: (item: JsonObject) => T): T[] {
  return Array.isArray(value) ? value.flatMap((item) => (isObject(item) ? [convert(item)] : [])) : [];
}
