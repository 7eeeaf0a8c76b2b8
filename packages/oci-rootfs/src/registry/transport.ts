import type { IncomingHttpHeaders } from "node:http";
import tls from "node:tls";
import { onAbort } from "@xfn/lifetime";
import { type Environment, openTunnel, proxyOf } from "@xfn/proxy";
import { peerLimitErrorOf } from "@xfn/runner-contract/peer-limits";
import { buildConnector, type Dispatcher } from "undici";
import { ImageError } from "../base/errors.ts";
import { abortError } from "../base/single-flight.ts";
import { canonicalRegistry, registryEndpoint } from "../image/image-name.ts";
import { AddressPolicy } from "./address-policy.ts";
import { MAX_HEADERS_BYTES, meteredAgent } from "./metered-agent.ts";
import type { RegistryOptions } from "./options.ts";

export interface TransportRequest {
  readonly method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
  readonly signal: AbortSignal;
}

export interface TransportResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Dispatcher.ResponseData["body"];
  /** The URL after redirects. */
  readonly url: URL;
}

const DEFAULT_STALL_MS = 30_000;
/** A slower transfer counts as stalled, so that a slow drip cannot block a pull forever. */
export const MIN_BYTES_PER_SECOND = 1024;
/** Registries need one or two. */
const MAX_REDIRECTS = 5;
/** More connections would share the same bandwidth, and registries limit connections per client. */
const MAX_CONNECTIONS = 8;

/**
 * HTTP with one registry, and with the hosts that it redirects to. Enforces the address policy and timeouts, and sends
 * authorization only to the registry itself.
 */
export class RegistryTransport {
  #registry: URL;
  readonly stallMs: number;
  readonly #insecure: ReadonlySet<string>;
  readonly #httpOnLoopback: boolean;
  readonly #policy: AddressPolicy;
  readonly #own: Dispatcher;
  readonly #foreign: Dispatcher;

  /** @param host the registry, as image names spell it */
  constructor(host: string, options: RegistryOptions) {
    const named = (options.insecureRegistries ?? []).map(canonicalRegistry);
    const insecure = named.map(httpHost);
    this.#insecure = new Set(insecure);
    this.#httpOnLoopback = options.httpOnLoopback ?? true;
    // HOST:80 is another registry than HOST, which has the port 443.
    this.#registry = new URL(`${named.includes(host) ? "http" : "https"}://${registryEndpoint(host)}/`);
    this.stallMs = options.stallTimeoutMs ?? DEFAULT_STALL_MS;
    this.#policy = new AddressPolicy(insecure);
    const limits = { headersTimeout: this.stallMs, bodyTimeout: this.stallMs, connections: MAX_CONNECTIONS };
    const { certificateAuthorities = [] } = options;
    // The `ca` option replaces the system's authorities and NODE_EXTRA_CA_CERTS, so they are added here.
    const ca =
      certificateAuthorities.length === 0 ? [] : [...tls.getCACertificates("default"), ...certificateAuthorities];
    // HTTP/2 would be read in native code, which counts no overhead.
    const secure = { timeout: this.stallMs, allowH2: false, ...(ca.length > 0 && { ca }) };
    const { env = process.env } = options;
    const direct = buildConnector(secure);
    // Behind a proxy, the address of the connection is the proxy's.
    const noting: buildConnector.connector = (options, callback) =>
      direct(options, (...result) => {
        this.#policy.noteRegistry(result[1]?.remoteAddress);
        callback(...result);
      });
    this.#own = meteredAgent(limits, throughProxy(env, this.stallMs, noting, direct));
    this.#foreign = meteredAgent(limits, (options, callback) => {
      const host = options.host ?? options.hostname;
      try {
        this.#policy.checkForeign(options.hostname, host);
      } catch (error) {
        callback(error as Error, null);
        return;
      }
      const direct = buildConnector({ ...secure, lookup: this.#policy.lookupForeign(host) });
      throughProxy(env, this.stallMs, direct, direct)(options, callback);
    });
  }

  /** Scheme, host and port. */
  get registry(): URL {
    return this.#registry;
  }

