import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { StructSchema, type Value } from "@bufbuild/protobuf/wkt";
import type { JsonObject, JsonValue } from "@xfn/json";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeStruct, decodeStructInTurns } from "./decode-struct.ts";
import { encodeStruct } from "./encode-struct.ts";

const encode = (object: JsonObject): Uint8Array => encodeStruct(object).bytes;

function nested(levels: number): JsonObject {
  let object: JsonObject = {};
  for (let level = 1; level < levels; level++) object = { a: object };
  return object;
}

// The same bytes, as the reference library reads them.
function referenceValue(value: Value | undefined): JsonValue {
  const kind = value?.kind;
  switch (kind?.case) {
    case "structValue":
      return Object.fromEntries(Object.entries(kind.value.fields).map(([key, inner]) => [key, referenceValue(inner)]));
    case "listValue":
      return kind.value.values.map(referenceValue);
    case "nullValue":
    case undefined:
      return null;
    case "boolValue":
    case "numberValue":
    case "stringValue":
      return kind.value;
  }
}

const json = fc.dictionary(
  fc.string({ unit: "grapheme" }).filter((key) => key !== "__proto__"),
  fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<JsonValue>,
);

test("an encoded object is decoded to the same object", () => {
  fc.assert(
    fc.property(json, (object) => {
      const plain = JSON.parse(JSON.stringify(object)) as JsonObject;
      expect(JSON.stringify(decodeStruct(encode(plain)))).toBe(JSON.stringify(plain));
    }),
  );
});

test("the reference library reads the same from the bytes, and its bytes are read the same", () => {
  fc.assert(
    fc.property(json, (object) => {
      const plain = JSON.parse(JSON.stringify(object)) as JsonObject;
      const reference = fromBinary(StructSchema, encode(plain));
      expect(Object.fromEntries(Object.entries(reference.fields).map(([key, v]) => [key, referenceValue(v)]))).toEqual(
        plain,
      );
      const again = toBinary(StructSchema, create(StructSchema, reference));
      expect({ ...decodeStruct(again) }).toEqual({ ...decodeStruct(encode(plain)) });
    }),
  );
});

/** Decodes with a pause after each value. */
async function inTurns(bytes: Uint8Array, maxValues = 1_000): Promise<{ decoded: JsonObject; pauses: number }> {
  let pauses = 0;
  const pause = async (): Promise<void> => void pauses++;
  return { decoded: await decodeStructInTurns(bytes, { maxValues }, { pause, bytes: 1 }), pauses };
}

test("decoding in turns gives the same object", async () => {
  await fc.assert(
    fc.asyncProperty(json, async (object) => {
      const bytes = encode(JSON.parse(JSON.stringify(object)) as JsonObject);
      const { decoded, pauses } = await inTurns(bytes, Infinity);
      expect(JSON.stringify(decoded)).toBe(JSON.stringify(decodeStruct(bytes)));
      expect(Object.getPrototypeOf(decoded)).toBe(null);
      expect(pauses).toBeGreaterThanOrEqual(Object.keys(object).length);
    }),
  );
});

test("__proto__ is a key like any other", () => {
  const object = JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}') as JsonObject;
  const decoded = decodeStruct(encode(object));
  expect(Object.keys(decoded)).toEqual(["__proto__", "constructor"]);
  expect(Object.getPrototypeOf(decoded)).toBe(null);
  expect(({} as JsonObject)["polluted"]).toBe(undefined);
});

test("nulls, empty objects and empty lists survive", () => {
  const object = { none: null, object: {}, list: [], text: "", zero: 0, negative: -0, no: false };
  expect(JSON.stringify(decodeStruct(encode(object)))).toBe(JSON.stringify(object));
});

test("an integer beyond 2^53 is rounded, and its path is reported", () => {
  const { bytes, rounded } = encodeStruct({ spec: { serials: [1, 9007199254740993n] } });
  expect(rounded).toEqual([["spec", "serials", 1]]);
  expect(decodeStruct(bytes)).toMatchObject({ spec: { serials: [1, 9007199254740992] } });
});

