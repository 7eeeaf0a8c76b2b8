import type { JsonObject, JsonValue } from "@xfn/json";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { findFieldPath, formatFieldPath, parseFieldPath } from "./field-path.ts";
import { expandWildcards } from "./wildcards.ts";

const object: JsonObject = {
  list: [{ name: "a", tags: ["x", "y"] }, { name: "b" }, { tags: [] }],
  map: { "k.v": { n: 1 }, b: { n: 2 }, a: { m: 3 } },
  scalar: 1,
  nothing: null,
  empty: [],
};

function expand(path: string): string[] {
  return expandWildcards(object, parseFieldPath(path)).map(formatFieldPath);
}

describe("expandWildcards", () => {
  test.each<[string, string[]]>([
    ["list[*].name", ["list[0].name", "list[1].name"]],
    ["list[*].tags[*]", ["list[0].tags[0]", "list[0].tags[1]"]],
    ["map.*.n", ["map.b.n", "map[k.v].n"]],
    ["map[*]", ["map.a", "map.b", "map[k.v]"]],
    ["list[1].name", ["list[1].name"]],
    ["", [""]],
  ])("%s expands to %j", (path, paths) => {
    expect(expand(path)).toEqual(paths);
  });

  test.each(["list[*].missing", "missing[*].a", "list[7].tags[*]", "empty[*]", "missing"])(
    "%s matches nothing",
    (path) => {
      expect(expand(path)).toEqual([]);
    },
  );

  test.each([
    "scalar[*]",
    "nothing[*]",
    "list[*][*][*]",
    "list[*].name[*]",
    "map[*][0]",
    "[0][*]",
    "scalar.missing[*]",
  ])("%s is an error: a value on the way has no fields", (path) => {
    expect(() => expand(path)).toThrow(expect.objectContaining({ code: "WrongType" }));
  });

  test("a key that is itself * is one key, and does not expand for ever", () => {
    const starred: JsonObject = { a: { "*": { x: 1 }, b: { x: 2 } } };
    expect(expandWildcards(starred, parseFieldPath("a[*].x"))).toEqual([
      ["a", "b", "x"],
      ["a", "*", "x"],
    ]);
  });

  test("keys are data, and inherited ones are not keys", () => {
    const own = JSON.parse('{"m":{"__proto__":{"x":1},"constructor":{"x":2}}}') as JsonObject;
    expect(expandWildcards(own, ["m", "*", "x"])).toEqual([
      ["m", "__proto__", "x"],
      ["m", "constructor", "x"],
    ]);
    expect(expandWildcards({ m: {} }, ["m", "*", "toString"])).toEqual([]);
  });

  test("wildcards that multiply without bound are an error", () => {
    let shared: JsonValue = Array.from({ length: 100 }, () => 1);
    for (let level = 0; level < 3; level++) shared = Array.from({ length: 100 }, () => shared);
    expect(() => expandWildcards({ a: shared }, parseFieldPath("a[*][*][*][*]"))).toThrow(
      expect.objectContaining({ code: "TooManyMatches" }),
    );
  });

  test("depth: a path of thousands of wildcards is walked without recursion", () => {
    let deep: JsonValue = 1;
    for (let level = 0; level < 4000; level++) deep = [deep];
    const paths = expandWildcards({ a: deep }, parseFieldPath(`a${"[*]".repeat(4000)}`));
    expect(paths).toHaveLength(1);
  });

  test("every expanded path exists, and has no wildcard that was not a key", () => {
    const keys = fc.constantFrom("a", "b", "c");
    const value = fc.letrec<{ value: JsonValue }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom<JsonValue>(null, 1, "s"),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(keys, tie("value"), { maxKeys: 3 }),
      ),
    })).value;
    const path = fc.array(fc.oneof(keys, fc.constant("*"), fc.nat({ max: 2 })), { maxLength: 4 });
    fc.assert(
      fc.property(fc.dictionary(keys, value), path, (root, pattern) => {
        let paths: ReturnType<typeof expandWildcards>;
        try {
          paths = expandWildcards(root, pattern);
        } catch (error) {
          expect(error).toMatchObject({ code: "WrongType" });
          return;
        }
        for (const one of paths) {
          expect(one).not.toContain("*");
          expect(findFieldPath(root, one)).not.toBeUndefined();
        }
        expect(new Set(paths.map(formatFieldPath)).size).toBe(paths.length);
      }),
      { numRuns: 500 },
    );
  });
});
