import { FunctionCallError, type FunctionCallErrorCode } from "../errors/function-call-error.ts";

// https://grpc.io/docs/guides/status-codes/
export const OK = 0;
const CANCELLED = 1;
const DEADLINE_EXCEEDED = 4;
const RESOURCE_EXHAUSTED = 8;
export const UNIMPLEMENTED = 12;
const UNAVAILABLE = 14;

const NAMES = [
  "OK",
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED",
] as const;

const CODES: ReadonlyMap<number, FunctionCallErrorCode> = new Map([
  [CANCELLED, "Cancelled"],
  [DEADLINE_EXCEEDED, "DeadlineExceeded"],
  [UNAVAILABLE, "ConnectionLost"],
]);

/** A function controls its message, which can have any size. */
const MAX_MESSAGE = 2000;

/** The error of a call that the function ended with a status. `text` is the `grpc-message` header. */
export function statusError(status: number, text: string): FunctionCallError {
  const message = decodeMessage(text).slice(0, MAX_MESSAGE);
  const said = `the function returned ${NAMES[status] ?? `status ${status}`}: ${message || "no message"}`;
  if (status === RESOURCE_EXHAUSTED && /larger than max|message size/i.test(message))
    return new FunctionCallError(
      "TooLarge",
      `${said}; start the function with a larger --max-recv-message-size (MB), if it has that flag`,
      { status },
    );
  return new FunctionCallError(CODES.get(status) ?? "Status", said, { status });
}

/** Percent-decodes a `grpc-message`. Keeps an invalid message as the server sent it. */
function decodeMessage(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