test("500 levels pass, both ways; 501 do not", () => {
  const bytes = encode(nested(500));
  expect(JSON.stringify(decodeStruct(bytes))).toBe(JSON.stringify(nested(500)));
  expect(() => encode(nested(501))).toThrow(expect.objectContaining({ code: "TooDeep" }));
  const deeper = Buffer.concat([Buffer.from([0x0a, 0x00]), bytes]);
  expect(() => decodeStruct(wrapped(bytes))).toThrow(expect.objectContaining({ code: "TooDeep" }));
  expect(deeper.length).toBeGreaterThan(bytes.length);
});

test.each([
  ["NaN", Number.NaN, "NotJson"],
  ["an infinity", Number.POSITIVE_INFINITY, "NotJson"],
  ["half of a surrogate pair", "\ud800", "NotJson"],
  ["half of a surrogate pair in a long string", `${"x".repeat(100)}\udfff`, "NotJson"],
])("%s cannot be encoded", (_, value, code) => {
  expect(() => encode({ value })).toThrow(expect.objectContaining({ code }));
});

// One entry: key "a", and the value whose bytes are given.
function entry(...value: number[]): Buffer {
  return Buffer.from([0x0a, 5 + value.length, 0x0a, 1, 0x61, 0x12, value.length, ...value]);
}

function wrapped(struct: Uint8Array): Buffer {
  const varint = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, ...varint(value >>> 7)]);
  const value = Buffer.from([0x2a, ...varint(struct.length), ...struct]);
  const inner = Buffer.from([0x0a, 1, 0x61, 0x12, ...varint(value.length), ...value]);
  return Buffer.from([0x0a, ...varint(inner.length), ...inner]);
}

describe("a hostile message", () => {
  test.each([
    ["with one key twice", Buffer.concat([entry(0x20, 1), entry(0x20, 0)]), "DuplicateKey"],
    ["with a value of no kind", entry(), "NotJson"],
    ["with an entry without a value", Buffer.from([0x0a, 3, 0x0a, 1, 0x61]), "NotJson"],
    ["with NaN", entry(0x11, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f), "NotJson"],
    ["that ends in a number", entry(0x11, 0, 0), "Malformed"],
    ["with a length that exceeds it", Buffer.from([0x0a, 100, 0x0a, 1]), "Malformed"],
    ["with a length that does not end", Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), "Malformed"],
    ["with an unknown field", Buffer.from([0x10, 1]), "Malformed"],
    ["with an unknown kind", entry(0x38, 1), "Malformed"],
  ])("%s is refused", async (_, bytes, code) => {
    expect(() => decodeStruct(bytes)).toThrow(expect.objectContaining({ name: "StructError", code }));
    await expect(inTurns(bytes)).rejects.toMatchObject({ name: "StructError", code });
  });

  test("of many small values is refused before it fills the memory", () => {
    const item = [0x0a, 2, 0x08, 0];
    const list = Buffer.from(Array.from({ length: 10 }, () => item).flat());
    const bytes = entry(0x32, list.length, ...list);
    expect(decodeStruct(bytes, { maxValues: 11 })).toEqual(expect.objectContaining({ a: expect.any(Array) }));
    expect(() => decodeStruct(bytes, { maxValues: 10 })).toThrow(expect.objectContaining({ code: "TooManyValues" }));
  });

  test("of any bytes is decoded or refused, in turns too, and nothing else is thrown", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 64 }), async (bytes) => {
        const turns = inTurns(bytes, 5);
        let decoded: JsonObject;
        try {
          decoded = decodeStruct(bytes, { maxValues: 5 });
        } catch (error) {
          expect(error).toHaveProperty("name", "StructError");
          await expect(turns).rejects.toEqual(error);
          return;
        }
        expect((await turns).decoded).toEqual(decoded);
      }),
      { numRuns: 2000 },
    );
  });

  test("has pauses wherever its bytes are", async () => {
    const kinds = entry(...Array.from({ length: 50 }, () => [0x2a, 0]).flat());
    const keys = Buffer.from([0x0a, 102, ...Array.from({ length: 49 }, () => [0x0a, 0]).flat(), 0x12, 2, 0x20, 1]);
    for (const bytes of [kinds, keys]) expect((await inTurns(bytes)).pauses).toBeGreaterThan(48);
  });
});
