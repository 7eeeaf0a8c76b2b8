import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { ServeError, type ServeErrorCode } from "../errors/serve-error.ts";
import { MessageBuffer, messagePrefix } from "../message/message-buffer.ts";

const CONTENT_TYPE = { "content-type": "application/grpc" } as const;

// The characters that a `grpc-message` must percent-encode. Clients decode no others.
const UNPRINTABLE = /[^\x20-\x24\x26-\x7e]+/g;

// https://grpc.io/docs/guides/status-codes/
const STATUSES: Readonly<Record<ServeErrorCode | "Ok", number>> = {
  Ok: 0,
  InvalidArgument: 3,
  ResourceExhausted: 8,
  Unimplemented: 12,
  Internal: 13,
};

/** A gRPC method that takes one message and returns one. */
export type UnaryMethod = (message: Uint8Array) => Uint8Array | Promise<Uint8Array>;

/** The method and the limits of a served call. */
export interface ServedCallOptions {
  /** Undefined if the server has no method with the call's path. */
  readonly method: UnaryMethod | undefined;
  readonly maxMessageBytes: number;
}

/** One call from its first frame to its trailers. */
export class ServedCall {
  readonly #stream: ServerHttp2Stream;
  readonly #options: ServedCallOptions;
  readonly #request = new MessageBuffer();
  #answered = false;

  constructor(stream: ServerHttp2Stream, options: ServedCallOptions) {
    this.#stream = stream;
    this.#options = options;
  }

  begin(headers: IncomingHttpHeaders): void {
    const { method } = this.#options;
    // The caller disconnected, or does not use gRPC. The call ends with its stream.
    this.#stream.on("error", () => undefined);
    if (headers[":method"] !== "POST" || !/^application\/grpc(?:[+;]|$)/.test(headers["content-type"] ?? ""))
      return this.#refuseHttp();
    if (method === undefined)
      return this.#fail(new ServeError("Unimplemented", `there is no method ${String(headers[":path"])}`));
    this.#stream.on("data", (chunk: Buffer) => this.#onData(chunk));
    this.#stream.on("end", () => void this.#answer(method));
  }

  #onData(chunk: Buffer): void {
    if (this.#answered) return;
    const { maxMessageBytes } = this.#options;
    this.#request.add(chunk);
    const { size } = this.#request;
    if (size > maxMessageBytes)
      return this.#fail(
        new ServeError("ResourceExhausted", `received message larger than max (${size} vs. ${maxMessageBytes} bytes)`),
      );
    // The rest has no announced size, so the buffer would grow with each chunk.
    if (this.#request.hasMore) this.#fail(new ServeError("InvalidArgument", "the request is more than one message"));
  }

  async #answer(method: UnaryMethod): Promise<void> {
    if (this.#answered) return;
    try {
      const message = await method(this.#message());
      this.#respond(message);
    } catch (error) {
      if (!(error instanceof ServeError)) console.error(error);
      this.#fail(
        error instanceof ServeError ? error : new ServeError("Internal", `the function failed: ${String(error)}`),
      );
    }
  }

  #message(): Buffer {
    const message = this.#request.message();
    if (message === undefined) throw new ServeError("InvalidArgument", "the request is not one message");
    if (this.#request.isCompressed) throw new ServeError("Unimplemented", "compressed messages are not supported");
    this.#request.clear();
    return message;
  }

  #respond(message: Uint8Array): void {
    if (this.#isOver()) return;
    const stream = this.#stream;
    stream.respond({ ":status": 200, ...CONTENT_TYPE }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": String(STATUSES.Ok) }));
    stream.cork();
    stream.write(messagePrefix(message));
    stream.end(message);
    stream.uncork();
  }

  #fail({ code, message }: ServeError): void {
    if (this.#isOver()) return;
    this.#stream.respond(
      {
        ":status": 200,
        ...CONTENT_TYPE,
        "grpc-status": String(STATUSES[code]),
        "grpc-message": message.toWellFormed().replace(UNPRINTABLE, encodeURIComponent),
      },
      { endStream: true },
    );
    this.#stopReading();
  }

  #refuseHttp(): void {
    if (this.#isOver()) return;
    this.#stream.respond({ ":status": constants.HTTP_STATUS_UNSUPPORTED_MEDIA_TYPE }, { endStream: true });
    this.#stopReading();
  }

  /** Discards further bytes of the caller. */
  #stopReading(): void {
    this.#request.clear();
    this.#stream.resume();
    this.#stream.close(constants.NGHTTP2_NO_ERROR);
  }

  #isOver(): boolean {
    const over = this.#answered || this.#stream.destroyed || this.#stream.closed;
    this.#answered = true;
    return over;
  }
}
