import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { outputLimits } from "@xfn/functionio";
import type { JsonObject } from "@xfn/json";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeStruct } from "../struct/encode-struct.ts";
import { RunFunctionResponse } from "../wire/response.ts";
import { decodeResponse } from "./decode-response.ts";
import type { FunctionResponse } from "./function-message.ts";

const NO_LIMITS = { maxValues: Infinity, maxEntries: Infinity };
const struct = (object: JsonObject): Uint8Array => encodeStruct(object).bytes;
const encode = (response: Partial<RunFunctionResponse>): Uint8Array =>
  RunFunctionResponse.encode({ results: [], conditions: [], ...response });
const named = <T>(count: number, value: T): Map<string, T> =>
  new Map(Array.from({ length: count }, (_, index) => [`n${index}`, value]));
const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

const RESULT = { severity: 3, message: "m" } as const;
const CONDITION = { type: "T", status: 2, reason: "R" } as const;
const RESOURCE = { connectionDetails: new Map<string, Uint8Array>(), ready: 0 } as const;
const SELECTOR = { apiVersion: "v1", kind: "Pod" };
const NOTHING_REQUIRED = { extraResources: new Map(), resources: new Map(), schemas: new Map() };

const failure = (bytes: Uint8Array, limits: { maxValues: number; maxEntries: number }): Promise<unknown> =>
  decodeResponse(bytes, limits).then(
    () => undefined,
    (error: unknown) => error,
  );

describe("entries of a response are bounded", () => {
  test.each<[string, (count: number) => Partial<RunFunctionResponse>]>([
    ["results", (n) => ({ results: times(n, RESULT) })],
    ["conditions", (n) => ({ conditions: times(n, CONDITION) })],
    ["desired.resources", (n) => ({ desired: { resources: named(n, RESOURCE) } })],
    ["requirements", (n) => ({ requirements: { ...NOTHING_REQUIRED, resources: named(n, SELECTOR) } })],
    ["requirements", (n) => ({ requirements: { ...NOTHING_REQUIRED, extraResources: named(n, SELECTOR) } })],
    ["requirements", (n) => ({ requirements: { ...NOTHING_REQUIRED, schemas: named(n, SELECTOR) } })],
  ])("%s", async (list, of) => {
    const limits = { ...NO_LIMITS, maxEntries: 10 };
    expect(await failure(encode(of(10)), limits)).toBeUndefined();
    expect(await failure(encode(of(11)), limits)).toMatchObject({
      name: "FunctionCallError",
      code: "TooLarge",
      retryable: false,
      message: `cannot read the response: it has more than 10 entries in ${list}; the function must return fewer`,
      cause: { code: "TooManyValues" },
    });
  });
});

describe("values of a response are bounded together", () => {
  const list = (count: number): Uint8Array => struct({ list: times(count, 1) });
  const both = (first: number, second: number): Partial<RunFunctionResponse> => ({
    desired: { resources: new Map([["a", { ...RESOURCE, resource: list(first) }]]) },
    context: list(second),
  });

  test.each<[string, number, (count: number) => Uint8Array]>([
    // A result, and an entry of a map, is three: itself and its fields.
    ["of results", 3, (n) => encode({ results: times(n, RESULT) })],
    ["of items in two objects", 1, (n) => encode(both(Math.floor(n / 2), Math.ceil(n / 2)))],
    [
      "of items in the XR",
      1,
      (n) => encode({ desired: { composite: { ...RESOURCE, resource: list(n) }, resources: new Map() } }),
    ],
    ["of fields", 1, (n) => encode({ context: struct(Object.fromEntries(named(n, "v"))) })],
    ["of objects in objects", 1, (n) => encode({ context: struct({ list: times(n / 2, { a: {} }) }) })],
    [
      "of connection details",
      3,
      (n) =>
        encode({
          desired: { composite: { ...RESOURCE, connectionDetails: named(n, Buffer.of(1)) }, resources: new Map() },
        }),
    ],
    [
      "of labels",
      3,
      (n) =>
        encode({
          requirements: {
            ...NOTHING_REQUIRED,
            resources: named(1, { ...SELECTOR, matchLabels: { labels: named(n, "v") } }),
          },
        }),
    ],
    ["of unknown fields", 1, (n) => Buffer.concat(times(n, Buffer.of(0x78, 1)))],
    ["of empty states, the last of which counts", 1, (n) => Buffer.concat(times(n, Buffer.of(0x12, 0)))],
  ])("%s", async (_name, cost, of) => {
    const most = 600 / cost;
    expect(await failure(of(most), { ...NO_LIMITS, maxValues: 610 })).toBeUndefined();
    expect(await failure(of(most), { ...NO_LIMITS, maxValues: 599 })).toMatchObject({
      code: "TooLarge",
      message: "cannot read the response: it has more than 599 fields and items; the function must return fewer",
    });
  });
});

