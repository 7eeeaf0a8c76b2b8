import type { RegistryAuth } from "@xfn/runner-contract";
import { RegistryLogin } from "./login.ts";
import type { RegistryOptions } from "./options.ts";
import { responseError } from "./response-error.ts";
import { isRedirect, RegistryTransport, type TransportRequest, type TransportResponse } from "./transport.ts";

export interface SessionRequest extends Omit<TransportRequest, "body"> {
  /** A path below the repository (`manifests/v1`), or a URL that the registry returned. */
  readonly path: string | URL;
  /** Creates the body for each attempt. */
  readonly body?: () => string | Uint8Array | AsyncIterable<Uint8Array>;
  /** Expected status codes; others are errors. */
  readonly expect: readonly number[];
  /** Describes the resource in messages: `tag v1`. */
  readonly what: string;
  /** Default: read access to the repository. */
  readonly scopes?: readonly string[];
}

/** Authenticated requests for one repository on one host. */
export class RegistrySession {
  /** The host, as image names spell it. */
  readonly host: string;
  readonly repository: string;
  readonly transport: RegistryTransport;
  readonly #login: RegistryLogin;

  constructor(host: string, repository: string, auth: RegistryAuth | undefined, options: RegistryOptions) {
    this.host = host;
    this.repository = repository;
    this.transport = new RegistryTransport(host, options);
    const { credentials, trustedRealms = [] } = options;
    this.#login = new RegistryLogin(this.transport, { registry: host, repository, auth, credentials, trustedRealms });
  }

  /** @throws ImageError Unauthorized, NotFound, RegistryRefused, RegistryUnavailable, UnsafeAddress */
  async request(request: SessionRequest): Promise<TransportResponse> {
    const { path, expect, what, signal, scopes = [`repository:${this.repository}:pull`] } = request;
    const url =
      typeof path === "string" ? new URL(`/v2/${this.repository}/${path}`, this.transport.registry) : new URL(path);
    const used = await this.#login.authorization(scopes, signal);
    let response = await this.#send(url, request, used);
    // Another host that requires credentials gets neither credentials nor a token.
    if (response.status === 401 && this.transport.isOwn(response.url)) {
      await this.#login.answer(response, used, scopes, signal);
      const renewed = await this.#login.authorization(scopes, signal);
      response = await this.#send(url, request, renewed);
    }
    if (expect.includes(response.status)) return response;
    const isPush = request.method !== "GET" && request.method !== "HEAD";
    throw await responseError(this.transport, response, what, this.#login.refusal(), isPush);
  }

  #send(url: URL, request: SessionRequest, authorization: string | undefined): Promise<TransportResponse> {
    const { method, headers, signal, body, expect } = request;
    // Writes never follow redirects: content is only for the registry itself.
    if ((method === "GET" || method === "HEAD") && !expect.some(isRedirect))
      return this.transport.follow(url, { method, headers, signal }, authorization);
    const credentials = this.transport.isOwn(url) && authorization !== undefined ? { authorization } : {};
    return this.transport.send(url, {
      method,
      headers: { ...headers, ...credentials },
      signal,
      ...(body === undefined ? {} : { body: body() }),
    });
  }
}
