import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { both, failure, HEAD } from "../../testing/parsing.ts";
import { FunctionIOError } from "./functionio-error.ts";
import { parseFunctionIO } from "./parse.ts";
import { printFunctionIO } from "./print.ts";

describe("hostile and broken text", () => {
  test("alias bomb: stops at the bound, fast", () => {
    const lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"];
    for (let i = 1; i < 12; i++) {
      lines.push(`a${i}: &a${i} [${Array.from({ length: 9 }, () => `*a${i - 1}`).join(", ")}]`);
    }
    expect(failure(`${HEAD}x:\n${lines.map((line) => `  ${line}\n`).join("")}`).code).toBe("TooManyAliases");
  });

  test("many aliases of nothing: stops at the bound of aliases", () => {
    expect(failure(`${HEAD}a: &a x\nb: [${"*a,".repeat(1001)}]`).code).toBe("TooManyAliases");
  });

  test("an alias inside its own anchor", () => {
    expect(failure(`${HEAD}a: &a [*a]`).code).toBe("Syntax");
    expect(failure(`${HEAD}a: &a {b: *a}`).code).toBe("Syntax");
  });

  test.each<[string, string]>([
    ["JSON lists", "[".repeat(100_000)],
    ["JSON lists that are closed", `${"[".repeat(100_000)}${"]".repeat(100_000)}`],
    ["JSON objects", '{"a":'.repeat(100_000)],
    ["block sequences", "- ".repeat(100_000)],
    ["explicit keys", "? ".repeat(100_000)],
    ["flow mappings", `a: ${"{a: ".repeat(100_000)}`],
    ["flow pairs", `a: ${"[a: ".repeat(100_000)}`],
    ["block mappings", Array.from({ length: 600 }, (_, i) => `${" ".repeat(i)}a:\n`).join("")],
  ])("depth in %s: an error, not a stack overflow", (_name, text) => {
    expect(failure(text).code).toBe("TooDeep");
  });

  test("a depth below the limit is read", () => {
    const deep = `${"[".repeat(490)}${"]".repeat(490)}`;
    expect(() => parseFunctionIO(`${HEAD}x: ${deep}`)).not.toThrow();
    expect(() => parseFunctionIO(both({ x: JSON.parse(deep) })[0])).not.toThrow();
  });

  test("__proto__ and constructor are keys like any other, and no prototype changes", () => {
    for (const text of [
      `${HEAD}__proto__: {polluted: 1}\nconstructor: {prototype: {polluted: 1}}\n`,
      '{"apiVersion":"apiextensions.crossplane.io/v1alpha1","kind":"FunctionIO","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
    ]) {
      const io = parseFunctionIO(text);
      expect(Object.getPrototypeOf(io)).toBeNull();
      expect(Object.keys(io)).toContain("__proto__");
      expect(io["constructor"]).toEqual({ prototype: { polluted: 1 } });
      expect(({} as { polluted?: number }).polluted).toBeUndefined();
      expect(printFunctionIO(io)).toContain('"__proto__":{"polluted":1}');
    }
  });

  test("integers beyond 2^53 are exact, in and out", () => {
    for (const text of [
      `${HEAD}a: 9223372036854775807\nb: [-9223372036854775808, 18446744073709551615]\nc: 9007199254740993\nd: 9007199254740991\n`,
      '{"apiVersion":"apiextensions.crossplane.io/v1alpha1","kind":"FunctionIO","a":9223372036854775807,"b":[-9223372036854775808,18446744073709551615],"c":9007199254740993,"d":9007199254740991}',
    ]) {
      const io = parseFunctionIO(text);
      expect(io["a"]).toBe(9223372036854775807n);
      expect(io["b"]).toEqual([-9223372036854775808n, 18446744073709551615n]);
      expect(io["c"]).toBe(9007199254740993n);
      expect(io["d"]).toBe(9007199254740991);
      expect(printFunctionIO(io)).toContain(
        '"a":9223372036854775807,"b":[-9223372036854775808,18446744073709551615],"c":9007199254740993,"d":9007199254740991',
      );
    }
  });

  test("a long integer changes nothing but itself: text that looks like it stays text", () => {
    const io = parseFunctionIO(
      both({ a: "12345678901234567890", b: "x:12345678901234567890" })[0].replace("{", '{"n":12345678901234567890,'),
    );
    expect(io["a"]).toBe("12345678901234567890");
    expect(io["n"]).toBe(12345678901234567890n);
  });

  test("duplicate keys", () => {
    expect(failure(`${HEAD}a: 1\na: 2\n`)).toMatchObject({
      code: "DuplicateKey",
      issues: [{ path: "a", line: 4, column: 1 }],
    });
    expect(failure('{\n"a": {"b": 1,\n "b": 2}}')).toMatchObject({
      code: "DuplicateKey",
      issues: [{ path: "a.b", line: 3, column: 2 }],
    });
    expect(failure('{"a":1,"\\u0061":2}').code).toBe("DuplicateKey");
    expect(failure(`${HEAD}__proto__: 1\n__proto__: 2\n`).code).toBe("DuplicateKey");
  });

  test.each(["NaN", "Infinity", "-Infinity"])("%s in JSON is not text", (word) => {
    expect(failure(`{"a": ${word}}`)).toMatchObject({ code: "Syntax", issues: [{ path: "a", line: 1, column: 7 }] });
  });

  test("numbers that no double holds", () => {
    expect(failure(`${HEAD}a: .nan\nb: -.inf\n`)).toMatchObject({
      code: "NotJson",
      issues: [{ path: "a" }, { path: "b" }],
    });
    expect(failure('{"a":1e400}')).toMatchObject({ code: "NotJson", issues: [{ path: "a" }] });
  });

  test("lone surrogates", () => {
    expect(failure('{"a":"\\ud800"}')).toMatchObject({ code: "NotJson", issues: [{ path: "a" }] });
    expect(failure('{"\\udc00":1}').code).toBe("NotJson");
    expect(failure(`${HEAD}a: "\\ud800"`)).toMatchObject({ code: "NotJson", issues: [{ path: "a" }] });
    expect(failure(`${HEAD}a: \ud800`).code).toBe("NotJson");
    expect(parseFunctionIO(`${HEAD}a: "\\ud83d\\ude00"`)["a"]).toBe("😀");
  });

  test.each([
    "!!binary aGk=",
    "!!set {a}",
    "!local x",
    "!!timestamp 2001-01-01",
    "!!int x",
    "!!python/object:os.system x",
  ])("tag %s", (value) => {
    expect(failure(`${HEAD}a: ${value}`)).toMatchObject({ code: "UnsupportedTag", issues: [{ line: 3 }] });
  });

  test("a byte order mark is ignored at the start", () => {
    expect(parseFunctionIO(`\ufeff${HEAD}`).kind).toBe("FunctionIO");
    expect(parseFunctionIO(new TextEncoder().encode(`\ufeff${both({})[0]}`)).kind).toBe("FunctionIO");
  });

  test("bytes that are not UTF-8", () => {
    const bytes = new TextEncoder().encode(`${HEAD}a: x`);
    bytes[bytes.length - 1] = 0xff;
    expect(failure(bytes)).toMatchObject({ code: "Encoding", issues: [{ line: 3, column: 4 }] });
    expect(failure(new Uint8Array([0xff, 0xfe, 0x61, 0x00])).message).toContain("UTF-16");
  });

  test.each(["", " \n", "# only a comment\n", "---\n", "null", "\ufeff"])("nothing in %j", (text) => {
    expect(failure(text).code).toBe("Empty");
  });

  test("two documents, in YAML and in JSON", () => {
    expect(failure(`${HEAD}---\n${HEAD}`)).toMatchObject({ code: "MultipleDocuments", issues: [{ line: 4 }] });
    expect(failure(`${both({})[0]}\n${both({})[0]}`).code).toBe("MultipleDocuments");
  });

  test.each([
    '{"apiVersion":"apiextensions',
    '{"apiVersion":"a"',
    `${HEAD}desired: {resources: [`,
    `${HEAD}a: "x`,
    "{",
    "[1,",
  ])("partial output %j", (text) => {
    expect(failure(text).code).toBe("Syntax");
  });

  test.each(["7", "text", "[]", "- a", "true"])("a value that is not an object: %s", (text) => {
    expect(failure(text)).toMatchObject({ code: "Invalid", issues: [{ path: "" }] });
  });

  test("the size limit counts bytes before it reads", () => {
    expect(failure(HEAD, { limits: { maxBytes: 10 } }).code).toBe("TooLarge");
    expect(failure(new TextEncoder().encode(HEAD), { limits: { maxBytes: 10 } }).code).toBe("TooLarge");
  });

  test("a flood of issues is cut off", () => {
    const error = failure(`${HEAD}results: [${"x,".repeat(1000)}]`);
    expect(error.issues).toHaveLength(100);
    expect(error.message).toContain("900 more");
  });

  test("the outcome for any text is a FunctionIO or a FunctionIOError", () => {
    const token = fc.constantFrom(
      ..."{}[],:\"'\\ \n\t-?&*!|>%@#~".split(""),
      "a",
      "1",
      "\n  ",
      "- ",
      ": ",
      "<<",
      "...",
      "---",
      "|2",
      "\\u",
      "é",
    );
    fc.assert(
      fc.property(fc.array(token, { maxLength: 60 }), (tokens) => {
        const text = tokens.join("");
        try {
          parseFunctionIO(text);
        } catch (error) {
          if (!(error instanceof FunctionIOError)) throw error;
        }
      }),
      { numRuns: 2000 },
    );
  });
});

// Was 2 to the power of the string's length: a function's broken answer stopped the program that had called it.
test.each(['["', '{"'])("a string without an end after %s is refused, however long it is", (start) => {
  expect(failure(start + "a".repeat(100_000)).code).toBe("Syntax");
});
