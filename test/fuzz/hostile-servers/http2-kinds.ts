import { type Kind, repeated } from "./kinds.ts";

// Frames of HTTP/2 (RFC 9113, section 6), and of its extensions ALTSVC (RFC 7838) and ORIGIN (RFC 8336).
const TYPES = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
  altsvc: 10,
  origin: 12,
  unknown: 0xf0,
} as const;
const END_STREAM = 1;
const ACK = 1;
const END_HEADERS = 4;
const PADDED = 8;

/** The type of HEADERS, with which a request begins. */
export const HEADERS_TYPE: number = TYPES.headers;
const REFUSED_STREAM = 7;
const MAX_STREAM = 0x7f_ff_ff_ff;

/** A frame of HTTP/2. */
export function frame(type: number, flags: number, stream: number, payload: Buffer | number[] = []): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header.writeUInt8(type, 3);
  header.writeUInt8(flags, 4);
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, Buffer.from(payload)]);
}

/** A header as a literal (RFC 7541, section 6.2), 64 if it enters the dynamic table. */
function literal(name: string, value: string, first = 0): Buffer {
  const length =
    value.length < 127 ? [value.length] : [127, ((value.length - 127) & 127) | 128, (value.length - 127) >> 7];
  return Buffer.concat([Buffer.from([first, name.length]), Buffer.from(name), Buffer.from(length), Buffer.from(value)]);
}

const u32 = (...numbers: number[]): Buffer => {
  const bytes = Buffer.alloc(4 * numbers.length);
  for (const [index, number] of numbers.entries()) bytes.writeUInt32BE(number, 4 * index);
  return bytes;
};
const setting = (id: number, value: number): Buffer => Buffer.concat([Buffer.from([0, id]), u32(value)]);
const headers = (flags: number, ...fields: Buffer[]): Buffer =>
  frame(TYPES.headers, END_HEADERS | flags, 1, Buffer.concat(fields));
const data = (payload: Buffer | number[], flags = 0): Buffer => frame(TYPES.data, flags, 1, payload);

const STATUS_200 = Buffer.of(0x88);
const EARLY_HINTS = literal(":status", "103");
const answer = headers(0, STATUS_200, literal("content-type", "application/grpc"));
const trailers = (status: string): Buffer => headers(END_STREAM, literal("grpc-status", status));
const unavailable = Buffer.concat([answer, trailers("13")]);
const settings = (...values: Buffer[]): Buffer => frame(TYPES.settings, 0, 0, Buffer.concat(values));
const ping = frame(TYPES.ping, 0, 0, Buffer.alloc(8));
const altsvc = frame(TYPES.altsvc, 0, 1, Buffer.concat([Buffer.of(0, 0), Buffer.from('h2="a:1"')]));
const origin = frame(TYPES.origin, 0, 0, Buffer.concat([Buffer.of(0, 9), Buffer.from("http://a.b")]).subarray(0, 11));
const messageOf = (bytes: number): Buffer => Buffer.concat([Buffer.of(0), u32(bytes)]);

