// What grpc-js keeps to itself and hostile callers make necessary. Tests fail should a release keep it elsewhere.

import type { Http2Server, ServerHttp2Stream } from "node:http2";
import type { Server, ServerInterceptingCallInterface } from "@grpc/grpc-js";

/** The HTTP/2 stream of a call, as the outermost interceptor is given it: gRPC knows no way to end a call that has its status. */
export function streamOf(call: ServerInterceptingCallInterface): ServerHttp2Stream | undefined {
  return (call as { stream?: ServerHttp2Stream }).stream;
}

/** The servers that listen for a gRPC server: it has no bound of its own on connections. */
export function listenersOf(server: Server): Iterable<Http2Server> {
  return (server as unknown as { http2Servers?: Map<Http2Server, unknown> }).http2Servers?.keys() ?? [];
}
