import { type ClientHttp2Session, type ClientHttp2Stream, constants, type IncomingHttpHeaders } from "node:http2";
import { onAbort } from "@xfn/lifetime";
import { peerLimitErrorOf } from "@xfn/runner-contract/peer-limits";
import { currentTrace } from "@xfn/runner-contract/trace-context";
import { FunctionCallError, type FunctionCallErrorCode } from "../errors/function-call-error.ts";
import { MessageBuffer, messagePrefix } from "../message/message-buffer.ts";
import { type CallOptions, MAX_RESPONSE_BYTES } from "./call-options.ts";
import { OK, statusError } from "./status.ts";

/** The header's grammar allows eight digits. */
const MAX_TIMEOUT_MS = 99_999_999;

/**
 * Calls a gRPC method that takes one message and returns one.
 *
 * @throws {FunctionCallError}
 */
export async function unaryCall(
  session: ClientHttp2Session,
  path: string,
  message: Uint8Array,
  options: CallOptions,
): Promise<Buffer> {
  if (options.signal?.aborted === true)
    throw new FunctionCallError("Cancelled", "the call was cancelled before it began", { undelivered: true });
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const call = new UnaryCall(session, path, options, resolve, reject);
  call.send(message);
  return await promise;
}

class UnaryCall {
  readonly #stream: ClientHttp2Stream;
  readonly #maxBytes: number;
  readonly #timer: NodeJS.Timeout;
  readonly #forget: () => void;
  readonly #resolve: (message: Buffer) => void;
  readonly #reject: (error: FunctionCallError) => void;
  readonly #response = new MessageBuffer();
  #headers: IncomingHttpHeaders | undefined;
  #trailers: IncomingHttpHeaders | undefined;
  #settled = false;

  constructor(
    session: ClientHttp2Session,
    path: string,
    options: CallOptions,
    resolve: (message: Buffer) => void,
    reject: (error: FunctionCallError) => void,
  ) {
    const timeout = Math.min(Math.max(Math.ceil(options.timeoutMs), 1), MAX_TIMEOUT_MS);
    this.#maxBytes = options.maxResponseBytes ?? MAX_RESPONSE_BYTES;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#stream = session.request({
      ":method": "POST",
      ":path": path,
      te: "trailers",
      "content-type": "application/grpc",
      "grpc-timeout": `${timeout}m`,
      ...currentTrace(),
    });
    this.#timer = setTimeout(() => this.#fail("DeadlineExceeded", `no response within ${timeout} ms`), timeout);
    this.#forget = onAbort(options.signal, () => this.#fail("Cancelled", "the call was cancelled"));
    this.#stream.on("response", (headers) => this.#onHeaders(headers));
    this.#stream.on("data", (chunk: Buffer) => this.#onData(chunk));
    this.#stream.on("trailers", (trailers: IncomingHttpHeaders) => {
      this.#trailers = trailers;
    });
    this.#stream.on("error", (error: Error) => this.#onLost(error));
    this.#stream.on("close", () => this.#onClose());
  }

  send(message: Uint8Array): void {
    this.#stream.cork();
    this.#stream.write(messagePrefix(message));
    // Node never finishes an empty write, and leaves the stream open if the response arrives first.
    if (message.length === 0) this.#stream.end();
    else this.#stream.end(message);
    this.#stream.uncork();
  }

  #onHeaders(headers: IncomingHttpHeaders): void {
    this.#headers = headers;
    const { [constants.HTTP2_HEADER_STATUS]: status, "content-type": type = "nothing" } = headers;
    if (Number(status) !== 200 || !/^application\/grpc(?:[+;]|$)/.test(type))
      this.#fail("NotGrpc", `the server is not a gRPC server: it answered HTTP ${String(status)} with ${type}`);
  }

  #onData(chunk: Buffer): void {
    if (this.#settled) return;
    this.#response.add(chunk);
    if (this.#response.isCompressed)
      return this.#fail("Malformed", "the response is compressed, which the request did not allow");
    const { size } = this.#response;
    if (size > this.#maxBytes)
      return this.#fail("TooLarge", `the response has ${size} bytes, and the limit is ${this.#maxBytes}`);
    // The rest has no announced size, so the buffer would grow with each chunk.
    if (this.#response.hasMore) this.#fail("Malformed", "the response is more than one message");
  }

  #onLost(cause: Error): void {
    const excess = peerLimitErrorOf(cause);
    if (excess !== undefined) return this.#fail(excess.code, excess.message, { cause });
    if (speaksNoHttp2(cause)) {
      const why = `the server does not speak HTTP/2 without TLS, as a function started with --insecure does: ${cause.message}`;
      return this.#fail("NotGrpc", why, { cause });
    }
    const undelivered = this.#stream.rstCode === constants.NGHTTP2_REFUSED_STREAM || this.#stream.id === undefined;
    this.#fail("ConnectionLost", `the connection to the function was lost: ${cause.message}`, { cause, undelivered });
  }

  #onClose(): void {
    if (this.#settled) return;
    const status = this.#trailers?.["grpc-status"] ?? this.#headers?.["grpc-status"];
    if (status === undefined) return this.#onLost(new Error("the response ended without a status"));
    if (Number(status) !== OK) {
      const text = this.#trailers?.["grpc-message"] ?? this.#headers?.["grpc-message"];
      return this.#settle(() => this.#reject(statusError(Number(status), String(text ?? ""))));
    }
    const message = this.#response.message();
    if (message === undefined) return this.#fail("Malformed", "the response is not one complete message");
    this.#settle(() => this.#resolve(message));
  }

  #fail(code: FunctionCallErrorCode, message: string, options: ErrorOptions & { undelivered?: boolean } = {}): void {
    this.#settle(() => this.#reject(new FunctionCallError(code, message, options)));
  }

  #settle(report: () => void): void {
    if (this.#settled) return;
    this.#settled = true;
    clearTimeout(this.#timer);
    this.#forget();
    report();
    this.#stream.close(constants.NGHTTP2_CANCEL);
  }
}

/** Whether the server's bytes are not HTTP/2: nghttp2's error, which Node passes on. */
function speaksNoHttp2(error: Error): boolean {
  return "code" in error && error.code === "ERR_HTTP2_ERROR";
}
