import type { IncomingHttpHeaders } from "node:http";
import { Agent, buildConnector, type Dispatcher } from "undici";
import { AddressPolicy } from "./address-policy.ts";
import { digestOf } from "./digest.ts";
import { ImageError } from "./errors.ts";
import type { ImageSource, SourceManifest } from "./image-source.ts";
import { MAX_MANIFEST_BYTES } from "./manifest.ts";
import { MANIFEST_TYPES } from "./media-types.ts";
import { type Reference, registryEndpoint } from "./reference.ts";
import { basicAuthorization, mayAuthenticateAt, parseChallenges, type RegistryAuth } from "./registry-auth.ts";
import type { RegistryOptions } from "./registry-options.ts";
import { abortError } from "./single-flight.ts";

const DEFAULT_STALL_MS = 30_000;
/** Slower than any line that an image is worth pulling on: a drip must not hold a pull for ever. */
const MIN_BYTES_PER_SECOND = 1024;
/** As many as browsers of old and the distribution tools follow; honest registries need one or two. */
const MAX_REDIRECTS = 5;
/** Token answers are some KiB. */
const MAX_TOKEN_BYTES = 1024 * 1024;
/** So much of an error's body is looked at for the registry's own code. */
const MAX_ERROR_BYTES = 64 * 1024;

interface Response {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Dispatcher.ResponseData["body"];
  /** Where redirects have led. */
  readonly url: URL;
}

/** One repository of a registry (OCI distribution-spec 1.1, "Pull"). Made for one pull and closed after it. */
export class RegistryClient implements ImageSource {
  readonly #reference: Reference;
  readonly #registry: URL;
  readonly #auth: RegistryAuth;
  readonly #trustedRealms: readonly string[];
  readonly #insecure: ReadonlySet<string>;
  readonly #stallMs: number;
  readonly #policy: AddressPolicy;
  readonly #own: Agent;
  readonly #foreign: Agent;
  #authorization: string | undefined;
  #withheldFrom: string | undefined;

  constructor(reference: Reference, options: RegistryOptions = {}) {
    const insecure = options.insecureRegistries ?? [];
    this.#reference = reference;
    this.#insecure = new Set(insecure);
    this.#registry = new URL(
      `${insecure.includes(reference.registry) ? "http" : "https"}://${registryEndpoint(reference.registry)}/`,
    );
    this.#auth = options.auth ?? {};
    this.#trustedRealms = options.trustedRealms ?? [];
    this.#stallMs = options.stallTimeoutMs ?? DEFAULT_STALL_MS;
    this.#policy = new AddressPolicy(insecure);
    const limits = { headersTimeout: this.#stallMs, bodyTimeout: this.#stallMs };
    const connect = buildConnector({ timeout: this.#stallMs });
    this.#own = new Agent({
      ...limits,
      connect: (options, callback) =>
        connect(options, (...result) => {
          this.#policy.noteRegistry(result[1]?.remoteAddress);
          callback(...result);
        }),
    });
    this.#foreign = new Agent({
      ...limits,
      connect: (options, callback) => {
        const host = options.host ?? options.hostname;
        try {
          this.#policy.checkForeign(options.hostname, host);
        } catch (error) {
          callback(error as Error, null);
          return;
        }
        buildConnector({ timeout: this.#stallMs, lookup: this.#policy.lookupForeign(host) })(options, callback);
      },
    });
    const { registryToken } = this.#auth;
    if (registryToken !== undefined && registryToken !== "") this.#authorization = bearer(registryToken);
  }