/** Hostile servers of HTTP/2 and gRPC. */
export const HTTP2_KINDS: Readonly<Record<string, Kind>> = {
  "interim responses of 4 KB": { flood: repeated(headers(0, EARLY_HINTS, literal("link", "x".repeat(4000)))) },
  "small interim responses": { flood: repeated(headers(0, EARLY_HINTS)) },
  "interim responses that expand": {
    first: headers(0, EARLY_HINTS, literal("link", "x".repeat(3900), 64)),
    flood: repeated(headers(0, EARLY_HINTS, Buffer.alloc(15, 0xbe))),
  },
  "interim responses of many fields": {
    flood: repeated(headers(0, EARLY_HINTS, ...Array.from({ length: 100 }, (_, id) => literal(`a${id}`, "b")))),
  },
  "interim responses in a drip": { flood: headers(0, EARLY_HINTS), isDrip: true },
  "headers that never end": {
    first: frame(TYPES.headers, 0, 1, STATUS_200),
    flood: repeated(frame(TYPES.continuation, 0, 1, literal("link", "x".repeat(1000)))),
  },
  "empty continuations": {
    first: frame(TYPES.headers, 0, 1, STATUS_200),
    flood: repeated(frame(TYPES.continuation, 0, 1)),
  },
  "final headers again and again": { flood: repeated(answer) },
  "trailers again and again": { first: answer, flood: repeated(trailers("13")) },
  "empty data": { first: answer, flood: repeated(data([])) },
  "data of one byte": { first: answer, flood: repeated(data([0])) },
  "data of one byte in a drip": {
    first: Buffer.concat([answer, data(messageOf(1e6))]),
    flood: data([0]),
    isDrip: true,
  },
  "data of ten bytes": {
    first: Buffer.concat([answer, data(messageOf(16e6))]),
    flood: repeated(data(Buffer.alloc(10))),
  },
  "data of one byte, padded": {
    first: answer,
    flood: repeated(data(Buffer.from([255, ...Buffer.alloc(256)]), PADDED)),
  },
  "padding alone": { first: answer, flood: repeated(data(Buffer.from([255, ...Buffer.alloc(255)]), PADDED)) },
  "data without end": { first: answer, flood: repeated(data(Buffer.alloc(16_000))) },
  "data that announces 2 GiB": { first: Buffer.concat([answer, data(messageOf(2 ** 31))]) },
  "data after the answer": { first: unavailable, flood: repeated(data(Buffer.alloc(16_000))) },
  "data of a stream that was reset": {
    first: Buffer.concat([answer, frame(TYPES.rstStream, 0, 1, u32(2))]),
    flood: repeated(data(Buffer.alloc(16_000))),
  },
  pings: { flood: repeated(ping) },
  "pings in a drip": { flood: ping, isDrip: true },
  "pings after the answer": { first: unavailable, flood: repeated(ping) },
  "answers without a ping": { flood: repeated(frame(TYPES.ping, ACK, 0, Buffer.alloc(8))) },
  settings: { flood: repeated(settings(setting(3, 100))) },
  "empty settings": { flood: repeated(settings()) },
  "settings that move the window": { flood: repeated(settings(setting(4, 0)), settings(setting(4, MAX_STREAM))) },
  "settings of header tables": { flood: repeated(settings(setting(1, 0)), settings(setting(1, 65_536))) },
  "acknowledgements of settings": { flood: repeated(frame(TYPES.settings, ACK, 0)) },
  "window updates of the connection": { flood: repeated(frame(TYPES.windowUpdate, 0, 0, u32(1))) },
  "window updates of the stream": { flood: repeated(frame(TYPES.windowUpdate, 0, 1, u32(1))) },
  "window updates after the answer": { first: unavailable, flood: repeated(frame(TYPES.windowUpdate, 0, 1, u32(1))) },
  "ORIGIN frames": { flood: repeated(origin) },
  "ALTSVC frames": { flood: repeated(altsvc) },
  "large ALTSVC frames": {
    flood: repeated(frame(TYPES.altsvc, 0, 1, Buffer.concat([Buffer.of(0, 0), Buffer.alloc(16_000, "a")]))),
  },
  "frames of unknown types": { flood: repeated(frame(TYPES.unknown, 0, 0)) },
  "large frames of unknown types": { flood: repeated(frame(TYPES.unknown, 0, 0, Buffer.alloc(16_000))) },
  priorities: { flood: repeated(frame(TYPES.priority, 0, 1, Buffer.from([0, 0, 0, 0, 1]))) },
  resets: { flood: repeated(frame(TYPES.rstStream, 0, 1, u32(8))) },
  "a refused stream": { first: frame(TYPES.rstStream, 0, 1, u32(REFUSED_STREAM)) },
  "a graceful GOAWAY again and again": { flood: repeated(frame(TYPES.goaway, 0, 0, u32(MAX_STREAM, 0))) },
  "a GOAWAY that refuses the call": { first: frame(TYPES.goaway, 0, 0, u32(0, REFUSED_STREAM)) },
  "GOAWAY with debug data": {
    flood: repeated(frame(TYPES.goaway, 0, 0, Buffer.concat([u32(MAX_STREAM, 0), Buffer.alloc(8000)]))),
  },
  pushes: {
    flood: repeated(frame(TYPES.pushPromise, END_HEADERS, 1, Buffer.concat([u32(2), Buffer.of(0x82, 0x84, 0x86)]))),
  },
  "frames larger than allowed": { flood: repeated(data(Buffer.alloc(60_000))) },
  "bytes of no protocol": { flood: repeated(Buffer.from("garbage\r\n")) },
};
