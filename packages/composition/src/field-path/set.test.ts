import type { JsonObject, JsonValue } from "@xfn/json";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Float64, type GoValue } from "../values/go-value.ts";
import { type FieldPath, findFieldPath, formatFieldPath, MAX_INDEX, parseFieldPath } from "./field-path.ts";
import { deleteFieldPath, setFieldPath } from "./set.ts";

function json(text: string): JsonObject {
  return JSON.parse(text) as JsonObject;
}

function set(text: string, path: string, value: GoValue): string {
  const object = json(text);
  setFieldPath(object, parseFieldPath(path), value);
  return JSON.stringify(object);
}

function del(text: string, path: string): string {
  const object = json(text);
  deleteFieldPath(object, parseFieldPath(path));
  return JSON.stringify(object);
}

describe("setFieldPath", () => {
  test.each<[object: string, path: string, value: GoValue, after: string]>([
    ["{}", "a", 1, '{"a":1}'],
    ["{}", "a.b[1].c", "x", '{"a":{"b":[null,{"c":"x"}]}}'],
    ["{}", "a[0][1]", true, '{"a":[[null,true]]}'],
    ['{"a":{"b":1,"c":2}}', "a.b", null, '{"a":{"b":null,"c":2}}'],
    ['{"a":[1]}', "a[3]", 4, '{"a":[1,null,null,4]}'],
    ['{"a":[1]}', "a[2].b", 4, '{"a":[1,null,{"b":4}]}'],
    ['{"a":[null]}', "a[0].b", 1, '{"a":[{"b":1}]}'],
    ['{"a":[null]}', "a[0][0]", 1, '{"a":[[1]]}'],
    ['{"a":{}}', "a[*]", 1, '{"a":{"*":1}}'],
    ['{"a":1}', "", 2, '{"a":1}'],
    ["{}", "a['0']", 1, '{"a":{"0":1}}'],
    ["{}", "n", new Float64(4), '{"n":4}'],
  ])("%s, %s = %j gives %s", (object, path, value, after) => {
    expect(set(object, path, value)).toBe(after);
  });

  test.each([
    ['{"a":null}', "a.b"],
    ['{"a":null}', "a[0]"],
    ['{"a":1}', "a.b.c"],
    ['{"a":[]}', "a.b"],
    ['{"a":[]}', "a[*]"],
    ['{"a":{}}', "a[0]"],
    ["{}", "[0]"],
  ])("%s cannot have %s: an error that changes nothing", (object, path) => {
    const target = json(object);
    expect(() => setFieldPath(target, parseFieldPath(path), 1)).toThrow(
      expect.objectContaining({ code: "WrongType", retryable: false }),
    );
    expect(JSON.stringify(target)).toBe(object);
  });

  test("index-bomb: an index beyond 1024 is rejected at any position, and nothing is created before", () => {
    for (const path of ["a[1025]", "b[0]", "new.a[99999999].c", "new[4294967295]", "l[99999999]"]) {
      const target: JsonObject = { l: [] };
      const segments = parseFieldPath(path === "b[0]" ? "b[0][1025]" : path);
      expect(() => setFieldPath(target, segments, 1)).toThrow(expect.objectContaining({ code: "IndexTooLarge" }));
      expect(target).toEqual({ l: [] });
    }
    const target: JsonObject = {};
    setFieldPath(target, ["a", MAX_INDEX], 1);
    expect(target["a"]).toHaveLength(MAX_INDEX + 1);
  });

  test("a value is copied: neither the source nor an earlier target changes with a later one", () => {
    const value = { list: [1] };
    const object: JsonObject = {};
    setFieldPath(object, ["a"], value);
    setFieldPath(object, ["b"], object["a"] as JsonValue);
    setFieldPath(object, ["b", "list", 1], 2);
    expect(JSON.stringify([value, object])).toBe('[{"list":[1]},{"a":{"list":[1]},"b":{"list":[1,2]}}]');
  });

  test("an object can be set into itself", () => {
    const object = json('{"a":{"b":1}}');
    setFieldPath(object, ["a", "copy"], object);
    expect(JSON.stringify(object)).toBe('{"a":{"b":1,"copy":{"a":{"b":1}}}}');
  });

  test("prototype: __proto__ and constructor become own keys, of plain objects too", () => {
    for (const object of [{} as JsonObject, Object.create(null) as JsonObject]) {
      setFieldPath(object, ["__proto__", "polluted"], true);
      setFieldPath(object, ["constructor", "prototype", "polluted"], true);
      setFieldPath(object, ["a", "__proto__"], { polluted: true });
      expect(JSON.stringify(object)).toBe(
        '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"a":{"__proto__":{"polluted":true}}}',
      );
    }
    expect("polluted" in {}).toBe(false);
    expect("polluted" in Object).toBe(false);
  });

  test("created objects have no prototype", () => {
    const object: JsonObject = {};
    setFieldPath(object, ["a", 0, "b"], {});
    for (const path of [
      ["a", 0],
      ["a", 0, "b"],
    ]) {
      expect(Object.getPrototypeOf(findFieldPath(object, path))).toBeNull();
    }
  });

  test("a path of thousands of segments is set, found and deleted without recursion", () => {
    const path = parseFieldPath("a.".repeat(8000).slice(0, -1));
    const object: JsonObject = {};
    setFieldPath(object, path, 1);
    expect(findFieldPath(object, path)).toBe(1);
    deleteFieldPath(object, path);
    expect(findFieldPath(object, path)).toBeUndefined();
  });
});

