import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { DocumentError } from "@xfn/json";
import { describe, expect, test } from "vitest";
import { outputLimits } from "./output-limits.ts";
import { parseFunctionIO } from "./parse.ts";

const HEAD = '{"apiVersion":"apiextensions.crossplane.io/v1alpha1","kind":"FunctionIO"';
const YAML_HEAD = "apiVersion: apiextensions.crossplane.io/v1alpha1\nkind: FunctionIO\n";

function codeOf(text: string, maxBytes: number): string {
  try {
    parseFunctionIO(text, { limits: outputLimits(maxBytes) });
    return "read";
  } catch (error) {
    if (error instanceof DocumentError) return error.code;
    throw error;
  }
}

describe("values are bounded in JSON", () => {
  const list = (item: string, count: number): string => `${HEAD},"x":[${`${item},`.repeat(count - 1)}${item}]}`;

  test.each([
    ["objects", "{}", 2],
    ["lists", "[]", 2],
    ["numbers", "1", 1],
    ["integers beyond 2^53, which count ten times", "9007199254740993", 10],
    ["keys with escapes, which count ten times", '{"\\n":1}', 11],
  ])("%s", (_name, item, cost) => {
    // Three keys of the FunctionIO, and its own object and list.
    const most = Math.floor((1000 - 4) / cost);
    expect(codeOf(list(item, most), 16_000)).toBe("read");
    expect(codeOf(list(item, most + 10), 16_000)).toBe("TooManyValues");
  });

  test("a text of many characters is one value", () => {
    expect(codeOf(`${HEAD},"x":"${",[{:".repeat(2_000)}"}`, 16_000)).toBe("read");
  });
});

describe("entries are bounded", () => {
  const entry = (index: number): string => `{"name":"r${index}","resource":{"kind":"A"}}`;
  const list = (count: number, item: (index: number) => string): string =>
    `[${Array.from({ length: count }, (_, index) => item(index)).join(",")}]`;

  test.each([
    ["results", (n: number) => `"results":${list(n, () => '{"message":"m"}')}`],
    ["desired resources", (n: number) => `"desired":{"resources":${list(n, entry)}}`],
    ["observed resources", (n: number) => `"observed":{"resources":${list(n, entry)}}`],
  ])("%s", (_name, of) => {
    expect(codeOf(`${HEAD},${of(10_000)}}`, 16 << 20)).toBe("read");
    expect(codeOf(`${HEAD},${of(10_001)}}`, 16 << 20)).toBe("TooManyValues");
  });
});

describe("values of a desired object are bounded", () => {
  const most = (3 << 20) / 16;
  // Two fields of the object: its kind and the list.
  const object = (items: number): string => `{"kind":"A","list":[${"1,".repeat(items - 1)}1]}`;
  const keys = (count: number): string =>
    `{"kind":"A","map":{${Array.from({ length: count }, (_, index) => `"k${index}":[]`).join(",")}}}`;

  test.each([
    ["a resource", (items: number) => `"resources":[{"name":"a","resource":${object(items)}}]`],
    ["with keys", (items: number) => `"resources":[{"name":"a","resource":${keys(items)}}]`],
    ["the XR", (items: number) => `"composite":{"resource":${object(items)}}`],
  ])("%s", (_name, of) => {
    expect(codeOf(`${HEAD},"desired":{${of(most - 2)}}}`, 16 << 20)).toBe("read");
    expect(codeOf(`${HEAD},"desired":{${of(most - 1)}}}`, 16 << 20)).toBe("TooManyValues");
  });

  test("several objects may have more together, and so may other fields", () => {
    const resources = ["a", "b", "c"].map((name) => `{"name":"${name}","resource":${object(100_000)}}`).join(",");
    expect(codeOf(`${HEAD},"desired":{"resources":[${resources}]}}`, 16 << 20)).toBe("read");
    expect(codeOf(`${HEAD},"x":${object(300_000)}}`, 16 << 20)).toBe("read");
  });
});

