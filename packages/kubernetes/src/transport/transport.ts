import type { Readable } from "node:stream";

/** A request, as HTTP has it. */
export interface HttpRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Until the answer's head is there, in milliseconds. */
  readonly headTimeoutMs: number;
}

/** An answer whose body is still to be read. */
export interface HttpResponse {
  readonly status: number;
  header(name: string): string | undefined;
  readonly body: Readable;
  /** Lets go of the rest of the body. */
  cancel(): void;
}

/** Carries requests to one server over connections that are kept. */
export interface Transport {
  /** @throws {TransportError} */
  open(request: HttpRequest): Promise<HttpResponse>;
  /** Later requests go over new connections; those that run go on. */
  renew(): void;
  close(): void;
}

export type TransportErrorCode = "NotSent" | "Lost" | "Timeout" | "Aborted";

/**
 * No answer. `NotSent`: the server certainly did nothing (no connection, or it refused the stream). `Lost`: it may have
 * done what was asked.
 */
export class TransportError extends Error {
  override readonly name = "TransportError";
  readonly code: TransportErrorCode;

  constructor(code: TransportErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}
