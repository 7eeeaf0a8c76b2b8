import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { FunctionConnection } from "./connection.ts";

// HTTP/2 frames (RFC 9113, section 6), because Node's own server joins small writes.
const DATA = 0;
const HEADERS = 1;
const SETTINGS = 4;
const PING = 6;
const ACK = 1;
const END_STREAM = 1;
const END_HEADERS = 4;
const PREFACE_BYTES = 24;

const BYTES = 100_000;

/** The heap varies by some hundred kilobytes. A Buffer for each byte takes 10 MB. */
const MAX_MEMORY = 3_000_000;

function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header.writeUInt8(type, 3);
  header.writeUInt8(flags, 4);
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}

/** A header as a literal without indexing (RFC 7541, section 6.2.2). */
function literal(name: string, value: string): Buffer {
  return Buffer.from(
    `\0${String.fromCharCode(name.length)}${name}${String.fromCharCode(value.length)}${value}`,
    "latin1",
  );
}

/** Resolves when the client has sent a frame. */
async function received(socket: Socket, wanted: (type: number, flags: number) => boolean): Promise<void> {
  for (;;) {
    const bytes = seen.get(socket) ?? Buffer.alloc(0);
    for (let at = PREFACE_BYTES; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3))
      if (wanted(bytes.readUInt8(at + 3), bytes.readUInt8(at + 4))) return;
    await once(socket, "data");
  }
}

const seen = new WeakMap<Socket, Buffer>();

/** Memory of this process that is in use. */
function memoryUsed(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

test("a response that arrives a byte at a time takes little more memory than its size", async () => {
  const server = createServer((socket) =>
    socket.on("data", (chunk) => seen.set(socket, Buffer.concat([seen.get(socket) ?? Buffer.alloc(0), chunk]))),
  );
  await once(server.listen(0, "127.0.0.1"), "listening");
  const accepted = once(server, "connection") as Promise<[Socket]>;
  const connection = new FunctionConnection(connect((server.address() as AddressInfo).port, "127.0.0.1"));
  const [socket] = await accepted;
  try {
    const call = connection.call("/a.B/C", Buffer.from("x"), { timeoutMs: 60_000 });
    await received(socket, (type) => type === HEADERS);
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(BYTES, 1);
    socket.write(frame(SETTINGS, 0, 0));
    const content = literal("content-type", "application/grpc");
    socket.write(frame(HEADERS, END_HEADERS, 1, Buffer.concat([Buffer.of(0x88), content])));
    socket.write(frame(DATA, 0, 1, prefix));
    const before = memoryUsed();
    const byte = frame(DATA, 0, 1, Buffer.of(7));
    socket.write(Buffer.concat(Array.from({ length: BYTES }, () => byte)));
    socket.write(frame(PING, 0, 0, Buffer.alloc(8)));
    await received(socket, (type, flags) => type === PING && flags === ACK);
    expect(memoryUsed() - before).toBeLessThan(MAX_MEMORY);
    socket.write(frame(HEADERS, END_HEADERS | END_STREAM, 1, literal("grpc-status", "0")));
    expect((await call).equals(Buffer.alloc(BYTES, 7))).toBe(true);
  } finally {
    connection.close();
    socket.destroy();
    server.close();
  }
});