describe("values are bounded in YAML", () => {
  test.each([
    ["block lists", (n: number) => `x:\n${"- a\n".repeat(n)}`],
    ["lists in lists", (n: number) => `x:\n${"- - - - a\n".repeat(n / 4)}`],
    ["keys", (n: number) => `x:\n${Array.from({ length: n }, (_, i) => `  k${i}: a\n`).join("")}`],
    ["explicit keys", (n: number) => `x:\n${Array.from({ length: n }, (_, i) => `  ? k${i}\n`).join("")}`],
    ["flow lists", (n: number) => `x: [${"a,".repeat(n)}]`],
    ["flow maps", (n: number) => `x: [${"{},".repeat(n / 2)}]`],
    ["flow keys after quotes", (n: number) => `x: {${Array.from({ length: n / 2 }, (_, i) => `"${i}":1,`).join("")}}`],
  ])("%s", (_name, of) => {
    expect(codeOf(YAML_HEAD + of(199_980), 16 << 20)).toBe("read");
    expect(codeOf(YAML_HEAD + of(200_020), 16 << 20)).toBe("TooManyValues");
  });

  test.each([
    ["with markers", "--- a\n"],
    ["with ends", "a\n...\n"],
  ])("documents %s", (_name, document) => {
    expect(codeOf(document.repeat(200_020), 16 << 20)).toBe("TooManyValues");
  });

  test("its size is bounded, too", () => {
    const text = `${YAML_HEAD}x: |\n${"  text\n".repeat(600_000)}`;
    expect(codeOf(text, 16 << 20)).toBe("TooLarge");
    expect(codeOf(text.slice(0, 4 << 20), 16 << 20)).toBe("read");
  });
});

// Each of these took more than 512 MB, or a minute, before there were bounds. The cost is its number of values.
test.each([
  ["objects of one key each", 2, `"[" + fill((i) => '{"k' + i + '":1}') + "]"`],
  ["one object", 1, `"{" + fill((i) => '"k' + i + '":1') + "}"`],
  ["integers beyond 2^53", 10, `"[" + fill(() => "12345678901234567") + "]"`],
  ["keys with escapes", 10, `"{" + fill((i) => '"\\\\n' + i + '":1') + "}"`],
  ["one key again and again", 1, `"{" + fill(() => '"k":1') + "}"`],
  ["invalid results", 1, `'[],"results":[' + fill(() => "1") + "]"`],
  ["invalid connection details", 1, `'[],"desired":{"composite":{"connectionDetails":[' + fill(() => "1") + "]}}"`],
])(
  "%s of 16 MiB, or of as many values as are read, need less than 320 MB",
  { timeout: 120_000 },
  async (_name, cost, value) => {
    const program = `
    import { outputLimits, parseFunctionIO } from ${JSON.stringify(new URL("../index.ts", import.meta.url).href)};
    const limits = outputLimits(16 * 1024 * 1024);
    const attempt = (most) => {
      const fill = (item) => {
        const items = [];
        for (let length = 0, i = 0; length < limits.maxBytes - 300 && i < most; i++) {
          length += items[items.push(item(i)) - 1].length + 1;
        }
        return items.join(",");
      };
      const bytes = Buffer.from(${JSON.stringify(`${HEAD},"x":`)} + ${value} + "}");
      try { parseFunctionIO(bytes, { limits }); return "read"; } catch (error) { return error.code; }
    };
    console.log(attempt(Infinity), attempt(Math.floor((limits.maxValues - 10) / ${cost})));`;
    const flags = ["--max-old-space-size=320", "--input-type=module", "-e", program];
    const { stdout } = await promisify(execFile)(process.execPath, flags, { timeout: 100_000 });
    expect(stdout).toMatch(/^TooManyValues (?:read|DuplicateKey|Invalid|TooManyValues)\n$/);
  },
);