test.each<[string, (object: Uint8Array) => Partial<RunFunctionResponse>]>([
  ["desired.resources[a]", (resource) => ({ desired: { resources: new Map([["a", { ...RESOURCE, resource }]]) } })],
  ["desired.composite", (resource) => ({ desired: { composite: { ...RESOURCE, resource }, resources: new Map() } })],
])("values of a desired object are bounded: %s", async (path, of) => {
  const limits = { ...NO_LIMITS, maxObjectValues: 11 };
  // The list is a value too.
  expect(await failure(encode(of(struct({ list: times(10, 1) }))), limits)).toBeUndefined();
  expect(await failure(encode(of(struct({ list: times(11, 1) }))), limits)).toMatchObject({
    code: "TooLarge",
    message: `cannot read ${path}: it has more than 11 fields and items; return fewer`,
  });
  expect(await failure(encode({ context: struct({ list: times(11, 1) }) }), limits)).toBeUndefined();
});

test("a Struct beyond the depth is refused as such", async () => {
  const levels = 3_000;
  // Lengths are written from the inside to the outside.
  let bytes: Buffer = Buffer.alloc(0);
  const prefixed = (tag: number, inner: Buffer): Buffer => {
    const size = [];
    for (let rest = inner.length; ; rest >>>= 7) {
      size.push(rest > 127 ? (rest & 127) | 128 : rest);
      if (rest <= 127) return Buffer.concat([Buffer.of(tag, ...size), inner]);
    }
  };
  for (let level = 0; level < levels; level++) bytes = prefixed(0x0a, prefixed(0x12, prefixed(0x2a, bytes)));
  expect(await failure(prefixed(0x22, bytes), { maxValues: levels + 1, maxEntries: 1 })).toMatchObject({
    code: "Malformed",
    cause: { code: "TooDeep" },
  });
});

function sizes({ results, conditions, desired, requirements }: FunctionResponse): number[] {
  const { resources, extraResources, schemas } = requirements;
  return [
    results.length,
    conditions.length,
    desired.resources.size,
    resources.size + extraResources.size + schemas.size,
  ];
}

function valuesIn(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + 1 + valuesIn(item), 0);
  if (value instanceof Map) return [...value.values()].reduce<number>((sum, item) => sum + 1 + valuesIn(item), 0);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return 0;
  return valuesIn(Object.values(value));
}

test("no bytes decode to more than was counted", async () => {
  const whole = encode({
    meta: { tag: "t", ttl: { seconds: 1n, nanos: 1 } },
    desired: {
      composite: { ...RESOURCE, resource: struct({ a: [1, {}, [null]], b: { c: "d" } }) },
      resources: named(3, { ...RESOURCE, resource: struct({ e: [true] }), connectionDetails: named(2, Buffer.of(1)) }),
    },
    results: times(3, { ...RESULT, reason: "R", target: 1 }),
    conditions: times(3, CONDITION),
    context: struct({ f: [[], []] }),
    requirements: { extraResources: named(2, SELECTOR), resources: named(2, SELECTOR), schemas: named(2, SELECTOR) },
  });
  const change = fc.record({ at: fc.nat(whole.length - 1), byte: fc.nat(255), isCut: fc.boolean() });
  const limits = fc.record({ maxValues: fc.nat(300), maxEntries: fc.nat(12) });
  let decoded = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 4 }), limits, async (changes, bounds) => {
      let bytes: Buffer = Buffer.from(whole);
      for (const { at, byte, isCut } of changes) {
        if (isCut) bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + (byte % 8))]);
        else if (at < bytes.length) bytes[at] = byte;
      }
      let response: FunctionResponse;
      try {
        response = await decodeResponse(bytes, bounds);
      } catch (error) {
        expect(error).toMatchObject({
          name: "FunctionCallError",
          code: expect.stringMatching(/^(?:TooLarge|Malformed)$/),
        });
        return;
      }
      decoded++;
      expect(Math.max(...sizes(response))).toBeLessThanOrEqual(bounds.maxEntries);
      const { desired, context } = response;
      const objects = [
        desired.composite?.resource,
        context,
        ...[...desired.resources.values()].map(({ resource }) => resource),
      ];
      expect(objects.reduce<number>((sum, object) => sum + valuesIn(object), 0)).toBeLessThanOrEqual(bounds.maxValues);
    }),
    { numRuns: 5000 },
  );
  expect(decoded).toBeGreaterThan(0);
});

