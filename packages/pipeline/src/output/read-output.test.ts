import { outputLimits, parseFunctionIO } from "@xfn/functionio";
import { firstDifference, type JsonValue } from "@xfn/json";
import { printJson } from "@xfn/json/text";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { readOutput } from "./read-output.ts";

const MAX_BYTES = 16 * 1024 * 1024;
const OPTIONS = { source: "the output", limits: outputLimits(MAX_BYTES) };

/** More than the JSON of one piece: its values, and the lists and objects around them. */
const MOST_CHARACTERS_AT_ONCE = 512 * 1024;

const output = (fields: string): Buffer =>
  Buffer.from(`{"apiVersion":"apiextensions.crossplane.io/v1alpha1","kind":"FunctionIO",${fields}}`);
const list = (count: number, item: (index: number) => string): string =>
  Array.from({ length: count }, (_, i) => item(i)).join(",");

let workers = 0;
const count = (): void => {
  workers++;
};
beforeEach(() => {
  workers = 0;
  process.on("worker", count);
});
afterEach(() => {
  process.off("worker", count);
});

describe("a small output", () => {
  test.each([
    ["JSON of less than 1 MiB", output(`"x":[${list(250_000, () => "1")}]`)],
    [
      "YAML of less than 64 KiB",
      Buffer.from(`apiVersion: apiextensions.crossplane.io/v1alpha1\nkind: FunctionIO\nx:\n${"- 1\n".repeat(10_000)}`),
    ],
  ])("is read without a worker: %s", async (_, bytes) => {
    expect(await readOutput(bytes, OPTIONS)).toEqual(parseFunctionIO(bytes));
    expect(workers).toBe(0);
  });

  test("of more YAML, or with problems, is read on a worker", async () => {
    const yaml = Buffer.from(
      `apiVersion: apiextensions.crossplane.io/v1alpha1\nkind: FunctionIO\nx:\n${"- 1\n".repeat(20_000)}`,
    );
    expect(await readOutput(yaml, OPTIONS)).toEqual(parseFunctionIO(yaml));
    const duplicates = output(`"x":{${list(20_000, () => '"k":1')}}`);
    await expect(readOutput(duplicates, OPTIONS)).rejects.toMatchObject({ code: "DuplicateKey" });
    expect(workers).toBeGreaterThan(0);
  });
});

test("an output beyond the limit is refused at once", async () => {
  const bytes = Buffer.alloc(MAX_BYTES + 1, "[");
  await expect(readOutput(bytes, OPTIONS)).rejects.toMatchObject({ code: "TooLarge" });
  expect(workers).toBe(0);
});

describe("a large output", () => {
  // White space makes it large, and few values keep the test short.
  const SPACE = " ".repeat(1024 * 1024);
  const large = (fields: string): Buffer => output(SPACE + fields);

  /** Counts the event loop's turns and the calls of JSON.parse during the work. Each worker has a JSON of its own. */
  async function watch(
    work: () => Promise<unknown>,
  ): Promise<{ result: unknown; turns: number; parsed: readonly number[] }> {
    const parse = vi.spyOn(JSON, "parse");
    let turns = 0;
    let over = false;
    const turn = (): void => {
      turns++;
      if (!over) setImmediate(turn);
    };
    setImmediate(turn);
    try {
      const result = await work();
      return { result, turns, parsed: parse.mock.calls.map(([text]) => text.length) };
    } finally {
      over = true;
      parse.mockRestore();
    }
  }

  // Each of these used to block this thread for up to seconds.
  test.each([
    ["empty objects", `"x":[${list(60_000, () => "{}")}]`],
    ["keys", `"x":{${list(60_000, (i) => `"k${i}":1`)}}`],
    [
      "resources",
      `"desired":{"resources":[${list(8_000, (i) => `{"name":"r${i}","resource":{"kind":"A","data":{"a":"b"}}}`)}]}`,
    ],
    [
      "fields of one resource",
      `"desired":{"resources":[{"name":"r","resource":{"spec":{${list(25_000, (i) => `"k${i}":{"a":1}`)}}}}]}`,
    ],
    ["results", `"results":[${list(10_000, () => '{"severity":"Normal","message":"m","target":"Composite"}')}]`],
    ["lists in lists", `"x":[${list(150, () => "[".repeat(400) + "]".repeat(400))}]`],
  ])("of many values leaves this thread free for other work: %s", async (_, fields) => {
    const bytes = large(fields);
    const { result, turns, parsed } = await watch(() => readOutput(bytes, OPTIONS));
    expect(printJson(result as JsonValue)).toBe(printJson(parseFunctionIO(bytes)));
    expect(workers).toBe(1);
    expect(parsed.length).toBeGreaterThan(2);
    expect(Math.max(...parsed)).toBeLessThan(MOST_CHARACTERS_AT_ONCE);
    // Other work has a turn after each piece.
    expect(turns).toBeGreaterThanOrEqual(parsed.length);
  });

  test.each([
    ["invalid results", `"results":[${list(10_000, () => "1")}]`, "Invalid"],
    [
      "invalid connection details",
      `"desired":{"composite":{"connectionDetails":[${list(50_000, () => "1")}]}}`,
      "Invalid",
    ],
    ["too many results", `"results":[${list(50_000, () => "1")}]`, "TooManyValues"],
    ["a key again and again", `"x":{${list(50_000, () => '"k":1')}}`, "DuplicateKey"],
    ["no end", `"x":[${list(300_000, () => "1")}`, "TooManyValues"],
    ["too many values", `"x":[${list(600_000, () => "{}")}]`, "TooManyValues"],
  ])("with problems fails, and leaves this thread free for other work: %s", async (_, fields, code) => {
    const bytes = large(fields);
    const { result, parsed } = await watch(() => readOutput(bytes, OPTIONS).catch((thrown: unknown) => thrown));
    expect(result).toMatchObject({ name: "FunctionIOError", code, message: expect.stringMatching(/^the output/) });
    expect(workers).toBe(1);
    expect(parsed).toEqual([]);
  });

  test("comes back exactly", async () => {
    const nested = String.raw`{"__proto__":{"a":1},"constructor":[null,true,-0.5,1e300,12345678901234567890],"\u0001\"":"\ud83d\ude00\n"}`;
    const deep = `${"[".repeat(490)}${"]".repeat(490)}`;
    const text = JSON.stringify("long ".repeat(300_000));
    const bytes = large(
      `"x":[${list(3_000, () => nested)},${deep}],"b":{"2":{${list(30_000, (i) => `"k${i}":[${i}]`)}},"a":[[${list(30_000, String)}],[]]},"c":${text}`,
    );
    const read = await readOutput(bytes, OPTIONS);
    expect(workers).toBe(1);
    expect(firstDifference(read, parseFunctionIO(bytes))).toBeUndefined();
    expect(printJson(read)).toBe(printJson(parseFunctionIO(bytes)));
    expect(Object.getPrototypeOf(read)).toBeNull();
    expect(Object.getPrototypeOf(read["b"])).toBeNull();
  });

  test("is not read further after its caller has gone", async () => {
    const caller = new AbortController();
    const bytes = large(`"x":{${list(500_000, (i) => `"k${i}":1`)}}`);
    const reading = readOutput(bytes, { ...OPTIONS, signal: caller.signal });
    caller.abort();
    await expect(reading).rejects.toMatchObject({ name: "ThreadError", code: "Aborted" });
  });

  test("leaves the buffer of its runner alone", async () => {
    const bytes = large('"x":[]');
    const before = bytes.length;
    await readOutput(bytes, OPTIONS);
    expect(bytes).toHaveLength(before);
  });
});
