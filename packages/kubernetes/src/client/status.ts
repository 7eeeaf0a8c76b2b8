import { isObject, type JsonObject, type JsonValue } from "@xfn/json";
import { ApiError, type ApiErrorCause, type ApiErrorCode } from "./api-error.ts";

// Messages go to logs and conditions, and a server may quote a whole object in one.
const MAX_MESSAGE_CHARACTERS = 4096;
// More causes than a person reads.
const MAX_CAUSES = 32;
// The caller's own backoff handles longer pauses.
const MAX_RETRY_AFTER_MS = 60_000;

/** The parts of a response that determine its error. */
export interface FailedResponse {
  readonly status: number;
  /** The body, if it is a `Status` object. */
  readonly body: JsonValue | undefined;
  /** Any other body, such as the error page of a proxy. */
  readonly text?: string | undefined;
  readonly retryAfter?: string | undefined;
  /** Whether the request was a server-side apply. */
  readonly apply?: boolean;
}

/**
 * Turns a failed response into an error (Kubernetes API conventions, "Response Status Kind").
 *
 * @param what the request in words, for the message: `get Secret default/db`
 */
export function statusError(what: string, response: FailedResponse): ApiError {
  const status = isObject(response.body) ? response.body : undefined;
  const details = isObject(status?.["details"]) ? status["details"] : undefined;
  const reason = text(status?.["reason"]);
  const number = typeof status?.["code"] === "number" ? status["code"] : response.status;
  const message = text(status?.["message"]) ?? text(response.text?.trim()) ?? "no reason given";
  const seconds = details?.["retryAfterSeconds"];
  const asked = response.retryAfter ?? (typeof seconds === "number" && seconds > 0 ? String(seconds) : undefined);
  return new ApiError(
    codeOf({ status: number, reason, message }, details, response.apply === true),
    `${what}: ${shorten(message)}`,
    {
      status: number,
      reason,
      causes: causesOf(details),
      retryAfterMs: retryAfterMs(asked),
    },
  );
}

/** How the API server begins the answer of an admission webhook. */
const DENIAL = /^admission webhook "[^"]*" denied the request/;

function codeOf(
  { status, reason, message }: { status: number; reason: string | undefined; message: string },
  details: JsonObject | undefined,
  apply: boolean,
): ApiErrorCode {
  switch (status) {
    case 400:
    case 405:
    case 406:
    case 413:
    case 415:
    case 422:
      return "Invalid";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      // For a missing object, the server returns its name; for an unknown path, it returns none.
      return text(details?.["name"]) === undefined ? "KindNotServed" : "NotFound";
    case 409:
      if (reason === "AlreadyExists") return "AlreadyExists";
      return DENIAL.test(message) ? "Denied" : "Conflict";
    case 410:
      return "Expired";
    case 429:
    case 503:
      return "Busy";
    case 504:
      return "Timeout";
  }
  if (reason === "Timeout" || reason === "ServerTimeout") return "Timeout";
  // An apply with an unknown field: the only 500 without a reason. A retry fails too.
  if (status === 500 && apply && reason === undefined) return "Invalid";
  return "ServerError";
}

function causesOf(details: JsonObject | undefined): ApiErrorCause[] {
  const causes = details?.["causes"];
  if (!Array.isArray(causes)) return [];
  return causes
    .slice(0, MAX_CAUSES)
    .filter(isObject)
    .map((cause) => {
      const field = text(cause["field"]);
      const message = shorten(text(cause["message"]) ?? text(cause["reason"]) ?? "");
      return field === undefined ? { message } : { field, message };
    });
}

/** `Retry-After` in milliseconds. Kubernetes sends seconds; dates (RFC 9110) are ignored. */
function retryAfterMs(value: string | undefined): number | undefined {
  if (value === undefined || !/^\d{1,9}$/.test(value)) return undefined;
  return Math.min(Number(value) * 1000, MAX_RETRY_AFTER_MS);
}

function shorten(message: string): string {
  return message.length <= MAX_MESSAGE_CHARACTERS ? message : `${message.slice(0, MAX_MESSAGE_CHARACTERS)}...`;
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
