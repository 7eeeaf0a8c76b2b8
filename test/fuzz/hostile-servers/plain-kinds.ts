import { type Kind, repeated } from "./kinds.ts";

/** A head of a plain call: its magic, the length of its JSON, and the JSON. */
function head(json: string | Buffer, length: number = Buffer.byteLength(json)): Buffer {
  const prefix = Buffer.alloc(12);
  prefix.write("xfncall\n");
  prefix.writeUInt32BE(length, 8);
  return Buffer.concat([prefix, Buffer.from(json)]);
}

const go = head('{"go":true}');
const answer = (length: number): Buffer =>
  head(JSON.stringify({ status: 0, text: "", length, metadata: {}, keep: false }));

/** Hostile servers of plain calls of a runner. */
export const PLAIN_KINDS: Readonly<Record<string, Kind>> = {
  "an answer in a drip": { first: Buffer.concat([go, answer(10_000_000)]), flood: Buffer.of(0), isDrip: true },
  "a head in a drip": { first: Buffer.concat([go, head("", 60_000)]), flood: Buffer.of(32), isDrip: true },
  "requests for the message again and again": { flood: repeated(go) },
  "a head of 4 GiB": { first: Buffer.concat([go, head("", 2 ** 32 - 1)]), flood: repeated(Buffer.of(32)) },
  "an answer of 4 GiB": { first: Buffer.concat([go, answer(2 ** 32)]), flood: repeated(Buffer.of(32)) },
  "a head that nests": { first: Buffer.concat([go, head("[".repeat(60_000))]) },
  "more than its answer": { first: Buffer.concat([go, answer(1)]), flood: repeated(Buffer.of(32)) },
};
