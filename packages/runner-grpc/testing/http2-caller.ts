import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionOptions,
  connect,
  type IncomingHttpHeaders,
} from "node:http2";
import { connect as connectSocket } from "node:net";
import { onTestFinished } from "vitest";
import { SERVICE_NAME } from "../src/index.ts";
import type { Serving } from "./serving.ts";

export const PATH = `/${SERVICE_NAME}/RunFunction`;

/** Connects a caller that speaks only HTTP/2, so that a test controls every byte of its messages. */
export function session(
  serving: Serving,
  path: string = serving.path("runner.sock"),
  options: ClientSessionOptions = {},
): ClientHttp2Session {
  const session = connect("http://localhost", {
    ...options,
    createConnection: () => connectSocket(path),
    // Raise Node's limits of a sender, because the tests are about the server's limits.
    maxSessionMemory: 1_000,
    maxSendHeaderBlockLength: 10_000_000,
  });
  session.on("error", () => undefined);
  onTestFinished(() => session.destroy());
  return session;
}

export function open(session: ClientHttp2Session, headers: Record<string, string> = {}): ClientHttp2Stream {
  const stream = session.request({
    ":method": "POST",
    ":path": PATH,
    "content-type": "application/grpc",
    te: "trailers",
    ...headers,
  });
  stream.on("error", () => undefined);
  stream.resume();
  return stream;
}

/** The gRPC status of a call; -1 if it ends without one. */
export async function statusOf(stream: ClientHttp2Stream): Promise<number> {
  const found = (headers: IncomingHttpHeaders): void => {
    if (headers["grpc-status"] !== undefined) status = Number(headers["grpc-status"]);
  };
  let status = -1;
  stream.on("response", found);
  stream.on("trailers", found);
  // The server answers a caller that has not ended its side, and the stream stays half open.
  await new Promise((resolve) => stream.on("end", resolve).on("close", resolve));
  return status;
}

/** A message with its length prefix, which a test can set to another length. */
export function frame(message: Uint8Array, length: number = message.length, compressed = 0): Buffer {
  const header = Buffer.alloc(5);
  header.writeUInt8(compressed, 0);
  header.writeUInt32BE(length, 1);
  return Buffer.concat([header, message]);
}
