import { ImageError, type ImageErrorCode } from "../base/errors.ts";

/** An ImageError as data that can be sent to another thread. */
export interface SentError {
  readonly code: ImageErrorCode;
  readonly message: string;
  readonly entry: string | undefined;
  readonly digest: string | undefined;
  readonly retryable: boolean;
  /** The code of a system error, such as `ENOSPC`. */
  readonly systemCode: string | undefined;
}

export function sendError(thrown: unknown): SentError {
  const error = ImageError.from(thrown);
  const { code, rawMessage, entry, digest, retryable, cause } = error;
  const systemCode = cause instanceof Error ? (cause as NodeJS.ErrnoException).code : undefined;
  return { code, message: rawMessage, entry, digest, retryable, systemCode };
}

export function receiveError({ code, message, entry, digest, retryable, systemCode }: SentError): ImageError {
  const cause = systemCode === undefined ? undefined : Object.assign(new Error(message), { code: systemCode });
  const location = { ...(entry !== undefined && { entry }), ...(digest !== undefined && { digest }) };
  return new ImageError(code, message, { ...location, retryable, cause });
}
