import { readSync, writeSync } from "node:fs";
import { HEADER_BYTES, header } from "../protocol/frames.ts";

const FROM_RUNNER = 0;
const TO_RUNNER = 1;

/** Waits for the next frame, which must be of this kind. Ends the process if the runner closed the pipe. */
export function receive(kind: number): Buffer {
  const start = readExactly(HEADER_BYTES);
  if (start.readUInt8(0) !== kind) throw new TypeError(`the runner sent a frame of kind ${start.readUInt8(0)}`);
  return readExactly(start.readUInt32LE(1));
}

/** Payloads up to this size are copied after their header: with one write, the runner wakes up only once. */
const ONE_WRITE_BYTES = 64 * 1024;

export function send(kind: number, payload: Uint8Array | string = ""): void {
  const bytes = typeof payload === "string" ? Buffer.from(payload) : payload;
  const start = header(kind, bytes.length);
  if (bytes.length <= ONE_WRITE_BYTES) return writeAll(Buffer.concat([start, bytes]));
  writeAll(start);
  writeAll(bytes);
}

function readExactly(length: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(length);
  for (let at = 0; at < length; ) {
    const read = readSync(FROM_RUNNER, bytes, at, length - at, null);
    if (read === 0) process.exit(0);
    at += read;
  }
  return bytes;
}

function writeAll(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(TO_RUNNER, bytes, at, bytes.length - at, null);
}
