import { messageOf } from "@xfn/errors";
import { DocumentError, type JsonObject, type JsonValue } from "@xfn/json";
import { parseTrustedJson } from "@xfn/json/document";
import { printJson } from "@xfn/json/text";
import { sleep } from "@xfn/lifetime";
import type { ClusterAccess } from "../auth/access.ts";
import type { HttpResponse, Transport } from "../transport/transport.ts";
import { TransportError } from "../transport/transport-error.ts";
import { ApiError } from "./api-error.ts";
import { readBody } from "./read-body.ts";
import { withRetries } from "./retry.ts";
import { statusError } from "./status.ts";
import { type RateLimit, TokenBucket } from "./token-bucket.ts";

/** A request in terms of the Kubernetes API. */
export interface ApiRequest {
  /** The request in words, for messages: `get Secret default/db`. */
  readonly what: string;
  /** For metrics: `get`, `list`, `watch`, `create`, `update`, `apply`, `patch`, `delete`, `raw`. */
  readonly verb: string;
  /** For metrics: the plural with its group, `secrets`, `deployments.apps`; "" for other paths. */
  readonly resource: string;
  readonly method: string;
  /** Path and query, without the path of the server's own URL. */
  readonly path: string;
  readonly body?: JsonValue | undefined;
  readonly contentType?: string | undefined;
  /** Default: JSON. */
  readonly accept?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The user to impersonate. */
  readonly as?: string | undefined;
  /** Called with the number of bytes of the response's body. */
  readonly onBody?: ((bytes: number) => void) | undefined;
  /** The response lasts for minutes. Default: false. */
  readonly isLong?: boolean | undefined;
}

/** The result of a request, its retries included. */
export interface RequestOutcome {
  /** The request in words: `apply Secret default/db`. */
  readonly what: string;
  readonly verb: string;
  readonly resource: string;
  /** The HTTP status; 0 without a response. */
  readonly status: number;
  readonly milliseconds: number;
  readonly retries: number;
}

export interface RequesterOptions {
  readonly access: ClusterAccess;
  readonly transport: Transport;
  readonly userAgent: string;
  readonly rateLimit: RateLimit;
  /** Limit for the head of a response, and again for its body. */
  readonly timeoutMs: number;
  readonly onRequest?: ((outcome: RequestOutcome) => void) | undefined;
}

// Error messages quote the text of an error page only in part.
const MAX_ERROR_TEXT_BYTES = 64 * 1024;
// With credentials that stay invalid, a refresh (which may start a program) runs at most this often.
const REFRESH_AGAIN_MS = 5_000;

type Identity = ReturnType<ClusterAccess["headers"]>;

/** Sends requests with credentials, a rate limit and retries, and turns failures into {@link ApiError}. */
export class Requester {
  readonly #options: RequesterOptions;
  // A gateway's URL has a path, which precedes each path of the API: `https://host/k8s/clusters/c-1`.
  readonly #prefix: string;
  readonly #bucket: TokenBucket;
  #refreshing: Promise<boolean> | undefined;
  #refreshedAt = Number.NEGATIVE_INFINITY;

  constructor(options: RequesterOptions) {
    this.#options = options;
    this.#prefix = new URL(options.access.server).pathname.replace(/\/$/, "");
    this.#bucket = new TokenBucket(options.rateLimit);
  }

  /** Returns the body as JSON: null if it is empty. @throws {ApiError} */
  json(request: ApiRequest): Promise<JsonValue> {
    return this.#run(request, (response) => this.#readJson(request, response));
  }

  /** Returns a successful response, whose body the caller reads. @throws {ApiError} */
  stream(request: ApiRequest): Promise<HttpResponse> {
    return this.#run({ ...request, isLong: true }, (response) => response);
  }

