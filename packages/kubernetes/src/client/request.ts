import { DocumentError, type JsonObject, type JsonValue } from "@xfn/functionio";
import { parseTrustedJson, printJson } from "@xfn/functionio/document";
import type { ClusterAccess } from "../auth/access.ts";
import { messageOf } from "../transport/dial.ts";
import { type HttpResponse, type Transport, TransportError } from "../transport/transport.ts";
import { ApiError } from "./api-error.ts";
import type { Limiter } from "./rate-limit.ts";
import { readBody } from "./read-body.ts";
import { withRetries } from "./retry.ts";
import { errorOfAnswer } from "./status.ts";

/** A request in terms of the Kubernetes API. */
export interface ApiRequest {
  /** In words, for messages: `get Secret default/db`. */
  readonly what: string;
  /** For metrics: `get`, `list`, `watch`, `create`, `update`, `apply`, `patch`, `delete`, `raw`. */
  readonly verb: string;
  /** For metrics: the plural with its group, `secrets`, `deployments.apps`; "" for other paths. */
  readonly resource: string;
  readonly method: string;
  readonly path: string;
  readonly body?: JsonValue | undefined;
  readonly contentType?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What became of a request, with its retries. */
export interface RequestOutcome {
  readonly verb: string;
  readonly resource: string;
  /** The HTTP status; 0 where there was none. */
  readonly status: number;
  readonly milliseconds: number;
  readonly retries: number;
}

/** Sends requests: rate limit, credentials, retries, errors. */
export interface Requester {
  /** The body as JSON. Null for an empty one. @throws {ApiError} */
  json(request: ApiRequest): Promise<JsonValue>;
  /** The answer, once it is known to be a success. @throws {ApiError} */
  stream(request: ApiRequest): Promise<HttpResponse>;
}

export interface RequesterOptions {
  readonly access: ClusterAccess;
  readonly transport: Transport;
  readonly userAgent: string;
  readonly limit: Limiter;
  readonly timeoutMs: number;
  readonly onRequest?: ((outcome: RequestOutcome) => void) | undefined;
}

// What stands in a proxy's error page is cut later; a whole page is not wanted in memory as text.
const MAX_ERROR_TEXT_BYTES = 64 * 1024;

// Where credentials are wrong for good, not every request starts a program that fetches more of them.
const REFRESH_AGAIN_MS = 5_000;

type Identity = ReturnType<ClusterAccess["headers"]>;

// Errors of requests that the server turned away before it did anything.
const nothingDone = new WeakSet<ApiError>();

/** Makes a requester. */
export function requester(options: RequesterOptions): Requester {
  const { access, transport, limit, timeoutMs, onRequest, userAgent } = options;

  let refreshing: Promise<boolean> | undefined;
  let refreshedAt = Number.NEGATIVE_INFINITY;

  const identify = (): Identity => {
    const identity = access.headers();
    // It is awaited later than it may fail, or never: whoever awaits it is told.
    if (identity instanceof Promise) identity.catch(() => undefined);
    return identity;
  };
  const attempt = async (request: ApiRequest, body: Buffer | undefined, identity: Identity): Promise<HttpResponse> => {
    const { what, method, path, signal } = request;
    const wait = limit(signal);
    try {
      if (wait !== undefined) await wait;
      return await transport.open({
        method,
        path,
        headers: {
          accept: "application/json",
          "user-agent": userAgent,
          ...(identity instanceof Promise ? await identity : identity),
          ...(body === undefined ? {} : { "content-type": request.contentType ?? "application/json" }),
        },
        body,
        signal,
        headTimeoutMs: timeoutMs,
      });
    } catch (cause) {
      throw failureOf(what, cause, signal);
    }
  };
  /** Whether there are other credentials than those that were refused: the token had expired, or the certificate. */
  const renewed = async (used: Identity): Promise<boolean> => {
    if (refreshing === undefined && performance.now() - refreshedAt > REFRESH_AGAIN_MS) {
      refreshing = access.refresh().finally(() => {
        refreshedAt = performance.now();
        refreshing = undefined;
      });
      if (await refreshing) {
        transport.renew();
        return true;
      }
    } else await refreshing;
    // Others may have been refused at the same time, and have fetched them.
    return (await access.headers())["authorization"] !== (await used)["authorization"];
  };
  const send = async (request: ApiRequest, body: Buffer | undefined): Promise<HttpResponse> => {
    const used = identify();
    let response = await attempt(request, body, used);
    if (response.status === 401 && (await renewed(used))) {
      response.cancel();
      response = await attempt(request, body, identify());
    }
    if (response.status >= 200 && response.status < 300) return response;
    const error = await errorOfResponse(request, response, timeoutMs);
    if (error.status === 429 || (error.status === 503 && error.retryAfterMs !== undefined)) nothingDone.add(error);
    throw error;
  };
  const run = async <T>(request: ApiRequest, finish: (response: HttpResponse) => T | Promise<T>): Promise<T> => {
    const body = request.body === undefined ? undefined : Buffer.from(printJson(request.body));
    const begin = performance.now();
    let retries = 0;
    let status = 0;
    try {
      if (request.signal?.aborted === true) throw failureOf(request.what, undefined, request.signal);
      return await withRetries(
        async () => {
          const response = await send(request, body);
          status = response.status;
          return finish(response);
        },
        {
          read: request.method === "GET",
          signal: request.signal,
          nothingDone: (error) => nothingDone.has(error),
          onRetry: () => retries++,
        },
      );
    } catch (error) {
      status = (error instanceof ApiError ? error.status : undefined) ?? 0;
      throw error;
    } finally {
      const { verb, resource } = request;
      onRequest?.({ verb, resource, status, milliseconds: performance.now() - begin, retries });
    }
  };
  return {
    json: (request) =>
      run(request, async (response) => {
        let bytes: Buffer;
        try {
          bytes = await readBody(request.what, response, timeoutMs);
        } catch (cause) {
          throw failureOf(request.what, cause, request.signal);
        }
        return bytes.length === 0 ? null : parseAnswer(request.what, bytes);
      }),
    stream: (request) => run(request, (response) => response),
  };
}

/** Reads an answer's JSON. @throws {ApiError} ServerError */
export function parseAnswer(what: string, bytes: Uint8Array): JsonValue {
  try {
    return parseTrustedJson(bytes, { limits: { maxBytes: bytes.length } });
  } catch (cause) {
    if (!(cause instanceof DocumentError)) throw cause;
    throw new ApiError("ServerError", `${what}: the answer is not JSON: ${cause.message}`, { cause });
  }
}

/** Why there is no answer. */
export function failureOf(what: string, cause: unknown, signal: AbortSignal | undefined): ApiError {
  if (cause instanceof ApiError) return cause;
  if (signal?.aborted === true) return new ApiError("Aborted", `${what}: given up`, { cause: signal.reason });
  if (!(cause instanceof TransportError)) {
    return new ApiError("Unreachable", `${what}: ${messageOf(cause)}`, { cause });
  }
  const code = cause.code === "Timeout" || cause.code === "Aborted" ? cause.code : "Unreachable";
  const error = new ApiError(code, `${what}: ${cause.message}`, { cause });
  if (cause.code === "NotSent") nothingDone.add(error);
  return error;
}

async function errorOfResponse(request: ApiRequest, response: HttpResponse, timeoutMs: number): Promise<ApiError> {
  let text = "";
  let body: JsonObject | undefined;
  try {
    const bytes = await readBody(request.what, response, timeoutMs);
    text = bytes.subarray(0, MAX_ERROR_TEXT_BYTES).toString();
    const value = bytes.length === 0 ? null : parseAnswer(request.what, bytes);
    body = typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    // The status alone says most.
  }
  return errorOfAnswer(request.what, {
    status: response.status,
    body,
    text: body === undefined ? text : undefined,
    retryAfter: response.header("retry-after"),
    apply: request.verb === "apply",
  });
}
