import type { JsonObject, JsonValue } from "@xfn/json";
import { describe, expect, test } from "vitest";
import { checkRules, checkSchema, compileSchema } from "./compile.ts";
import { describeSchemaIssue } from "./structural/issue.ts";
import { SchemaError } from "./structural/schema-error.ts";

/** The issues of a value of field `f`, one a line. */
function issues(schema: JsonObject, value: JsonValue): string[] {
  const root: JsonObject = { type: "object", properties: { f: schema } };
  return compileSchema(root).validate({ f: value }).map(describeSchemaIssue);
}

describe("validation with Kubernetes' messages", () => {
  test.each<[JsonObject, JsonValue, string]>([
    [{ type: "integer" }, "x", 'f: Invalid value: "string": f in body must be of type integer: "string"'],
    [{ type: "integer" }, 1.5, 'f: Invalid value: "number": f in body must be of type integer: "number"'],
    [{ type: "integer" }, null, 'f: Invalid value: "null": f in body must be of type integer: "null"'],
    [
      { "x-kubernetes-int-or-string": true },
      true,
      'f: Invalid value: "boolean": f in body must be of type integer,string: "boolean"',
    ],
    [{ type: "integer", minimum: 1 }, 0, "f: Invalid value: 0: f in body should be greater than or equal to 1"],
    [
      { type: "integer", minimum: 1, exclusiveMinimum: true },
      1,
      "f: Invalid value: 1: f in body should be greater than 1",
    ],
    [{ type: "number", maximum: 1.5 }, 2, "f: Invalid value: 2: f in body should be less than or equal to 1.5"],
    [{ type: "number", maximum: 2, exclusiveMaximum: true }, 2, "f: Invalid value: 2: f in body should be less than 2"],
    [{ type: "integer", multipleOf: 2 }, 3, "f: Invalid value: 3: f in body should be a multiple of 2"],
    [{ type: "string", minLength: 2 }, "😀", 'f: Invalid value: "😀": f in body should be at least 2 chars long'],
    [{ type: "string", maxLength: 1 }, "ab", "f: Too long: may not be longer than 1"],
    [{ type: "string", pattern: "^a+$" }, "b", "f: Invalid value: \"b\": f in body should match '^a+$'"],
    [
      { type: "string", pattern: "^(?P<n>a)(?<n>b)$" },
      "a",
      "f: Invalid value: \"a\": f in body should match '^(?P<n>a)(?<n>b)$'",
    ],
    [
      { type: "string", format: "date-time" },
      "today",
      'f: Invalid value: "today": f in body must be of type date-time: "today"',
    ],
    [{ type: "string", enum: ["a", "b"] }, "c", 'f: Unsupported value: "c": supported values: "a", "b"'],
    [
      { type: "array", items: { type: "string" }, minItems: 1 },
      [],
      "f: Invalid value: 0: f in body should have at least 1 items",
    ],
    [
      { type: "array", items: { type: "string" }, maxItems: 1 },
      ["a", "b"],
      "f: Too many: 2: must have at most 1 items",
    ],
    [
      { type: "array", items: { type: "string" } },
      ["a", 1],
      'f[1]: Invalid value: "integer": f[1] in body must be of type string: "integer"',
    ],
    [
      { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
      ["a", "b", "a", "a"],
      'f[2]: Duplicate value: "a"',
    ],
    [
      {
        type: "object",
        additionalProperties: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
      },
      { k: ["a", "a"] },
      'f[k][1]: Duplicate value: "a"',
    ],
    [
      {
        type: "array",
        items: { type: "object", properties: { k: { type: "string" } } },
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
      },
      [{ k: "a" }, { k: "a", v: 1 }],
      'f[1]: Duplicate value: {"k":"a"}',
    ],
    [{ type: "object", required: ["a"] }, {}, "f.a: Required value"],
    [{ type: "object", minProperties: 1 }, {}, "f: Invalid value: 0: f in body should have at least 1 properties"],
    [
      { type: "object", additionalProperties: { type: "string" }, maxProperties: 1 },
      { a: "", b: "" },
      "f: Too many: 2: must have at most 1 items",
    ],
    [
      { type: "object", additionalProperties: { type: "string" } },
      { k: 1 },
      'f.k: Invalid value: "integer": f.k in body must be of type string: "integer"',
    ],
    [{ type: "integer", not: { minimum: 3 } }, 5, 'f: Invalid value: "": "f" must not validate the schema (not)'],
    [
      { type: "integer", oneOf: [{ minimum: 1 }, { minimum: 2 }] },
      5,
      'f: Invalid value: "": "f" must validate one and only one schema (oneOf). Found 2 valid alternatives',
    ],
    [
      { type: "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
      { kind: "K" },
      "f.apiVersion: Required value: must not be empty",
    ],
  ])("%o rejects %o", (schema, value, line) => {
    expect(issues(schema, value)).toEqual([line]);
  });

  test.each<[JsonObject, JsonValue]>([
    [{ type: "integer" }, 9223372036854775807n],
    [{ type: "integer", minimum: 9007199254740992 }, 9007199254740993n],
    [{ type: "number" }, 3],
    [{ type: "number", multipleOf: 0.1 }, 0.3],
    [{ type: "string", nullable: true }, null],
    [{ type: "string", format: "no-such-format" }, "x"],
    [{ type: "string", maxLength: 2 }, "😀😀"],
    [{ type: "integer", enum: [1] }, 1],
    [{ type: "integer", anyOf: [{ minimum: 9 }, { maximum: 2 }] }, 1],
    [{ "x-kubernetes-preserve-unknown-fields": true }, { a: [1, null] }],
  ])("%o allows %o", (schema, value) => {
    expect(issues(schema, value)).toEqual([]);
  });

  test("the closest alternative is reported", () => {
    const schema = {
      type: "object",
      properties: { a: { type: "integer" }, b: { type: "integer" } },
      anyOf: [{ required: ["c"] }, { properties: { a: { minimum: 5 } } }],
    };
    expect(issues(schema, { a: 1 })).toEqual([
      'f: Invalid value: "": "f" must validate at least one schema (anyOf)',
      "f.a: Invalid value: 1: f.a in body should be greater than or equal to 5",
    ]);
  });

  test("messages contain no value of the document", () => {
    const schema: JsonObject = {
      type: "object",
      properties: { s: { type: "string", format: "ipv4", maxLength: 1, enum: ["a"] } },
    };
    for (const { message } of compileSchema(schema).validate({ s: "hunter2" })) expect(message).not.toMatch(/hunter2/);
  });
});

describe("formats", () => {
  test.each([
    ["date", ["2024-02-29"], ["2023-02-29", "2024-13-01", "2024-1-1"]],
    ["date-time", ["2024-01-01T00:00:00Z", "2024-01-01t00:00:00.5+01:00"], ["2024-01-01", "2024-01-01T24:00:00Z"]],
    ["duration", ["1h30m", "22 ns", "3 days"], ["1", "x"]],
    ["ipv4", ["1.2.3.4"], ["1.2.3", "1.2.3.256", "01.2.3.4"]],
    [
      "ipv6",
      ["::", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4"],
      [":::", "1::2::3", "1:2:3:4:5:6:7:8:9", "12345::", "1.2.3.4"],
    ],
    ["cidr", ["10.0.0.0/8", "::/0"], ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/08"]],
    ["mac", ["00:11:22:33:44:55", "0011.2233.4455"], ["00:11:22:33:44", "00:11-22:33:44:55"]],
    ["uuid", ["123e4567-e89b-12d3-a456-426614174000"], ["123e4567"]],
    ["uri", ["https://a.b/c", "/path", "mailto:a@b.c"], ["a b", "relative/path", "https://a%zz"]],
    ["hostname", ["a.example.org", "my-host"], ["-a.example", `${"a".repeat(64)}.org`, "a..b"]],
    ["email", ["a@b.c"], ["a", "@b"]],
    ["byte", ["aGk="], ["aGk", "*"]],
    ["isbn", ["0321751043", "978-0321751041"], ["0321751044"]],
    ["creditcard", ["4111 1111 1111 1111"], ["4111 1111 1111 1112"]],
    ["hexcolor", ["#fff"], ["#ff"]],
    ["rgbcolor", ["rgb(1, 2, 255)"], ["rgb(1,2,256)"]],
  ])("%s", (format, good, bad) => {
    for (const text of good) expect(issues({ type: "string", format }, text), text).toEqual([]);
    for (const text of bad) expect(issues({ type: "string", format }, text), text).toHaveLength(1);
  });
});

describe("defaults", () => {
  const schema = compileSchema({
    type: "object",
    properties: {
      a: { type: "integer", default: 1 },
      o: { type: "object", default: {}, properties: { b: { type: "string", default: "x" } } },
      keep: { type: "string", nullable: true, default: "d" },
      drop: { type: "string" },
      m: {
        type: "object",
        additionalProperties: { type: "object", properties: { c: { type: "integer", default: 2 } } },
      },
      l: { type: "array", items: { type: "integer", default: 7 } },
    },
  });

  test("fill in absent fields, even within other defaults", () => {
    expect(schema.default({})).toEqual({ a: 1, o: { b: "x" }, keep: "d" });
    expect(schema.default({ a: 5, o: { b: "y" }, m: { k: {} } })).toMatchObject({
      a: 5,
      o: { b: "y" },
      m: { k: { c: 2 } },
    });
  });

  test("replace nulls that are not allowed; without a default such a null is dropped", () => {
    expect(schema.default({ a: null, keep: null, drop: null, l: [null, 1], other: null })).toEqual({
      a: 1,
      o: { b: "x" },
      keep: null,
      l: [7, 1],
      other: null,
    });
  });

  test("change neither the value nor the schema", () => {
    const value = { m: { k: {} } };
    const first = schema.default(value) as { o: JsonObject };
    first.o["b"] = "changed";
    expect(value).toEqual({ m: { k: {} } });
    expect(schema.default({})).toMatchObject({ o: { b: "x" } });
  });

  test("of keys like __proto__ are data", () => {
    const hostile = compileSchema({
      type: "object",
      properties: JSON.parse('{"__proto__":{"type":"string","default":"x"}}') as JsonObject,
    });
    const result = hostile.default({}) as JsonObject;
    expect(Object.hasOwn(result, "__proto__")).toBe(true);
    expect(Object.getPrototypeOf(result)).toBe(null);
  });
});

describe("pruning", () => {
  const schema = compileSchema({
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: {
          a: { type: "string" },
          open: { type: "object", "x-kubernetes-preserve-unknown-fields": true, properties: { o: { type: "object" } } },
          l: { type: "array", items: { type: "object", properties: { b: { type: "string" } } } },
          r: { type: "object", "x-kubernetes-embedded-resource": true, properties: { spec: { type: "object" } } },
        },
      },
    },
  });

  test("drops undeclared fields, and returns their paths", () => {
    const value = {
      kind: "K",
      metadata: { labels: { a: "b" } },
      extra: 1,
      spec: {
        a: "x",
        b: 1,
        open: { any: { thing: 1 }, o: { p: 1 } },
        l: [{ b: "x", c: 1 }],
        r: { kind: "R", metadata: {}, x: 1 },
      },
    };
    const pruned = schema.prune(value);
    expect(pruned.unknown).toEqual([
      ["extra"],
      ["spec", "b"],
      ["spec", "open", "o", "p"],
      ["spec", "l", 0, "c"],
      ["spec", "r", "x"],
    ]);
    expect(pruned.value).toEqual({
      kind: "K",
      metadata: { labels: { a: "b" } },
      spec: { a: "x", open: { any: { thing: 1 }, o: {} }, l: [{ b: "x" }], r: { kind: "R", metadata: {} } },
    });
    expect(schema.prune(pruned.value).unknown).toEqual([]);
  });
});

function many(count: number): JsonObject {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, { type: "string" }]));
}

