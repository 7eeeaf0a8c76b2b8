import type { RegistryAuth } from "@xfn/runner-contract";
import { RegistryLogin } from "./login.ts";
import type { RegistryOptions } from "./options.ts";
import { registryFailure } from "./response-error.ts";
import { isRedirect, RegistryTransport, type TransportRequest, type TransportResponse } from "./transport.ts";

export interface SessionRequest extends Omit<TransportRequest, "body"> {
  /** Below the repository (`manifests/v1`), or a whole URL that the registry gave. */
  readonly path: string | URL;
  /** Made anew for each attempt. */
  readonly body?: () => string | Uint8Array | AsyncIterable<Uint8Array>;
  /** Other answers are errors. */
  readonly expect: readonly number[];
  /** For messages: `tag v1`. */
  readonly what: string;
  /** Default: to read the repository. */
  readonly scopes?: readonly string[];
}

/** One repository at one host, with authentication. */
export class RegistrySession {
  /** As image names spell it. */
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
    // Another host that asks for credentials gets none, and no token is fetched for it.
    if (response.status === 401 && this.transport.isOwn(response.url)) {
      await this.#login.answer(response, used, scopes, signal);
      const renewed = await this.#login.authorization(scopes, signal);
      response = await this.#send(url, request, renewed);
    }
    if (expect.includes(response.status)) return response;
    const isPush = request.method !== "GET" && request.method !== "HEAD";
    throw await registryFailure(this.transport, response, what, this.#login.refusal(), isPush);
  }

  #send(url: URL, request: SessionRequest, authorization: string | undefined): Promise<TransportResponse> {
    const { method, headers, signal, body, expect } = request;
    // What is written is never sent on to another place: the registry itself takes it or nobody.
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
