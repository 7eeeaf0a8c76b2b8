import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bytesOf, firstRunes, joined, runeCount, sortedKeys, textOfBytes } from "./go-string.ts";

const numRuns = Number(process.env["XFN_FUZZ_RUNS"] ?? 200);

describe("Go strings", () => {
  test("any bytes survive conversion to a string and back", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect([...bytesOf(textOfBytes(bytes))]).toEqual([...bytes]);
      }),
      { numRuns },
    );
  });

  test.each([
    ["a byte alone", [0x80], "\udc80"],
    ["a sequence cut short", [0xe2, 0x82], "\udce2\udc82"],
    ["an overlong form", [0xc0, 0x80], "\udcc0\udc80"],
    ["a surrogate", [0xed, 0xa0, 0x80], "\udced\udca0\udc80"],
    ["beyond Unicode", [0xf4, 0x90, 0x80, 0x80], "\udcf4\udc90\udc80\udc80"],
    ["a byte order mark", [0xef, 0xbb, 0xbf, 0x61], "\ufeffa"],
    ["a replacement character that was there", [0xef, 0xbf, 0xbd, 0xff], "\ufffd\udcff"],
    ["four bytes", [0xf0, 0x9f, 0x98, 0x80], "\u{1f600}"],
  ])("%s", (_, bytes, text) => {
    expect(textOfBytes(Uint8Array.from(bytes))).toBe(text);
  });

  test("a lone surrogate that encodes no byte becomes U+FFFD", () => {
    expect([...bytesOf("a\ud800\udfffb\udc00")]).toEqual([...Buffer.from("a\ud800\udfffb\ufffd")]);
  });

  test("a rune is a character or an invalid byte", () => {
    expect(runeCount("a\u{1f600}\udc80\udcff")).toBe(4);
    expect(firstRunes("a\u{1f600}\udc80\udcff", 2)).toBe("a\u{1f600}");
    expect(firstRunes("a\u{1f600}", 0)).toBe("");
    expect(firstRunes("a", 9)).toBe("a");
  });

  test("adjacent bytes that form valid UTF-8 become characters", () => {
    expect(joined("\udce2\udc82\udcac\udce2")).toBe("\u20ac\udce2");
  });

  test("keys are sorted by their UTF-8", () => {
    expect(sortedKeys({ "\u{1f600}": 1, "\uffff": 2, b: 3, a: 4, "\u{1f600}a": 5 })).toEqual([
      "a",
      "b",
      "\uffff",
      "\u{1f600}",
      "\u{1f600}a",
    ]);
  });
});
