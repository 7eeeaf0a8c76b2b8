import { describe, expect, test } from "vitest";
import {
  bytes,
  enumeration,
  int32,
  int64,
  type Message,
  map,
  message,
  optional,
  repeated,
  text,
  value,
} from "./index.ts";

interface Inner {
  name: string;
}

interface Outer {
  text: string;
  bytes: Uint8Array;
  long: bigint;
  color: number;
  maybe?: string | undefined;
  inner?: Inner | undefined;
  inners: Inner[];
  numbers: number[];
  texts: Map<string, string>;
  byName: Map<string, Inner>;
}

const Inner: Message<Inner> = message("Inner", { name: value(1, text) });
const Outer: Message<Outer> = message("Outer", {
  text: value(1, text),
  bytes: value(2, bytes),
  long: value(3, int64),
  color: value(4, enumeration("Color")),
  maybe: optional(5, text),
  inner: optional(6, Inner),
  inners: repeated(7, Inner),
  numbers: repeated(8, int32),
  texts: map(9, text),
  byName: map(10, Inner),
});

const EMPTY: Outer = {
  text: "",
  bytes: new Uint8Array(),
  long: 0n,
  color: 0,
  maybe: undefined,
  inner: undefined,
  inners: [],
  numbers: [],
  texts: new Map(),
  byName: new Map(),
};
const hex = (encoded: Uint8Array): string => Buffer.from(encoded).toString("hex");
const decode = (encoded: string): Outer => Outer.decode(Buffer.from(encoded, "hex"));

test("fields with their defaults take no bytes, and optional ones that are set do", () => {
  expect(hex(Outer.encode(EMPTY))).toBe("");
  expect(decode("")).toEqual(EMPTY);
  expect(hex(Outer.encode({ ...EMPTY, maybe: "", inner: { name: "" } }))).toBe("2a003200");
});

// Written by hand from https://protobuf.dev/programming-guides/encoding.
const FULL: Outer = {
  text: "a",
  bytes: Buffer.of(255),
  long: -1n,
  color: 7,
  maybe: "b",
  inner: { name: "c" },
  inners: [{ name: "d" }, { name: "" }],
  numbers: [1, 300],
  texts: new Map([
    ["k", "v"],
    ["__proto__", ""],
  ]),
  byName: new Map([["", { name: "" }]]),
};
const FULL_HEX = [
  "0a0161",
  "1201ff",
  "18ffffffffffffffffff01",
  "2007",
  "2a0162",
  "32030a0163",
  "3a030a0164" + "3a00",
  "420301ac02",
  "4a060a016b120176" + `4a0b0a09${hex(Buffer.from("__proto__"))}`,
  "52021200",
].join("");

test("encodes and decodes every kind of field", () => {
  expect(hex(Outer.encode(FULL))).toBe(FULL_HEX);
  expect(decode(FULL_HEX)).toEqual(FULL);
});

test("a long message and a long map entry keep their bytes", () => {
  const name = "x".repeat(100_000);
  const long = { ...EMPTY, inner: { name }, byName: new Map([[name, { name }]]) };
  expect(Outer.decode(Outer.encode(long))).toEqual(long);
});

describe("decoding", () => {
  test("skips unknown fields and fields of another wire type, and takes the last of several values", () => {
    expect(decode("7a0161" + "0801" + "0a0161" + "0a0162" + "e33f0801e43f")).toEqual({ ...EMPTY, text: "b" });
  });

  test("replaces bytes of a text that are not UTF-8", () => {
    expect(decode("0a02c328").text).toBe("\uFFFD(");
  });

  test("reads numbers that are not packed, and an entry without its key or value", () => {
    expect(decode("4001" + "40ac02").numbers).toEqual([1, 300]);
    expect(decode("4a00").texts).toEqual(new Map([["", ""]]));
    expect(decode("52030a0161").byName).toEqual(new Map());
  });

  test.each([
    ["a length beyond the end", "0a0561"],
    ["an endless varint", "20ffffffffffffffffffffff"],
    ["a field without a number", "0000"],
    ["an unknown wire type", "0f"],
    ["the end of a group that did not begin", "0c"],
    ["a message beyond the end", "32050a"],
    ["a group without its end", "7b"],
  ])("rejects %s", (_, encoded) => {
    expect(() => decode(encoded)).toThrow();
  });
});

test("rejects an integer beyond 64 bits", () => {
  expect(() => Outer.encode({ ...EMPTY, long: 2n ** 63n })).toThrow();
});
