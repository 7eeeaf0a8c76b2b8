import type { JsonValue } from "@xfn/json";
import type { HttpResponse } from "../transport/transport.ts";
import { isApiError } from "./api-error.ts";
import type { ObjectReference, ResourceKind } from "./client.ts";
import type { Discovery } from "./discovery.ts";
import { apiVersionOf, namespaceFor, resourceOf } from "./object-identity.ts";
import type { ApiRequest, Requester } from "./request.ts";
import { resourcePath } from "./resource-path.ts";

/** A request about one kind; the kind determines its `resource`. */
export type KindRequest = Omit<ApiRequest, "resource">;

/** Sends requests about kinds, and forgets a kind when the server no longer serves it. */
export class KindRequests {
  readonly discovery: Discovery;
  readonly #requester: Requester;

  constructor(requester: Requester, discovery: Discovery) {
    this.#requester = requester;
    this.discovery = discovery;
  }

  json(kind: ResourceKind, request: KindRequest): Promise<JsonValue> {
    return this.#forgetting(kind, this.#requester.json({ ...request, resource: resourceOf(kind) }));
  }

  stream(kind: ResourceKind, request: KindRequest): Promise<HttpResponse> {
    return this.#forgetting(kind, this.#requester.stream({ ...request, resource: resourceOf(kind) }));
  }

  async #forgetting<T>(kind: ResourceKind, response: Promise<T>): Promise<T> {
    try {
      return await response;
    } catch (error) {
      if (isApiError(error, "KindNotServed")) this.discovery.forget(apiVersionOf(kind));
      throw error;
    }
  }
}

/** The path of one object, or of its subresource. @throws {ApiError} Invalid */
export function objectPath(kind: ResourceKind, reference: ObjectReference, subresource?: string): string {
  return resourcePath(kind, namespaceFor(kind, reference), reference.name, subresource);
}
