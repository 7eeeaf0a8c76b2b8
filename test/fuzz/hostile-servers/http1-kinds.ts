import { type Kind, repeated } from "./kinds.ts";

const text = (value: string): Buffer => Buffer.from(value, "latin1");
const head = (...fields: string[]): string =>
  ["HTTP/1.1 200 OK", "content-type: application/json", ...fields, "", ""].join("\r\n");
const chunked = text(head("transfer-encoding: chunked"));
const complete = text(`${head("content-length: 2")}{}`);

/** Hostile servers of HTTP/1.1. */
export const HTTP1_KINDS: Readonly<Record<string, Kind>> = {
  "interim responses": { flood: repeated(text("HTTP/1.1 103 Early Hints\r\n\r\n")) },
  "interim responses of 8 KB": { flood: repeated(text(`HTTP/1.1 103 A\r\nlink: ${"x".repeat(8000)}\r\n\r\n`)) },
  "interim responses of many fields": {
    flood: repeated(text(`HTTP/1.1 103 A\r\n${Array.from({ length: 100 }, (_, id) => `a${id}: b\r\n`).join("")}\r\n`)),
  },
  "continuations of a request": { flood: repeated(text("HTTP/1.1 100 Continue\r\n\r\n")) },
  "states of processing in a drip": { flood: text("HTTP/1.1 102 Processing\r\n\r\n"), isDrip: true },
  "blank lines": { flood: repeated(text("\r\n")) },
  "a status line that never ends": { first: text("HTTP/1.1 200 "), flood: repeated(text("OK")) },
  "a header that never ends": { first: text("HTTP/1.1 200 OK\r\na: "), flood: repeated(text("b")) },
  "headers that never end": { first: text("HTTP/1.1 200 OK\r\n"), flood: repeated(text("a: b\r\n")) },
  "headers in a drip": { first: text("HTTP/1.1 200 OK\r\na: "), flood: text("b"), isDrip: true },
  "chunks of one byte": { first: chunked, flood: repeated(text("1\r\n \r\n")) },
  "chunks of one byte in a drip": { first: chunked, flood: text("1\r\n \r\n"), isDrip: true },
  "a chunk extension that never ends": { first: Buffer.concat([chunked, text("1;a=")]), flood: repeated(text("b")) },
  "chunk extensions": { first: chunked, flood: repeated(text(`1;${"a".repeat(1000)}\r\n \r\n`)) },
  "a chunk size of zeros": { first: chunked, flood: repeated(text("0")) },
  "trailers that never end": { first: Buffer.concat([chunked, text("0\r\n")]), flood: repeated(text("a: b\r\n")) },
  "a body in a drip": { first: text(head("content-length: 10000000")), flood: text(" "), isDrip: true },
  "a body without end": { first: text(head()), flood: repeated(text(" ")), isContent: true },
  "a body after the answer": { first: complete, flood: repeated(text(" ")) },
  "blank lines after the answer": { first: complete, flood: repeated(text("\r\n")) },
  "answers without a request": { flood: repeated(complete) },
  "another protocol": {
    first: text("HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\n\r\n"),
    flood: repeated(text("a")),
  },
  "bytes of no protocol": { flood: repeated(text("garbage\r\n")) },
};
