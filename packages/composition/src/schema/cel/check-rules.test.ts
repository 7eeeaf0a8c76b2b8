import type { JsonObject, JsonValue } from "@xfn/json";
import { describe, expect, test } from "vitest";
import { checkSchema } from "../compile.ts";
import { SchemaError } from "../structural/schema-error.ts";

/** The problems of a schema, as `path: message`. */
function problemsOf(properties: JsonObject, more: JsonObject = {}): string[] {
  try {
    checkSchema({ type: "object", properties, ...more });
    return [];
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    return error.issues.map(({ path, message }) => `${path}: ${message}`);
  }
}

function ruled(schema: JsonObject, rule: string, more: JsonObject = {}): JsonObject {
  return { ...schema, "x-kubernetes-validations": [{ rule, ...more }] };
}

const TEXT: JsonObject = { type: "string", maxLength: 10 };
const EXCEEDS = /^properties\.[\w.]+\.x-kubernetes-validations\[0\]\.rule: its estimated cost exceeds the budget/;

describe("the estimated cost of a rule", () => {
  test.each([
    ["grows with a loop in a loop", "self.all(a, self.all(b, a == b))", 100, 100_000],
    ["grows with the text that a pattern reads", "self.all(a, a.matches('^[a-z]+$'))", 100, 10_000_000],
    ["counts what sets compare", "sets.equivalent(self, self)", 100, 10_000],
    [
      "counts the results of macros",
      "self.map(a, a + 'b').filter(b, b != '').all(c, self.exists(d, c == d))",
      50,
      50_000,
    ],
  ])("%s", (_, rule, few, many) => {
    const list = (maxItems: number): JsonObject => ({ l: ruled({ type: "array", maxItems, items: TEXT }, rule) });
    expect(problemsOf(list(few))).toEqual([]);
    expect(problemsOf(list(many))).toEqual(expect.arrayContaining([expect.stringMatching(EXCEEDS)]));
  });

  test("takes the largest request where a schema has no bound", () => {
    const rule = "self.all(a, self.contains(a))";
    expect(problemsOf({ l: ruled({ type: "array", items: { type: "string" } }, rule) })).toHaveLength(1);
    const loop = "self.all(a, self.all(b, a != b))";
    expect(problemsOf({ l: ruled({ type: "array", items: TEXT }, loop) })[0]).toMatch(/more than 100/);
    expect(problemsOf({ l: ruled({ type: "array", maxItems: 10, items: TEXT }, loop) })).toEqual([]);
  });

  test("counts once for each item around it", () => {
    const part = ruled(TEXT, "self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$') || self.size() > 5");
    const around = (maxItems?: number): JsonObject => ({
      l: { type: "array", items: part, ...(maxItems !== undefined && { maxItems }) },
    });
    expect(problemsOf(around(1000))).toEqual([]);
    expect(problemsOf(around())).toEqual(expect.arrayContaining([expect.stringMatching(EXCEEDS)]));
  });

  test("has a limit for all rules of a schema, too", () => {
    const rule = "self.all(a, self.all(b, a != b))";
    const one = ruled({ type: "array", maxItems: 900, items: TEXT }, rule);
    expect(problemsOf({ p: one })).toEqual([]);
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`p${index}`, one]));
    expect(problemsOf(many)).toEqual([expect.stringMatching(/estimated cost of all rules exceeds the budget/)]);
  });
});

describe("an API server refuses", () => {
  const object: JsonObject = {
    type: "object",
    properties: { a: TEXT, m: { type: "object", additionalProperties: TEXT } },
  };

  test.each<[string, string, JsonObject, RegExp | undefined]>([
    ["a fieldPath without its field", "true", { fieldPath: ".nope" }, /fieldPath: is not a path/],
    ["a fieldPath without a dot", "true", { fieldPath: "a" }, /fieldPath: is not a path/],
    ["no fieldPath of a key of a map", "true", { fieldPath: ".m['x/y']" }, undefined],
    ["an unknown reason", "true", { reason: "Nope" }, /reason: is not one of FieldValueRequired/],
    ["a message with a line break", "true", { message: "a\nb" }, /message: must not contain line breaks/],
    ["a rule of two lines without a message", "true\n&& true", {}, /message: is missing/],
    [
      "a messageExpression that is not text",
      "true",
      { messageExpression: "1" },
      /messageExpression: must evaluate to a string/,
    ],
    ["optionalOldSelf without oldSelf", "true", { optionalOldSelf: true }, /optionalOldSelf: may not be set/],
    ["oldSelf as an optional that is not set", "oldSelf.hasValue()", {}, /rule: is not valid CEL/],
    [
      "a map's optional value of a dynamic type",
      "{?'a': dyn(self.a)}.size() == 1",
      {},
      /optional element has the type 'dyn'/,
    ],
    [
      "a list's optional item of a dynamic type",
      "[?dyn(self.a)].size() == 1",
      {},
      /optional element has the type 'dyn'/,
    ],
    ["no optional item of an optional type", "[?optional.of(dyn(self.a))].size() == 1", {}, undefined],
    ["no oldSelf as an optional", "oldSelf.hasValue() || has(self.a)", { optionalOldSelf: true }, undefined],
  ])("%s", (_, rule, more, message) => {
    const problems = problemsOf({ o: ruled(object, rule, more) });
    if (message === undefined) expect(problems).toEqual([]);
    else expect(problems).toEqual([expect.stringMatching(message)]);
  });

  test("oldSelf in items that have no counterparts before an update", () => {
    const item: JsonObject = { type: "object", required: ["k"], properties: { k: TEXT } };
    const list = (more: JsonObject): JsonObject => ({
      l: { type: "array", maxItems: 5, ...more, items: ruled(item, "self.k == oldSelf.k") },
    });
    expect(problemsOf(list({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"] }))).toEqual([]);
    expect(problemsOf(list({}))).toEqual([expect.stringMatching(/rule: cannot use oldSelf in items of a list/)]);
  });

  test.each<[string, JsonValue, string, RegExp | undefined]>([
    ["a default without a field that its rule reads", {}, "self.a != 'x'", /no such key: a/],
    [
      "a default that fails its rule",
      { a: "x" },
      "self.a != 'x'",
      /default: is not valid for its own rules: failed rule/,
    ],
    ["no default that a rule of an update allows", { a: "x" }, "self.a == oldSelf.a", undefined],
    ["no default that fits", { a: "y" }, "self.a != 'x'", undefined],
  ])("%s", (_, fallback, rule, message) => {
    const problems = problemsOf({ o: { ...ruled(object, rule), default: fallback } });
    if (message === undefined) expect(problems).toEqual([]);
    else expect(problems).toEqual([expect.stringMatching(message)]);
  });
});
