import type { JsonObject, JsonValue, KubernetesObject } from "@xfn/json";
import type { Client, DeleteOptions, LiveObject, ObjectReference, WriteOptions } from "./client.ts";
import { type KindRequests, objectPath } from "./kind-requests.ts";
import { describe, isLive, liveObject, namespaceFor, referenceOf } from "./object-identity.ts";
import { resourcePath } from "./resource-path.ts";

const PATCH_TYPES = {
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  strategic: "application/strategic-merge-patch+json",
} as const;

interface WriteRequest {
  readonly verb: "create" | "update" | "apply" | "patch";
  readonly to: ObjectReference;
  readonly body: JsonValue;
  readonly options: WriteOptions;
  readonly method: string;
  readonly contentType?: string;
  /** Further parameters of the query: `&NAME=VALUE`. */
  readonly query?: string;
}

/**
 * Creates the writing methods of a client.
 *
 * @param defaultManager field manager of writes that name none
 */
export function objectWriter(
  requests: KindRequests,
  defaultManager: string,
): Pick<Client, "create" | "update" | "apply" | "patch"> {
  const write = (request: WriteRequest): Promise<LiveObject> => writeObject(requests, defaultManager, request);
  return {
    create: async (object, options = {}) =>
      write({ verb: "create", to: referenceOf(object, false), body: json(object), options, method: "POST" }),
    update: async (object, options = {}) =>
      write({ verb: "update", to: referenceOf(object), body: json(object), options, method: "PUT" }),
    apply: async (object, options = {}) =>
      write({
        verb: "apply",
        to: referenceOf(object),
        body: json(object),
        options,
        method: "PATCH",
        contentType: "application/apply-patch+yaml",
        query: `&force=${options.force ?? true}`,
      }),
    patch: async (to, type, body, options = {}) =>
      write({ verb: "patch", to, body, options, method: "PATCH", contentType: PATCH_TYPES[type] }),
  };
}

async function writeObject(
  requests: KindRequests,
  defaultManager: string,
  { verb, to, body, options, method, contentType, query = "" }: WriteRequest,
): Promise<LiveObject> {
  const { signal, as, fieldManager = defaultManager, fieldValidation = "Ignore", dryRun, subresource } = options;
  const kind = await requests.discovery.kind(to.apiVersion, to.kind);
  let path = verb === "create" ? resourcePath(kind, namespaceFor(kind, to)) : objectPath(kind, to, subresource);
  path += `?fieldManager=${encodeURIComponent(fieldManager)}&fieldValidation=${fieldValidation}${query}`;
  if (dryRun === true) path += "&dryRun=All";
  const what = `${verb} ${describe(to)}${subresource === undefined ? "" : ` (${subresource})`}`;
  return liveObject(what, await requests.json(kind, { what, verb, method, path, body, contentType, signal, as }));
}

/** Returns the object if the server still has it, because of finalizers. */
export async function deleteObject(
  requests: KindRequests,
  reference: ObjectReference,
  { signal, as, preconditions, propagationPolicy, dryRun }: DeleteOptions = {},
): Promise<LiveObject | undefined> {
  const kind = await requests.discovery.kind(reference.apiVersion, reference.kind);
  const what = `delete ${describe(reference)}`;
  const path = objectPath(kind, reference);
  const body: JsonObject = { apiVersion: "v1", kind: "DeleteOptions" };
  if (preconditions !== undefined) body["preconditions"] = { ...preconditions };
  if (propagationPolicy !== undefined) body["propagationPolicy"] = propagationPolicy;
  if (dryRun === true) body["dryRun"] = ["All"];
  const response = await requests.json(kind, { what, verb: "delete", method: "DELETE", path, body, signal, as });
  // For a deleted object, the server returns a Status.
  return isLive(response) && response.kind === kind.kind ? response : undefined;
}

function json(object: KubernetesObject): JsonValue {
  return object;
}
