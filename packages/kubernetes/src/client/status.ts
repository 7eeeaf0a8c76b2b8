import { isObject, type JsonObject, type JsonValue } from "@xfn/functionio";
import { ApiError, type ApiErrorCause, type ApiErrorCode } from "./api-error.ts";

// A message is for people, logs and conditions; a server may quote a whole object in it.
const MAX_MESSAGE_CHARACTERS = 4096;
// As many as a person reads.
const MAX_CAUSES = 32;
// A server that asks for more is not waited for: the caller's own backoff is better.
const MAX_RETRY_AFTER_MS = 60_000;

/** What was answered, as far as an error needs it. */
export interface Answer {
  readonly status: number;
  /** The `Status` object, where the body was one. */
  readonly body: JsonValue | undefined;
  /** The body where it was none: proxies answer in their own way. */
  readonly text?: string | undefined;
  readonly retryAfter?: string | undefined;
  /** Whether it was a server-side apply. */
  readonly apply?: boolean;
}

/**
 * The error that an answer is (Kubernetes API conventions, "Response Status Kind").
 *
 * @param what the request in words, for the message: `get Secret default/db`
 */
export function errorOfAnswer(what: string, answer: Answer): ApiError {
  const status = isObject(answer.body) ? answer.body : undefined;
  const details = isObject(status?.["details"]) ? status["details"] : undefined;
  const reason = text(status?.["reason"]);
  const number = typeof status?.["code"] === "number" ? status["code"] : answer.status;
  const message = text(status?.["message"]) ?? text(answer.text?.trim()) ?? "no reason given";
  const seconds = details?.["retryAfterSeconds"];
  const asked = answer.retryAfter ?? (typeof seconds === "number" && seconds > 0 ? String(seconds) : undefined);
  return new ApiError(codeOf(number, reason, details, answer.apply === true), `${what}: ${shorten(message)}`, {
    status: number,
    reason,
    causes: causesOf(details),
    retryAfterMs: retryAfterMs(asked),
  });
}

function codeOf(
  status: number,
  reason: string | undefined,
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
      // For an object that is not there the server names it; a path that it does not know has no name.
      return text(details?.["name"]) === undefined ? "KindNotServed" : "NotFound";
    case 409:
      return reason === "AlreadyExists" ? "AlreadyExists" : "Conflict";
    case 410:
      return "Expired";
    case 429:
    case 503:
      return "Busy";
    case 504:
      return "Timeout";
  }
  if (reason === "Timeout" || reason === "ServerTimeout") return "Timeout";
  // An apply with a field that the schema does not have: the only 500 without a reason. It fails again.
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

/** `Retry-After` in milliseconds. Kubernetes sends seconds; dates (RFC 9110) are left unread. */
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
