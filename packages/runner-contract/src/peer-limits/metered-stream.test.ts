import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { MeteredStream } from "./metered-stream.ts";
import { PeerBudget } from "./peer-budget.ts";

const RST_STREAM = 3;
const STREAMS = 20;

/** Resets of streams, as servers send them together when they end many calls. */
function resets(): Buffer {
  return Buffer.concat(
    Array.from({ length: STREAMS }, (_, index) => {
      const frame = Buffer.alloc(13);
      frame.writeUIntBE(4, 0, 3);
      frame[3] = RST_STREAM;
      frame.writeUInt32BE(2 * index + 1, 5);
      return frame;
    }),
  );
}

function frameOf(type: number, payload: string): Buffer {
  return Buffer.concat([Buffer.of(0, 0, payload.length, type, 0, 0, 0, 0, 0), Buffer.from(payload)]);
}

test("a server's data before it closes the connection arrives, in pieces of several turns too", async () => {
  const server = createServer((socket) => void socket.end(resets())).listen(0, "127.0.0.1");
  await once(server, "listening");
  const stream = new MeteredStream(
    connect((server.address() as AddressInfo).port, "127.0.0.1"),
    new PeerBudget("http2"),
  );
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(Buffer.from(chunk)));
  await once(stream, "close");
  expect(Buffer.concat(chunks)).toEqual(resets());
  expect(chunks).toHaveLength(STREAMS);
  server.close();
});

test("a write to a connection that the server has closed is a reset, which clients of HTTP/2 take for a lost one", async () => {
  const socket = new Duplex({
    read: () => undefined,
    write: (_chunk, _encoding, done) => done(Object.assign(new Error("write EPIPE"), { code: "EPIPE" })),
  });
  const stream = new MeteredStream(socket, new PeerBudget("http2"));
  stream.write(Buffer.from("x"));
  const [error] = await once(stream, "error");
  expect(error).toMatchObject({ code: "ECONNRESET" });
});

test("bytes that arrived before a socket is metered come first, and its other users see the end", async () => {
  const [first, second] = [frameOf(4, "a"), frameOf(4, "b")];
  const server = createServer((socket) => {
    socket.write(first);
    socket.on("data", () => socket.end(second));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  await expect.poll(() => socket.readableLength).toBe(first.length);
  const stream = new MeteredStream(socket, new PeerBudget("http2"));
  const closed = once(socket, "close");
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(Buffer.from(chunk)));
  stream.write(Buffer.from("more"));
  await once(stream, "close");
  expect(Buffer.concat(chunks)).toEqual(Buffer.concat([first, second]));
  await closed;
  server.close();
});