  async manifest(
    selector: { tag: string } | { digest: string },
    signal: AbortSignal | undefined,
  ): Promise<SourceManifest> {
    const wanted = "digest" in selector ? selector.digest : selector.tag;
    const what = "digest" in selector ? `manifest ${wanted}` : `tag ${wanted}`;
    const timed = this.#timed(signal);
    const response = await this.#get(`manifests/${wanted}`, { accept: MANIFEST_TYPES.join(", ") }, timed, what);
    const bytes = await this.#readAll(response, MAX_MANIFEST_BYTES, timed, "manifest");
    const digest = digestOf(bytes);
    const claimed =
      "digest" in selector ? selector.digest : String(response.headers["docker-content-digest"] ?? digest);
    if (claimed.startsWith("sha256:") && claimed !== digest) {
      throw new ImageError("DigestMismatch", `the manifest's digest is ${digest}`, { digest: claimed });
    }
    const mediaType = response.headers["content-type"];
    return { bytes, digest, ...(typeof mediaType === "string" && { mediaType }) };
  }

  async blob(descriptor: { digest: string }, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const response = await this.#get(`blobs/${descriptor.digest}`, {}, signal, `blob ${descriptor.digest}`);
    return this.#steady(response, signal);
  }

  async close(): Promise<void> {
    await Promise.all([this.#own.close(), this.#foreign.close()]);
  }

  /** GET below the repository, with authentication if the registry asks for it. */
  async #get(path: string, headers: Record<string, string>, signal: AbortSignal, what: string): Promise<Response> {
    const url = new URL(`/v2/${this.#reference.repository}/${path}`, this.#registry);
    const used = this.#authorization;
    let response = await this.#follow(url, headers, signal);
    if (response.status === 401 && response.url.origin === this.#registry.origin) {
      const header = response.headers["www-authenticate"];
      await response.body.dump();
      // Another request of this client may have got a new token in the meantime.
      if (this.#authorization === used)
        await this.#authenticate(Array.isArray(header) ? header.join(", ") : (header ?? ""), signal);
      response = await this.#follow(url, headers, signal);
    }
    if (response.status !== 200) throw await this.#failure(response, what);
    return response;
  }

  /** Follows redirects. Credentials go to the registry itself and nowhere else. */
  async #follow(start: URL, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
    let url = start;
    for (let redirects = 0; ; redirects += 1) {
      const own = url.origin === this.#registry.origin;
      const authorization = own && this.#authorization !== undefined ? { authorization: this.#authorization } : {};
      const response = await this.#send(url, { method: "GET", headers: { ...headers, ...authorization }, signal });
      const { location } = response.headers;
      if (![301, 302, 303, 307, 308].includes(response.status) || typeof location !== "string")
        return { ...response, url };
      await response.body.dump();
      if (redirects === MAX_REDIRECTS)
        throw new ImageError("RegistryUnavailable", `more than ${MAX_REDIRECTS} redirects from ${bare(start)}`);
      url = this.#target(url, location);
    }
  }

  #target(from: URL, location: string): URL {
    const to = URL.parse(location, from.href);
    if (to === null || (to.protocol !== "https:" && to.protocol !== "http:")) {
      throw new ImageError("RegistryUnavailable", `${bare(from)} redirects to something that is no http URL`);
    }
    if (to.protocol === "http:" && from.protocol === "https:") {
      throw new ImageError("UnsafeAddress", `${bare(from)} redirects from https to http (${to.host})`);
    }
    if (to.protocol === "http:" && to.origin !== this.#registry.origin && !this.#insecure.has(to.host)) {
      throw new ImageError(
        "UnsafeAddress",
        `${bare(from)} redirects to http://${to.host}, which is not named as an insecure registry`,
      );
    }
    // Names and passwords in a URL would be sent as credentials.
    to.username = "";
    to.password = "";
    return to;
  }

  async #send(
    url: URL,
    request: { method: "GET" | "POST"; headers: Record<string, string>; body?: string; signal: AbortSignal },
  ): Promise<Omit<Response, "url">> {
    const agent = url.origin === this.#registry.origin ? this.#own : this.#foreign;
    try {
      const { statusCode, headers, body } = await agent.request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        ...request,
        headers: { "user-agent": "xfn", ...request.headers },
      });
      // Someone must listen, or an error after a dump would be nobody's.
      body.on("error", () => {});
      return { status: statusCode, headers, body };
    } catch (error) {
      throw this.#transportError(error, url, request.signal);
    }
  }

  /** Answers a challenge (distribution's token authentication, or Basic). */
  async #authenticate(header: string, signal: AbortSignal): Promise<void> {
    const challenges = parseChallenges(header);
    const bearerChallenge = challenges.find(({ scheme }) => scheme === "bearer");
    if (bearerChallenge !== undefined) {
      this.#authorization = bearer(await this.#token(bearerChallenge.parameters, signal));
      return;
    }
    const basic = basicAuthorization(this.#auth);
    if (challenges.some(({ scheme }) => scheme === "basic") && basic !== undefined && this.#authorization !== basic) {
      this.#authorization = basic;
    }
  }

  async #token(parameters: Readonly<Record<string, string>>, signal: AbortSignal): Promise<string> {
    const realm = URL.parse(parameters["realm"] ?? "");
    if (realm === null || (realm.protocol !== "https:" && realm.protocol !== "http:")) {
      throw new ImageError("Unauthorized", `${this.#registry.host} names no token server`);
    }
    if (realm.protocol === "http:" && this.#registry.protocol === "https:") {
      throw new ImageError(
        "UnsafeAddress",
        `${this.#registry.host} names a token server without https (${realm.host})`,
      );
    }
    realm.username = "";
    realm.password = "";
    const { service } = parameters;
    // Our own words, not the registry's: a token is for reading this repository and for nothing else.
    const scope = `repository:${this.#reference.repository}:pull`;
    const trusted = mayAuthenticateAt(realm, this.#registry, this.#trustedRealms);
    const { identityToken } = this.#auth;
    const basic = basicAuthorization(this.#auth);
    if (!trusted && (basic !== undefined || identityToken !== undefined)) this.#withheldFrom = realm.host;
    const timed = this.#timed(signal);
    let response: Omit<Response, "url">;
    if (trusted && identityToken !== undefined && identityToken !== "") {
      const form = new URLSearchParams({
        grant_type: "refresh_token",
        refresh_token: identityToken,
        client_id: "xfn",
        scope,
      });
      if (service !== undefined) form.set("service", service);
      const headers = { "content-type": "application/x-www-form-urlencoded" };
      response = await this.#send(realm, { method: "POST", headers, body: form.toString(), signal: timed });
    } else {
      if (service !== undefined) realm.searchParams.set("service", service);
      realm.searchParams.set("scope", scope);
      const headers: Record<string, string> = trusted && basic !== undefined ? { authorization: basic } : {};
      response = await this.#send(realm, { method: "GET", headers, signal: timed });
    }
    // A redirect is not followed: it could lead credentials anywhere.
    if (response.status !== 200) throw await this.#failure({ ...response, url: realm }, "token");
    const answer = parseJson(await this.#readAll({ ...response, url: realm }, MAX_TOKEN_BYTES, timed, "token answer"));
    const token = answer["token"] ?? answer["access_token"];
    if (typeof token !== "string" || token === "") throw new ImageError("Unauthorized", `${realm.host} gave no token`);
    return token;
  }

  /** Bytes as they come, as long as they come fast enough. */
  async *#steady({ body, url }: Response, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
    const least = (this.#stallMs / 1000) * MIN_BYTES_PER_SECOND;
    let received = 0;
    let before = 0;
    const stalled = new ImageError(
      "RegistryUnavailable",
      `${url.host} sends less than ${MIN_BYTES_PER_SECOND} bytes a second`,
      { retryable: true },
    );
    const timer = setInterval(() => {
      if (received - before < least) body.destroy(stalled);
      before = received;
    }, this.#stallMs);
    const abort = (): void => void body.destroy(abortError(signal));
    signal.addEventListener("abort", abort, { once: true });
    try {
      if (signal.aborted) throw abortError(signal);
      for await (const chunk of body) {
        received += (chunk as Uint8Array).length;
        yield chunk as Uint8Array;
      }
    } catch (error) {
      throw this.#transportError(error, url, signal);
    } finally {
      clearInterval(timer);
      signal.removeEventListener("abort", abort);
      body.destroy();
    }
  }

  async #readAll(response: Response, limit: number, signal: AbortSignal, what: string): Promise<Buffer> {
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of this.#steady(response, signal)) {
      length += chunk.length;
      if (length > limit) throw new ImageError("TooLarge", `${what} of more than ${limit} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }

  /** Small documents have to be there after the time that any transfer may stall. */
  #timed(signal: AbortSignal | undefined): AbortSignal {
    const timeout = AbortSignal.timeout(this.#stallMs);
    return signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  }

  async #failure(response: Response, what: string): Promise<ImageError> {
    const { status, url } = response;
    const timed = this.#timed(undefined);
    const said = await this.#readAll(response, MAX_ERROR_BYTES, timed, "error").then(registryError, () => "");
    const answer = `${url.host} answers ${status}${said} for ${what}`;
    if (status === 401 || status === 403) {
      const withheld =
        this.#withheldFrom === undefined
          ? ""
          : ` (credentials were not sent to ${this.#withheldFrom}, which is another host than the registry)`;
      const hint =
        basicAuthorization(this.#auth) === undefined
          ? "; it may not exist, or needs credentials"
          : "; the credentials are not accepted for it";
      return new ImageError("Unauthorized", `${answer}${hint}${withheld}`);
    }
    if (status === 404) return new ImageError("NotFound", answer);
    const retryable = status === 408 || status === 429 || status >= 500;
    return new ImageError("RegistryUnavailable", answer, { retryable });
  }

  #transportError(error: unknown, url: URL, signal: AbortSignal): ImageError {
    for (let at = error; at instanceof Error; at = at.cause) if (at instanceof ImageError) return at;
    if (signal.aborted) {
      const reason: unknown = signal.reason;
      if (!(reason instanceof Error && reason.name === "TimeoutError")) return abortError(signal);
      return new ImageError("RegistryUnavailable", `no answer from ${url.host} within ${this.#stallMs} ms`, {
        retryable: true,
      });
    }
    const { code, message } = error as NodeJS.ErrnoException;
    const certificate = /CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS/.test(code ?? "");
    const plain = code === "EPROTO" || code === "ERR_SSL_WRONG_VERSION_NUMBER";
    const hint = plain ? ": it seems to speak http; name it as an insecure registry if that is right" : "";
    return new ImageError(
      "RegistryUnavailable",
      `cannot talk to ${url.host}: ${plain ? code : message || code}${hint}`,
      {
        cause: error,
        retryable: !certificate && !plain,
      },
    );
  }
}

/** A URL without its query, which may hold a signature. */
function bare(url: URL): string {
  return `${url.origin}${url.pathname}`;
}

function bearer(token: string): string {
  // A token with a line break in it would be a header of its own.
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new ImageError("Unauthorized", "the token is not one line of printable characters");
  return `Bearer ${token}`;
}

function parseJson(bytes: Buffer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch {
    // Answered below: the content must not be repeated, it may hold secrets.
  }
  return {};
}

/** The registry's own code and words (distribution-spec, "Error Codes"), for the message. */
function registryError(bytes: Buffer): string {
  const { errors } = parseJson(bytes);
  const first: unknown = Array.isArray(errors) ? errors[0] : undefined;
  if (typeof first !== "object" || first === null) return "";
  const { code, message } = first as { code?: unknown; message?: unknown };
  const words = [code, message].filter((word) => typeof word === "string").join(": ");
  return words === "" ? "" : ` (${words.replace(/[^\x20-\x7e]/g, "?").slice(0, 200)})`;
}
