import type { Readable } from "node:stream";

export interface HttpRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Names in lower case. */
  /** A header with several values is sent once for each. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: Buffer | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The response lasts for minutes, as that of a watch does. Default: false. */
  readonly isLong?: boolean | undefined;
  /** Limit for the arrival of the response's head, in milliseconds. */
  readonly headTimeoutMs: number;
}

/** A response whose head has arrived and whose body has not been read. */
export interface HttpResponse {
  readonly status: number;
  header(name: string): string | undefined;
  readonly body: Readable;
  /** Discards the rest of the body. */
  cancel(): void;
}

/** @param headers those of the head; a header that occurs several times is not text */
export function httpResponse(
  status: number | undefined,
  headers: Readonly<Record<string, unknown>>,
  body: Readable,
  cancel: () => void,
): HttpResponse {
  const header = (name: string): string | undefined => {
    const value = headers[name];
    return typeof value === "string" ? value : undefined;
  };
  return { status: status ?? 0, header, body, cancel };
}

/** Sends requests to one server over persistent connections. */
export interface Transport {
  /** @throws {TransportError} */
  open(request: HttpRequest): Promise<HttpResponse>;
  /** Sends later requests over new connections. Running requests continue. */
  renew(): void;
  close(): void;
}