const pairs = (count: number): JsonObject => Object.fromEntries(named(count, "v"));

test.each<[string, number, Partial<RunFunctionResponse>]>([
  [
    "objects",
    9,
    { desired: { resources: named(10, { ...RESOURCE, resource: struct({ text: "x".repeat(200_000) }) }) } },
  ],
  ["keys", 9, { context: struct(pairs(100_000)) }],
  ["keys of an object in a list", 9, { context: struct({ list: [{ object: pairs(100_000) }] }) }],
  ["items", 9, { context: struct({ list: times(400_000, {}) }) }],
])("a large response leaves this thread free for other work between its %s", async (_, least, response) => {
  const bytes = encode(response);
  let turns = 0;
  let isOver = false;
  const turn = (): void => {
    turns++;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  const { desired, context } = await decodeResponse(bytes, outputLimits(16 * 1024 * 1024));
  isOver = true;
  expect(desired.resources.size + Object.keys(context ?? {}).length).toBeGreaterThan(0);
  expect(turns).toBeGreaterThanOrEqual(least);
});

// Bytes of 16 MiB, or as many as the bounds admit, by the expression of a repeated piece.
test.each([
  ["empty results", "repeat([0x1a, 0])", "TooLarge"],
  ["empty conditions", "repeat([0x32, 0])", "TooLarge"],
  ["desired resources of one name", "prefixed(0x12, repeat([0x12, 2, 0x12, 0]))", "TooLarge"],
  ["empty desired states", "repeat([0x12, 0])", "read"],
  ["unknown fields", "repeat([0x78, 1])", "read"],
  ["connection details", "prefixed(0x12, prefixed(0x0a, numbered([0x12, 12, 0x12, 1, 1, 0x0a, 7], 3)))", "read"],
  ["keys", "prefixed(0x22, numbered([0x0a, 13, 0x12, 2, 8, 0, 0x0a, 7], 1))", "read"],
  ["nulls", "prefixed(0x22, field(prefixed(0x32, repeat([0x0a, 2, 0x08, 0]))))", "read"],
  ["empty objects", "prefixed(0x22, field(prefixed(0x32, repeat([0x0a, 2, 0x2a, 0]))))", "read"],
  ["objects in one value, the last of which counts", "prefixed(0x22, field(repeat([0x2a, 0])))", "read"],
])(
  "%s of 16 MiB, or of as many values as are read, need less than 320 MB",
  { timeout: 120_000 },
  async (_name, message, expected) => {
    const program = `
    import { decodeResponse } from ${JSON.stringify(new URL("decode-response.ts", import.meta.url).href)};
    const varint = (n) => (n < 128 ? [n] : [(n & 127) | 128, ...varint(n >>> 7)]);
    const prefixed = (tag, inner) => Buffer.concat([Buffer.from([tag, ...varint(inner.length)]), inner]);
    const field = (value) => prefixed(0x0a, Buffer.concat([Buffer.from([0x0a, 1, 0x61]), prefixed(0x12, value)]));
    const limits = ${JSON.stringify(outputLimits(16 * 1024 * 1024))};
    const attempt = async (most) => {
      const countOf = (size) => Math.min(most, Math.floor((limits.maxBytes - 64) / size));
      const repeat = (bytes) => Buffer.alloc(countOf(bytes.length) * bytes.length, Buffer.from(bytes));
      const numbered = (bytes, cost) => {
        const size = bytes.length + 7;
        const count = Math.min(countOf(size), Math.floor(most / cost));
        const all = Buffer.alloc(count * size, Buffer.from([...bytes, ...Buffer.from("0000000")]));
        for (let i = 0; i * size < all.length; i++) all.write(String(i).padStart(7, "0"), i * size + bytes.length);
        return all;
      };
      const bytes = ${message};
      try { await decodeResponse(bytes, limits); return "read"; } catch (error) { return error.code; }
    };
    console.log(await attempt(Infinity), await attempt(limits.maxValues - 20));`;
    const flags = ["--max-old-space-size=320", "--input-type=module", "-e", program];
    const { stdout } = await promisify(execFile)(process.execPath, flags, { timeout: 100_000 });
    expect(stdout).toBe(`TooLarge ${expected}\n`);
  },
);
