import { type ClientHttp2Session, connect, constants } from "node:http2";
import { connect as connectTcp } from "node:net";
import type { Duplex } from "node:stream";
import { MeteredStream, PeerBudget } from "@xfn/runner-contract/peer-limits";
import { FunctionCallError } from "../errors/function-call-error.ts";
import { type CallOptions, MAX_RESPONSE_BYTES } from "./call-options.ts";
import { parseTarget } from "./dial.ts";
import { unaryCall } from "./unary-call.ts";

/**
 * Bytes that a function may send before the client has read them. With the default of 64 KiB, a large response costs a
 * round trip for each 64 KiB.
 */
const RECEIVE_WINDOW_BYTES = 4 * 1024 * 1024;

/** Larger than a read of a socket, so that the frames of one read can be joined. */
const MAX_FRAME_BYTES: number = 256 * 1024;

/** Node's default of 10 MB resets streams while large requests wait. Data from the server has narrower limits. */
const MAX_SESSION_MB: number = Math.ceil((4 * MAX_RESPONSE_BYTES) / 1_000_000);

/** A connection to a function's gRPC server, for any number of concurrent calls. */
export class FunctionConnection {
  readonly #session: ClientHttp2Session;
  readonly #budget = new PeerBudget("http2");
  #failure: unknown;

  /**
   * Uses HTTP/2 without TLS over a connected socket, or to `http://HOST:PORT`.
   *
   * @throws {TypeError} for another address
   */
  constructor(socket: Duplex | string) {
    const stream = new MeteredStream(
      typeof socket === "string" ? connectTo(socket) : socket,
      this.#budget,
      MAX_FRAME_BYTES,
    );
    this.#session = connect("http://function", {
      settings: { enablePush: false, initialWindowSize: RECEIVE_WINDOW_BYTES, maxFrameSize: MAX_FRAME_BYTES },
      maxSessionMemory: MAX_SESSION_MB,
      createConnection: () => stream,
    });
    this.#session.on("error", (error) => {
      this.#failure ??= error;
    });
    this.#session.once("connect", () => {
      // Node emits the event even if the session was destroyed in the meantime.
      if (!this.#session.destroyed) this.#session.setLocalWindowSize(RECEIVE_WINDOW_BYTES);
    });
  }

  /** Whether new calls can be made. */
  get open(): boolean {
    return !this.#session.closed && !this.#session.destroyed;
  }

  /**
   * Makes one call.
   *
   * @param path `/package.Service/Method`
   * @returns the response's message
   * @throws {FunctionCallError}
   */
  async call(path: string, message: Uint8Array, options: CallOptions): Promise<Buffer> {
    if (!this.open)
      throw new FunctionCallError("ConnectionLost", "the connection to the function has ended", {
        cause: this.#failure,
        undelivered: true,
      });
    const end = this.#budget.begin(options.maxResponseBytes ?? MAX_RESPONSE_BYTES);
    try {
      return await unaryCall(this.#session, path, message, options);
    } finally {
      end();
    }
  }

  /** Ends the connection and the calls in progress. */
  close(): void {
    this.#session.destroy(undefined, constants.NGHTTP2_NO_ERROR);
  }
}

function connectTo(address: string): Duplex {
  const target = address.startsWith("http://") ? parseTarget(address) : undefined;
  if (target === undefined)
    throw new TypeError(
      `${JSON.stringify(address)} is not the address of a server without TLS: expected http://HOST:PORT with the port, from 1 to 65535, on which the function listens`,
    );
  return connectTcp({ ...target.address });
}
