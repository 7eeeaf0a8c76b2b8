import { messageOf } from "@xfn/errors";
import { type Backoff, pauseAfter, retrying } from "@xfn/lifetime";
import { TransportError } from "../transport/transport-error.ts";
import { ApiError, isApiError } from "./api-error.ts";

// Five tries take about 3 s. An API server restarts within that time, and a reconciler retries later anyway.
const MAX_TRIES = 5;
const BACKOFF: Backoff = { firstMs: 200, longestMs: 5_000 };
// The caller's own backoff handles longer pauses.
const LONGEST_ASKED_MS = 10_000;

export interface RetryOptions {
  /** Whether the request is a read. */
  readonly read: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly onRetry?: ((error: ApiError) => void) | undefined;
}

/**
 * Retries where that is safe: every request that the server did not execute, and reads after any transient failure. A
 * write that may have happened fails, so that the caller can look.
 */
export async function withRetries<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  return await retrying(attempt, {
    signal: options.signal,
    pauseMs: (error, failures) => {
      if (!isApiError(error) || failures >= MAX_TRIES) return undefined;
      // Not after a timeout: five of them would take five times as long as the caller allowed.
      const safe = serverDidNothing(error) || (options.read && error.retryable && error.code !== "Timeout");
      const asked = error.retryAfterMs ?? 0;
      if (!safe || asked > LONGEST_ASKED_MS) return undefined;
      options.onRetry?.(error);
      return Math.max(asked, pauseAfter(failures, BACKOFF));
    },
    abortedPause: (error, cause) =>
      new ApiError("Aborted", `aborted while waiting to retry after: ${messageOf(error)}`, { cause }),
  });
}

/**
 * Whether the server certainly did not execute the request: no connection, a refused stream, 429, or 503 with
 * `Retry-After`.
 */
function serverDidNothing({ status, retryAfterMs, cause }: ApiError): boolean {
  if (status !== undefined) return status === 429 || (status === 503 && retryAfterMs !== undefined);
  return cause instanceof TransportError && cause.code === "NotSent";
}
