import { Metadata } from "@grpc/grpc-js";
import type { ExactReader } from "./exact-reader.ts";

// A *plain call* carries one unary call over a connection without HTTP/2, which costs several times as much for large
// messages:
//
//   client: head {path, timeoutMs, length, metadata}
//   server: head {go: true}, once it has admitted the call; or its answer
//   client: the message
//   server: head {status, text, length, metadata}, then the message
//
// A head is the magic, the length of its JSON in 4 bytes, and the JSON. A server without plain calls closes the
// connection or answers in its own protocol, and has received no message.

const MAGIC = Buffer.from("xfncall\n");
const PREFIX_BYTES: number = MAGIC.length + 4;

/** The first bytes of a connection with a plain call. No other protocol of a runner begins with them. */
export const PLAIN_BYTES: Buffer = MAGIC.subarray(0, 2);

// The size of HTTP/2 headers that Node accepts.
const MAX_HEAD_BYTES = 64 * 1024;

/** Metadata as strings. Binary values are in base64. */
type PlainMetadata = Readonly<Record<string, unknown>>;

/** The head of a request, which the client sends first. */
export interface RequestHead {
  /** The gRPC method, `/package.Service/Method`. */
  readonly path: string;
  /** The remaining time of the call. */
  readonly timeoutMs: number;
  /** The length of the message, in bytes. */
  readonly length: number;
  readonly metadata: Metadata;
}

/** The head of an answer: it requests the message, or ends the call. */
export type AnswerHead =
  | "go"
  | {
      /** A status of gRPC. */
      readonly status: number;
      readonly text: string;
      readonly length: number;
      readonly metadata: Metadata;
    };

export function encodeRequestHead({ metadata, ...head }: RequestHead): Buffer {
  return encode({ ...head, metadata: metadata.toHttp2Headers() });
}

export function encodeAnswerHead(head: AnswerHead): Buffer {
  if (head === "go") return encode({ go: true });
  return encode({ ...head, metadata: head.metadata.toHttp2Headers() });
}

/** Reads a head of a client. @param onHead called with undefined if it is malformed */
export function readRequestHead(reader: ExactReader, onHead: (head: RequestHead | undefined) => void): void {
  readHead(reader, (json) => onHead(requestHead(json)));
}

/** Reads a head of a server. @param onHead called with undefined if it is malformed */
export function readAnswerHead(reader: ExactReader, onHead: (head: AnswerHead | undefined) => void): void {
  readHead(reader, (json) => onHead(answerHead(json)));
}

function encode(json: object): Buffer {
  const text = Buffer.from(JSON.stringify(json));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  return Buffer.concat([MAGIC, length, text]);
}

type Fields = Readonly<Record<string, unknown>>;

function readHead(reader: ExactReader, onJson: (json: Fields | undefined) => void): void {
  reader.expect(PREFIX_BYTES, (prefix) => {
    const length = prefix.readUInt32BE(MAGIC.length);
    if (!prefix.subarray(0, MAGIC.length).equals(MAGIC) || length > MAX_HEAD_BYTES) return onJson(undefined);
    reader.expect(length, (text) => onJson(parse(text)));
  });
}

function parse(text: Buffer): Fields | undefined {
  try {
    const json: unknown = JSON.parse(text.toString("utf8"));
    return typeof json === "object" && json !== null ? (json as Fields) : undefined;
  } catch {
    return undefined;
  }
}

function requestHead(json: Fields | undefined): RequestHead | undefined {
  const { path, timeoutMs, length, metadata } = json ?? {};
  if (typeof path !== "string" || !isCount(timeoutMs) || !isCount(length)) return undefined;
  return { path, timeoutMs, length, metadata: metadataOf(metadata) };
}

function answerHead(json: Fields | undefined): AnswerHead | undefined {
  const { go, status, text, length, metadata } = json ?? {};
  if (go === true) return "go";
  if (!isCount(status) || typeof text !== "string" || !isCount(length)) return undefined;
  return { status, text, length, metadata: metadataOf(metadata) };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Omits entries that gRPC would not carry. */
function metadataOf(json: unknown): Metadata {
  const metadata = new Metadata();
  if (typeof json !== "object" || json === null) return metadata;
  for (const [key, values] of Object.entries(json as PlainMetadata)) {
    for (const value of (Array.isArray(values) ? values : [values]) as readonly unknown[]) {
      // Given an object with a length, Buffer.from would allocate a buffer of that length.
      if (typeof value !== "string") continue;
      try {
        metadata.add(key, key.endsWith("-bin") ? Buffer.from(value, "base64") : value);
      } catch {
        // The name or the value is invalid.
      }
    }
  }
  return metadata;
}