  /** Whether `send` sends a URL to the registry. It corrects the protocol of one from before the first answer. */
  isOwn(url: URL): boolean {
    return url.host === this.#registry.host;
  }

  /**
   * Sends one request without following redirects. A registry on this machine may use http without being configured as
   * insecure, as with Docker: its traffic does not leave the machine.
   */
  async send(url: URL, request: TransportRequest): Promise<TransportResponse> {
    const { protocol } = this.#registry;
    const own = this.isOwn(url);
    try {
      return await this.#send(own ? withProtocol(url, protocol) : url, request);
    } catch (error) {
      const local = own && this.#httpOnLoopback && isLoopback(url.hostname);
      const repeatable = request.body === undefined || typeof request.body === "string";
      if (!local || protocol === "http:" || !repeatable || !usesHttp(error)) throw error;
      this.#registry = withProtocol(this.#registry, "http:");
      return await this.#send(withProtocol(url, "http:"), request);
    }
  }

  async #send(url: URL, request: TransportRequest): Promise<TransportResponse> {
    const agent = this.isOwn(url) ? this.#own : this.#foreign;
    // A streamed body may take longer than the timeout; its sender has a watchdog.
    const timeouts = request.body === undefined || typeof request.body === "string" ? {} : { headersTimeout: 0 };
    try {
      const { statusCode, headers, body } = await agent.request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        ...timeouts,
        ...(request as Omit<TransportRequest, "body"> & { body?: string | Uint8Array }),
        headers: { "user-agent": "xfn", ...request.headers },
      });
      // Without a listener, an error after dump() would be an uncaught exception.
      body.on("error", () => {});
      return { status: statusCode, headers, body, url };
    } catch (error) {
      throw this.#transportError(error, url, request.signal);
    }
  }

  /** Sends a GET or HEAD and follows redirects. Sends authorization only to the registry itself. */
  async follow(
    start: URL,
    request: Omit<TransportRequest, "body">,
    authorization: string | undefined,
  ): Promise<TransportResponse> {
    let url = start;
    for (let redirects = 0; ; redirects += 1) {
      const credentials = this.isOwn(url) && authorization !== undefined ? { authorization } : {};
      const response = await this.send(url, { ...request, headers: { ...request.headers, ...credentials } });
      const { location } = response.headers;
      if (!isRedirect(response.status) || typeof location !== "string") return response;
      await response.body.dump();
      if (redirects === MAX_REDIRECTS)
        throw new ImageError("RegistryUnavailable", `more than ${MAX_REDIRECTS} redirects from ${bare(start)}`);
      url = this.#target(url, location);
    }
  }

  #target(from: URL, location: string): URL {
    const to = URL.parse(location, from.href);
    if (to === null || (to.protocol !== "https:" && to.protocol !== "http:")) {
      throw new ImageError("RegistryUnavailable", `${bare(from)} redirects to an invalid http URL`);
    }
    if (to.protocol === "http:" && from.protocol === "https:") {
      throw new ImageError("UnsafeAddress", `${bare(from)} redirects from https to http (${to.host})`);
    }
    if (to.protocol === "http:" && !this.isOwn(to) && !this.#insecure.has(to.host)) {
      throw new ImageError(
        "UnsafeAddress",
        `${bare(from)} redirects to http://${to.host}, which is not configured as an insecure registry`,
      );
    }
    return withoutCredentials(to);
  }

  /** Streams the body. Fails if it stalls. */
  async *stream({ body, url }: TransportResponse, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
    const least = (this.stallMs / 1000) * MIN_BYTES_PER_SECOND;
    let received = 0;
    let before = 0;
    const stalled = new ImageError(
      "RegistryUnavailable",
      `${url.host} sends fewer than ${MIN_BYTES_PER_SECOND} bytes a second`,
      { retryable: true },
    );
    const timer = setInterval(() => {
      if (received - before < least) body.destroy(stalled);
      before = received;
    }, this.stallMs);
    const forget = onAbort(signal, () => void body.destroy(abortError(signal)));
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
      forget();
      body.destroy();
    }
  }

  /** Reads a small body. @throws ImageError TooLarge */
  async read(response: TransportResponse, limit: number, signal: AbortSignal, what: string): Promise<Buffer> {
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of this.stream(response, signal)) {
      length += chunk.length;
      if (length > limit) throw new ImageError("TooLarge", `${what} of more than ${limit} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }

  /** Adds the stall timeout to a signal, as the total time for a small body. */
  timed(signal: AbortSignal | undefined): AbortSignal {
    const timeout = AbortSignal.timeout(this.stallMs);
    return signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  }

  /** Closes connections once the transfers in progress have ended. */
  async close(): Promise<void> {
    await Promise.all([this.#own.close(), this.#foreign.close()]);
  }

  #transportError(error: unknown, url: URL, signal: AbortSignal): ImageError {
    for (let at = error; at instanceof Error; at = at.cause) if (at instanceof ImageError) return at;
    if (signal.aborted) {
      const reason: unknown = signal.reason;
      if (!(reason instanceof Error && reason.name === "TimeoutError")) return abortError(signal);
      return new ImageError("RegistryUnavailable", `no response from ${url.host} within ${this.stallMs} ms`, {
        retryable: true,
      });
    }
    const excess = peerLimitErrorOf(error);
    if (excess !== undefined)
      return new ImageError("RegistryUnavailable", `${url.host}: ${excess.message}`, { cause: error });
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "UND_ERR_HEADERS_OVERFLOW")
      return new ImageError(
        "RegistryUnavailable",
        `the headers of a response of ${url.host} exceed ${MAX_HEADERS_BYTES} bytes: remove those that no registry needs, such as cookies, at the proxy before it, or use a mirror of the registry`,
        { cause: error },
      );
    const certificate = /CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS/.test(code ?? "");
    const plain = isPlainHttp(code);
    const unknownHost = code === "ENOTFOUND";
    const hint = plain
      ? ": it seems to use http; configure it as an insecure registry if you trust it"
      : certificate
        ? ": its certificate is not trusted; configure its authority"
        : "";
    return new ImageError(
      "RegistryUnavailable",
      `cannot connect to ${url.host}: ${plain ? code : message || code}${hint}`,
      { cause: error, retryable: !certificate && !plain && !unknownHost },
    );
  }
}

/**
 * Connects through the environment's proxy, if it has one for the URL. The proxy resolves the host's name.
 *
 * @param direct connects without a proxy
 * @param secure does the TLS handshake in a tunnel
 */
function throughProxy(
  env: Environment,
  timeoutMs: number,
  direct: buildConnector.connector,
  secure: buildConnector.connector,
): buildConnector.connector {
  return (options, connected) => {
    const { protocol, hostname, port } = options;
    const proxy = proxyOf(`${protocol}//${hostname}:${port || 443}`, env);
    if (proxy === undefined) return direct(options, connected);
    openTunnel(proxy, hostname, Number(port || 443), timeoutMs)
      .then((httpSocket) => secure({ ...options, httpSocket }, connected))
      .catch((error: Error) => connected(error, null));
  };
}

/** A host as URLs of http have it: without the port 80. */
function httpHost(host: string): string {
  return URL.parse(`http://${host}`)?.host ?? host;
}

/** Whether TLS failed because the server answered without it. */
function isPlainHttp(code: string | undefined): boolean {
  return code === "EPROTO" || code === "ERR_SSL_WRONG_VERSION_NUMBER";
}

function usesHttp(error: unknown): boolean {
  return error instanceof ImageError && isPlainHttp((error.cause as NodeJS.ErrnoException | undefined)?.code);
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

function withProtocol(url: URL, protocol: string): URL {
  if (url.protocol === protocol) return url;
  const changed = new URL(url);
  changed.protocol = protocol;
  return changed;
}

export function isRedirect(status: number): boolean {
  return [301, 302, 303, 307, 308].includes(status);
}

/** Removes name and password, which would be sent as credentials. */
export function withoutCredentials(url: URL): URL {
  const clean = new URL(url);
  clean.username = "";
  clean.password = "";
  return clean;
}

/** A URL without its query, which may contain a signature. */
export function bare(url: URL): string {
  return `${url.origin}${url.pathname}`;
}
