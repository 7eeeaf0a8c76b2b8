import { once } from "node:events";
import { connect } from "node:http2";
import { connect as connectSocket } from "node:net";

const SERVING = 1;

/** Whether the server at a socket says that it serves: one call of grpc.health.v1.Health/Check, with nothing but HTTP/2. */
export async function isServing(socket: string): Promise<boolean> {
  const session = connect("http://localhost", { createConnection: () => connectSocket(socket) });
  try {
    const stream = session.request({
      ":method": "POST",
      ":path": "/grpc.health.v1.Health/Check",
      "content-type": "application/grpc",
      te: "trailers",
    });
    // An empty message, not compressed.
    stream.end(Buffer.alloc(5));
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    await once(stream, "end");
    // HealthCheckResponse { ServingStatus status = 1; }
    return Buffer.concat(chunks).equals(Buffer.from([0, 0, 0, 0, 2, 8, SERVING]));
  } finally {
    session.destroy();
  }
}