describe("deleteFieldPath", () => {
  test.each([
    ['{"a":1,"b":2}', "a", '{"b":2}'],
    ['{"a":{"b":[1,2,3]}}', "a.b[1]", '{"a":{"b":[1,3]}}'],
    ['{"a":[{"b":1}]}', "a[0].b", '{"a":[{}]}'],
    ['{"a":1}', "", '{"a":1}'],
    ['{"a":1}', "b", '{"a":1}'],
    ['{"a":1}', "b.c[0]", '{"a":1}'],
    ['{"a":[1]}', "a[5]", '{"a":[1]}'],
    ['{"a":[1]}', "a[5].b", '{"a":[1]}'],
    ['{"a":[1]}', "a[99999999]", '{"a":[1]}'],
    ['{"__proto__":1,"a":2}', "__proto__", '{"a":2}'],
    ["{}", "__proto__.toString", "{}"],
  ])("%s without %s is %s", (object, path, after) => {
    expect(del(object, path)).toBe(after);
  });

  test.each(["a.b", "n.b", "l.b", "o[0]", "n[0]", "[0]"])("%s has a wrong type: an error", (path) => {
    const object = '{"a":1,"n":null,"l":[],"o":{}}';
    expect(() => del(object, path)).toThrow(expect.objectContaining({ code: "WrongType" }));
  });
});

describe("any object and path", () => {
  const field = fc.constantFrom("a", "b", "x.y", "__proto__", "constructor", "*", "", "0");
  const path = fc.array(fc.oneof(field, fc.nat({ max: 5 })), { minLength: 1, maxLength: 6 });
  const object = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom<JsonValue>(null, true, 0, 2.5, "s"),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.array(fc.tuple(field, tie("value")), { maxLength: 4 }).map((fields) => own(fields)),
    ),
  })).value;
  const root = fc.array(fc.tuple(field, object), { maxLength: 4 }).map((fields) => own(fields));

  function own(fields: readonly (readonly [string, JsonValue])[]): JsonObject {
    const made: JsonObject = {};
    for (const [key, value] of fields)
      Object.defineProperty(made, key, { value, enumerable: true, writable: true, configurable: true });
    return made;
  }

  function clean(): void {
    expect(Object.getOwnPropertyNames(Object.prototype).length).toBe(builtIn);
  }
  const builtIn = Object.getOwnPropertyNames(Object.prototype).length;

  function attempt(run: () => void): boolean {
    try {
      run();
      return true;
    } catch (error) {
      expect(error).toMatchObject({ name: "FieldPathError" });
      return false;
    }
  }

  test("a value that was set is found; on error nothing changes", () => {
    fc.assert(
      fc.property(root, path, object, (target, where, value) => {
        const before = JSON.stringify(target);
        const written = JSON.stringify(value);
        if (attempt(() => setFieldPath(target, where, value))) {
          expect(JSON.stringify(findFieldPath(target, where))).toBe(written);
        } else expect(JSON.stringify(target)).toBe(before);
        clean();
      }),
      { numRuns: 1000 },
    );
  });

  test("a deleted field is not found, and a deleted element makes its list shorter", () => {
    fc.assert(
      fc.property(root, path, (target, where) => {
        const list = listOf(target, where);
        const length = list?.length ?? 0;
        const index = where.at(-1);
        if (!attempt(() => deleteFieldPath(target, where))) return;
        if (list === undefined) expect(findFieldPath(target, where)).toBeUndefined();
        else expect(list).toHaveLength(length - (typeof index === "number" && index < length ? 1 : 0));
        clean();
      }),
      { numRuns: 1000 },
    );
  });

  function listOf(target: JsonObject, where: FieldPath): JsonValue[] | undefined {
    let parent: JsonValue | undefined;
    attempt(() => {
      parent = findFieldPath(target, where.slice(0, -1));
    });
    return Array.isArray(parent) ? parent : undefined;
  }

  test("a value can be set and found by its printed path", () => {
    fc.assert(
      fc.property(
        fc.array(fc.stringMatching(/^[a-z]([a-z0-9./-]{0,6}[a-z0-9])?$/), { minLength: 1, maxLength: 5 }),
        (fields) => {
          const target: JsonObject = {};
          setFieldPath(target, parseFieldPath(formatFieldPath(fields)), "found");
          expect(findFieldPath(target, fields)).toBe("found");
        },
      ),
    );
  });
});