  async #run<T>(request: ApiRequest, finish: (response: HttpResponse) => T | Promise<T>): Promise<T> {
    const { verb, resource, what, signal } = request;
    const body = request.body === undefined ? undefined : Buffer.from(printJson(request.body));
    const begin = performance.now();
    let retries = 0;
    let status = 0;
    try {
      if (signal?.aborted === true) throw failureOf(what, undefined, signal);
      return await withRetries(
        async () => {
          const response = await this.#send(request, body);
          status = response.status;
          return finish(response);
        },
        { read: request.method === "GET", signal, onRetry: () => retries++ },
      );
    } catch (error) {
      status = (error instanceof ApiError ? error.status : undefined) ?? 0;
      throw error;
    } finally {
      this.#options.onRequest?.({ what, verb, resource, status, milliseconds: performance.now() - begin, retries });
    }
  }

  /** Sends a request once, and a second time with new credentials if the server rejects the current ones. */
  async #send(request: ApiRequest, body: Buffer | undefined): Promise<HttpResponse> {
    const used = this.#identity();
    let response = await this.#attempt(request, body, used);
    if (response.status === 401 && (await this.#renewed(used))) {
      response.cancel();
      response = await this.#attempt(request, body, this.#identity());
    }
    if (response.status >= 200 && response.status < 300) return response;
    throw await errorOfResponse(request, response, this.#options.timeoutMs);
  }

  async #attempt(request: ApiRequest, body: Buffer | undefined, identity: Identity): Promise<HttpResponse> {
    const { what, method, path, signal, as } = request;
    const { transport, userAgent, timeoutMs } = this.#options;
    const wait = this.#bucket.reserve(performance.now());
    try {
      if (wait > 0) await sleep(wait, signal);
      const own = identity instanceof Promise ? await identity : identity;
      return await transport.open({
        method,
        path: this.#prefix + path,
        headers: {
          accept: request.accept ?? "application/json",
          "user-agent": userAgent,
          ...(as === undefined ? own : impersonating(as, own)),
          ...(body === undefined ? {} : { "content-type": request.contentType ?? "application/json" }),
        },
        body,
        signal,
        isLong: request.isLong,
        headTimeoutMs: timeoutMs,
      });
    } catch (cause) {
      throw failureOf(what, cause, signal);
    }
  }

  #identity(): Identity {
    const identity = this.#options.access.headers();
    // It may fail before it is awaited; the rejection is handled there.
    if (identity instanceof Promise) identity.catch(() => undefined);
    return identity;
  }

  /** Whether there are other credentials than the rejected ones: a token or a certificate had expired. */
  async #renewed(used: Identity): Promise<boolean> {
    const { access, transport } = this.#options;
    if (this.#refreshing === undefined && performance.now() - this.#refreshedAt > REFRESH_AGAIN_MS) {
      this.#refreshing = access.refresh().finally(() => {
        this.#refreshedAt = performance.now();
        this.#refreshing = undefined;
      });
      if (await this.#refreshing) {
        transport.renew();
        return true;
      }
    } else await this.#refreshing;
    // A concurrent request may have refreshed them.
    return (await access.headers())["authorization"] !== (await used)["authorization"];
  }

  async #readJson({ what, signal, onBody }: ApiRequest, response: HttpResponse): Promise<JsonValue> {
    let bytes: Buffer;
    try {
      bytes = await readBody(what, response, this.#options.timeoutMs);
    } catch (cause) {
      throw failureOf(what, cause, signal);
    }
    onBody?.(bytes.length);
    return bytes.length === 0 ? null : parseResponse(what, bytes);
  }
}

/** The client's own credentials with another user, who has none of the groups of a kubeconfig's user. */
function impersonating(user: string, own: Awaited<Identity>): Awaited<Identity> {
  const credentials = Object.entries(own).filter(([name]) => !name.startsWith("impersonate-"));
  return { ...Object.fromEntries(credentials), "impersonate-user": user };
}

/** @throws {ApiError} ServerError: the response is not JSON */
export function parseResponse(what: string, bytes: Uint8Array): JsonValue {
  try {
    return parseTrustedJson(bytes, { limits: { maxBytes: bytes.length } });
  } catch (cause) {
    if (!(cause instanceof DocumentError)) throw cause;
    throw new ApiError("ServerError", `${what}: the response is not JSON: ${cause.message}`, { cause });
  }
}

/** The error of a request without a complete response. */
export function failureOf(what: string, cause: unknown, signal: AbortSignal | undefined): ApiError {
  if (cause instanceof ApiError) return cause;
  if (signal?.aborted === true) {
    return new ApiError("Aborted", `${what}: aborted by the caller`, { cause: signal.reason });
  }
  if (!(cause instanceof TransportError)) {
    return new ApiError("Unreachable", `${what}: ${messageOf(cause)}`, { cause });
  }
  const code = cause.code === "Timeout" || cause.code === "Aborted" ? cause.code : "Unreachable";
  return new ApiError(code, `${what}: ${cause.message}`, { cause });
}

async function errorOfResponse(request: ApiRequest, response: HttpResponse, timeoutMs: number): Promise<ApiError> {
  let text = "";
  let body: JsonObject | undefined;
  try {
    const bytes = await readBody(request.what, response, timeoutMs);
    text = bytes.subarray(0, MAX_ERROR_TEXT_BYTES).toString();
    const value = bytes.length === 0 ? null : parseResponse(request.what, bytes);
    body = typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    // Without a readable body, the status has to do.
  }
  return statusError(request.what, {
    status: response.status,
    body,
    text: body === undefined ? text : undefined,
    retryAfter: response.header("retry-after"),
    apply: request.verb === "apply",
  });
}
