import type {
  FunctionRequest,
  FunctionRun,
  State as FunctionState,
  Requirements,
  ResourceSelector,
  ResourceState,
} from "@xfn/function-grpc";
import { type JsonObject, type JsonValue, newObject } from "@xfn/json";
import { plainObject } from "./plain-document.ts";

// The messages of function packages as documents. Secrets are in the places where the rules of traces expect them.

/** The request of one call. */
export function requestDocument(request: FunctionRequest): JsonObject {
  const { observed, desired, input, context, credentials, extraResources, requiredResources, requiredSchemas } =
    request;
  const states = (found: readonly ResourceState[]): JsonValue => found.map(resourceDocument);
  return plainObject({
    observed: stateDocument(observed),
    desired: stateDocument(desired),
    ...(input && { input }),
    ...(context && { context }),
    ...filled({
      credentials: objectOf(credentials, credentialDocument),
      extraResources: objectOf(extraResources, states),
      requiredResources: objectOf(requiredResources, states),
      requiredSchemas: objectOf(requiredSchemas, (schema) => schema ?? null),
    }),
  });
}

/** The response of one call, and the fields of its request that were rounded. */
export function runDocument({ response, rounded }: FunctionRun): JsonObject {
  const { desired, results, conditions, context, requirements, output, ttlMs } = response;
  return plainObject({
    desired: stateDocument(desired),
    ...(results.length > 0 && { results: results.map((result) => ({ ...result })) }),
    ...(conditions.length > 0 && { conditions: conditions.map((condition) => ({ ...condition })) }),
    ...(context && { context }),
    ...filled({ requirements: requirementsDocument(requirements) }),
    ...(output && { output }),
    ...(ttlMs !== undefined && { ttlMs }),
    ...(rounded.length > 0 && { rounded: [...rounded] }),
  });
}

function stateDocument({ composite, resources }: FunctionState): JsonObject {
  return {
    ...(composite && { composite: resourceDocument(composite) }),
    ...filled({ resources: objectOf(resources, resourceDocument) }),
  };
}

function resourceDocument({ resource, connectionDetails, ready }: ResourceState): JsonObject {
  return {
    resource,
    ...(connectionDetails?.size && {
      connectionDetails: [...connectionDetails].map(detailDocument).toSorted(byName),
    }),
    ...(ready !== undefined && { ready }),
  };
}

interface DetailDocument extends JsonObject {
  name: string;
}

function byName(a: DetailDocument, b: DetailDocument): number {
  return a.name < b.name ? -1 : 1;
}

function detailDocument([name, bytes]: readonly [string, Uint8Array]): DetailDocument {
  const buffer = Buffer.from(bytes);
  const value = buffer.toString("utf8");
  return Buffer.from(value).equals(buffer) ? { name, value } : { name, base64: buffer.toString("base64") };
}

/** A Secret, because the name `credentials` alone hides no object: most objects of such a name are references. */
function credentialDocument(data: ReadonlyMap<string, Uint8Array>): JsonObject {
  return { kind: "Secret", data: objectOf(data, (bytes) => Buffer.from(bytes).toString("base64")) };
}

function requirementsDocument({ extraResources, resources, schemas }: Requirements): JsonObject {
  return filled({
    extraResources: objectOf(extraResources, selectorDocument),
    resources: objectOf(resources, selectorDocument),
    schemas: objectOf(schemas, (schema) => ({ ...schema })),
  });
}

/** Drops the fields that are empty objects. */
function filled(fields: Readonly<Record<string, JsonObject>>): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => Object.keys(value).length > 0));
}

function selectorDocument({ match, ...selector }: ResourceSelector): JsonObject {
  return { ...selector, ...("name" in match ? match : { matchLabels: objectOf(match.labels, (value) => value) }) };
}

function objectOf<T>(map: ReadonlyMap<string, T> = new Map(), document: (value: T) => JsonValue): JsonObject {
  const object = newObject();
  for (const [key, value] of map) object[key] = document(value);
  return object;
}
