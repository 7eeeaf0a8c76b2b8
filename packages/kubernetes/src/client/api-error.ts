import { CodedError } from "@xfn/errors";
export type ApiErrorCode =
  /** 404: no such object. */
  | "NotFound"
  /** 404, or missing in discovery: the server does not serve this kind. */
  | "KindNotServed"
  /** 409 on a create. */
  | "AlreadyExists"
  /** 409: another resource version or UID, or a field of another manager in an apply without force. */
  | "Conflict"
  /** 409 of an admission webhook, such as that of usages: the object is in use. A retry succeeds once it is not. */
  | "Denied"
  /** 400, 405, 413, 415, 422, and 500 for an apply that violates the schema; also a name that no URL can contain. */
  | "Invalid"
  | "Unauthorized"
  /** 403: RBAC, a quota, or admission. */
  | "Forbidden"
  /** 410: the resource version of a list or watch is too old. */
  | "Expired"
  /** 429 and 503 after all retries. */
  | "Busy"
  /** No response: connection refused or reset, TLS. A write may have happened. */
  | "Unreachable"
  | "Timeout"
  | "Aborted"
  /** Any other failure, described by `status`. */
  | "ServerError";

/** The server's statement about one field: an item of `details.causes` of its Status. */
export interface ApiErrorCause {
  readonly field?: string;
  readonly message: string;
}

export interface ApiErrorOptions extends ErrorOptions {
  readonly status?: number | undefined;
  readonly reason?: string | undefined;
  readonly causes?: readonly ApiErrorCause[] | undefined;
  readonly retryAfterMs?: number | undefined;
}

const RETRYABLE: ReadonlySet<ApiErrorCode> = new Set(["Conflict", "Busy", "Unreachable", "Timeout", "ServerError"]);

/** A request that failed, with or without a response. */
export class ApiError extends CodedError<ApiErrorCode> {
  override readonly name = "ApiError";
  /**
   * Whether the same request may succeed later without any change to it. After a conflict, read the object again first.
   */
  override readonly retryable: boolean = RETRYABLE.has(this.code);
  /** The HTTP status, if there was a response. */
  readonly status: number | undefined;
  /** `reason` of the server's Status object. */
  readonly reason: string | undefined;
  /** The server's statements about fields: `details.causes`. */
  readonly causes: readonly ApiErrorCause[];
  /** The pause that the server asked for. */
  readonly retryAfterMs: number | undefined;

  constructor(code: ApiErrorCode, message: string, options: ApiErrorOptions = {}) {
    super(code, message, options);
    this.status = options.status;
    this.reason = options.reason;
    this.causes = options.causes ?? [];
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** Whether an error is an {@link ApiError}, with one of the codes if any are given. */
export function isApiError(error: unknown, ...codes: readonly ApiErrorCode[]): error is ApiError {
  return error instanceof ApiError && (codes.length === 0 || codes.includes(error.code));
}
