// Internals of grpc-js that the defence against hostile callers needs. Tests fail if a release moves them.

import type { Http2Server, ServerHttp2Stream } from "node:http2";
import type { Server, ServerInterceptingCallInterface } from "@grpc/grpc-js";

/** The HTTP/2 stream of a call in the outermost interceptor. gRPC cannot end a call that has sent its status. */
export function streamOf(call: ServerInterceptingCallInterface): ServerHttp2Stream | undefined {
  return (call as { stream?: ServerHttp2Stream }).stream;
}

/** The HTTP/2 servers of a gRPC server, which does not limit connections itself. */
export function listenersOf(server: Server): Iterable<Http2Server> {
  return (server as unknown as { http2Servers?: Map<Http2Server, unknown> }).http2Servers?.keys() ?? [];
}

/**
 * The encoding of the messages that a caller sends: its `grpc-encoding` header. grpc-js removes the header from the
 * metadata before an interceptor sees it.
 */
export function encodingOf(call: ServerInterceptingCallInterface): string | undefined {
  return (call as { incomingEncoding?: string }).incomingEncoding;
}