/** Alternatives nested in alternatives, with further alternatives at each level. */
function nested(depth: number, count: number): JsonObject[] {
  const inner: JsonObject[] = Array.from({ length: Math.ceil(count / depth) }, () => ({ required: ["a"] }));
  return depth === 0 ? inner : [{ anyOf: nested(depth - 1, count - inner.length) }, ...inner];
}

describe("hostile schemas and values", () => {
  test("a pattern with much backtracking takes linear time", () => {
    expect(issues({ type: "string", pattern: "(a+)+$" }, `${"a".repeat(100_000)}b`)).toHaveLength(1);
  });

  test("a wrong schema is rejected with all of its problems", () => {
    const schema = { type: "object", properties: { a: { type: 5 }, b: { required: "x" } } };
    expect(() => compileSchema(schema)).toThrow(
      expect.objectContaining({ name: "SchemaError", issues: [expect.anything(), expect.anything()] }),
    );
  });

  test("an invalid pattern is a problem, and does not switch off the rest of the schema", () => {
    const schema: JsonObject = {
      type: "object",
      properties: { a: { type: "string", pattern: "(?=a)" }, b: { type: "integer" } },
    };
    const compiled = compileSchema(schema);
    expect(compiled.problems.map(({ path }) => path)).toEqual(["properties.a.pattern"]);
    expect(compiled.validate({ a: "a", b: "b" }).map(({ path }) => path)).toEqual(["a", "b"]);
    expect(() => checkSchema(schema)).toThrow(SchemaError);
  });

  test.each([
    ["properties", (parts: number): JsonObject => ({ properties: many(parts) })],
    [
      "alternatives",
      (parts: number): JsonObject => ({ anyOf: Array.from({ length: parts }, () => ({ required: ["a"] })) }),
    ],
    ["nested alternatives", (parts: number): JsonObject => ({ anyOf: nested(Math.min(parts, 90), parts) })],
  ])("a schema with too many %s is rejected before it is checked", (_, make) => {
    const schema: JsonObject = { type: "object", ...make(200_000) };
    for (const check of [compileSchema, checkSchema, checkRules]) {
      expect(() => check(schema, ["spec"])).toThrow(
        expect.objectContaining({
          issues: [expect.objectContaining({ path: "spec", message: expect.stringMatching(/more than 100000 parts/) })],
        }),
      );
    }
    expect(() => compileSchema({ type: "object", ...make(100) })).not.toThrow();
  });

  test("of many problems, no more are kept than an error lists", () => {
    const wrong = Object.fromEntries(Array.from({ length: 20_000 }, (__, index) => [`p${index}`, { type: "strin" }]));
    let error: unknown;
    try {
      checkSchema({ type: "object", properties: wrong });
    } catch (caught) {
      error = caught;
    }
    expect(error).toBeInstanceOf(SchemaError);
    expect((error as SchemaError).issues).toHaveLength(100);
    expect((error as SchemaError).message.length).toBeLessThan(20_000);
  });

  test("a value deeper than any document is an issue, not a crash", () => {
    const schema: JsonObject = { type: "array" };
    let nested: JsonObject = schema;
    for (let depth = 0; depth < 480; depth++) nested = nested["items"] = { type: "array" };
    nested["items"] = { "x-kubernetes-preserve-unknown-fields": true };
    let value: JsonValue = 1;
    for (let depth = 0; depth < 100_000; depth++) value = [value];
    const compiled = compileSchema({
      type: "object",
      properties: { f: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
    });
    for (const given of [{ f: value }, value]) {
      compiled.default(given);
      compiled.prune(given);
      compiled.validate(given);
    }
    expect(
      compileSchema({
        type: "object",
        properties: { f: { type: "array", items: { type: "string" }, uniqueItems: true } },
      }).validate({ f: [value, value] }),
    ).not.toEqual([]);
  });

  test("at most a hundred issues are listed", () => {
    const value = Array.from({ length: 1000 }, () => "x");
    expect(issues({ type: "array", items: { type: "integer" } }, value)).toHaveLength(100);
  });

  test("validation stops at too many alternatives", () => {
    const anyOf = Array.from({ length: 2000 }, (_, index) => ({ minimum: index + 1000 }));
    const value = Array.from({ length: 2000 }, () => 1);
    expect(issues({ type: "array", items: { type: "integer", anyOf } }, value)).toEqual([
      expect.stringMatching(/takes too long to validate/),
    ]);
  });
});
