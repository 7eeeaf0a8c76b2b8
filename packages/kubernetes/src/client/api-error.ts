export type ApiErrorCode =
  /** 404: no such object. */
  | "NotFound"
  /** 404 or no match in discovery: the server does not serve this kind. */
  | "KindNotServed"
  /** 409 on a create. */
  | "AlreadyExists"
  /** 409: another resource version or UID, or (apply without force) another's field. */
  | "Conflict"
  /** 400, 405, 413, 415, 422, and 500 for an apply against the schema; or a name that no URL can have. */
  | "Invalid"
  | "Unauthorized"
  /** 403: RBAC, a quota, or admission. */
  | "Forbidden"
  /** 410: the resource version of a list or watch is too old. */
  | "Expired"
  /** 429 and 503, and after retries, with the time that the server asked for. */
  | "Busy"
  /** No answer: connection refused, reset, TLS. It is not known whether a write happened. */
  | "Unreachable"
  | "Timeout"
  | "Aborted"
  /** Anything else; `status` says what. */
  | "ServerError";

/** What the server says of a field: one of `details.causes` of its Status. */
export interface ApiErrorCause {
  readonly field?: string;
  readonly message: string;
}

// The same request may succeed later, without anybody changing it or what it is about.
const RETRYABLE: ReadonlySet<ApiErrorCode> = new Set(["Conflict", "Busy", "Unreachable", "Timeout", "ServerError"]);

/** An answer that is no success, or none at all. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: ApiErrorCode;
  /** The HTTP status, where there was an answer. */
  readonly status: number | undefined;
  /** `reason` of the server's Status object. */
  readonly reason: string | undefined;
  /** What the server says of fields: `details.causes`. */
  readonly causes: readonly ApiErrorCause[];
  /** How long the server wants to be left alone. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: ApiErrorCode,
    message: string,
    about: {
      status?: number | undefined;
      reason?: string | undefined;
      causes?: readonly ApiErrorCause[] | undefined;
      retryAfterMs?: number | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(message, about.cause === undefined ? undefined : { cause: about.cause });
    this.code = code;
    this.status = about.status;
    this.reason = about.reason;
    this.causes = about.causes ?? [];
    this.retryAfterMs = about.retryAfterMs;
  }

  /** Whether the same may succeed later. A conflict may after reading again. */
  get retryable(): boolean {
    return RETRYABLE.has(this.code);
  }
}

/** Whether this is an {@link ApiError}, with one of these codes if any are given. */
export function isApiError(error: unknown, ...codes: readonly ApiErrorCode[]): error is ApiError {
  return error instanceof ApiError && (codes.length === 0 || codes.includes(error.code));
}
