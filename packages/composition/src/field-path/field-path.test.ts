import type { JsonObject } from "@xfn/json";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Float64 } from "../values/go-value.ts";
import {
  FieldPathError,
  findFieldPath,
  formatFieldPath,
  getFieldPath,
  isNotFound,
  parseFieldPath,
} from "./field-path.ts";

function outcome(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}

describe("parseFieldPath", () => {
  test.each<[string, (string | number)[]]>([
    ["", []],
    ["kind", ["kind"]],
    ["a.b.c", ["a", "b", "c"]],
    ["[0]", [0]],
    ["a[007].b", ["a", 7, "b"]],
    ["a.0", ["a", "0"]],
    ["a[+1]", ["a", "+1"]],
    ["a[4294967295]", ["a", 4294967295]],
    ["a[4294967296]", ["a", "4294967296"]],
    ["a['b/c.d']", ["a", "b/c.d"]],
    ['a["b.c"]', ["a", "b.c"]],
    ["a[b.c][*]", ["a", "b.c", "*"]],
    ["a['1']", ["a", "1"]],
    ["a['']", ["a", ""]],
    ["'a'.\"b", ["a", "b"]],
    ["a[0]b", ["a", 0, "b"]],
    ["it's.ok", ["it's", "ok"]],
    ["a b.\u00e9", ["a b", "\u00e9"]],
  ])("%j", (text, segments) => {
    expect(parseFieldPath(text)).toEqual(segments);
  });

  test.each(["a..b", "a.", ".", ".a", "]", "a]", "a[0", "a[", "a[0]]", "a[[0]]", "a[]", "a.[0]", "a[x[0]"])(
    "rejects %j",
    (text) => {
      expect(() => parseFieldPath(text)).toThrow(expect.objectContaining({ code: "Syntax" }));
    },
  );

  test("rejects an endless path", () => {
    expect(() => parseFieldPath("a.".repeat(100_000))).toThrow(expect.objectContaining({ code: "Syntax" }));
  });

  test("parsing any text yields segments or a Syntax error", () => {
    const unit = fc.constantFrom(..."ab.[]*'\"0159 é-/");
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 20 }), (text) => {
        expect(outcome(() => parseFieldPath(text))).toSatisfy(
          (found) => Array.isArray(found) || (found instanceof FieldPathError && found.code === "Syntax"),
        );
      }),
      { numRuns: 2000 },
    );
  });

  test("a printed path parses to the same path", () => {
    // As in Go, an empty field, quotes at an end, and digits in brackets are ambiguous in the printed path.
    const field = fc.stringMatching(/^[a-zé*]([a-z0-9 '"./*-]{0,8}[a-z0-9])?$/);
    fc.assert(
      fc.property(fc.array(fc.oneof(field, fc.nat()), { maxLength: 6 }), (path) => {
        expect(parseFieldPath(formatFieldPath(path))).toEqual(path);
      }),
    );
  });
});

test.each([
  [["a", "b.c", "*", 0, "d"], "a[b.c][*][0].d"],
  [["", "a"], ".a"],
  [["a", "", "b"], "a..b"],
  [[0, "a"], "[0].a"],
  [[], ""],
])("formatFieldPath prints %j as Go does", (path, text) => {
  expect(formatFieldPath(path)).toBe(text);
});

describe("getFieldPath", () => {
  const object: JsonObject = {
    kind: "Cart",
    metadata: { annotations: { "shop.example/note": "hi" } },
    spec: { n: 3, nil: null, items: [{ sku: "a" }, { sku: "b" }], "": "empty key" },
  };

  test("follows fields and indexes to the value", () => {
    expect(getFieldPath(object, "spec.items[1].sku")).toBe("b");
    expect(getFieldPath(object, "metadata.annotations['shop.example/note']")).toBe("hi");
    expect(getFieldPath(object, "spec['']")).toBe("empty key");
    expect(getFieldPath(object, "spec.nil")).toBeNull();
    expect(getFieldPath(object, "")).toBeNull();
  });

  test("distinguishes a missing field from a wrong type", () => {
    expect(outcome(() => getFieldPath(object, "spec.missing.deep"))).toMatchObject({ code: "NotFound" });
    expect(outcome(() => getFieldPath(object, "spec.items[2]"))).toMatchObject({ code: "NotFound" });
    expect(outcome(() => getFieldPath(object, "spec.nil.deep"))).toMatchObject({ code: "WrongType" });
    expect(outcome(() => getFieldPath(object, "spec.n.deep"))).toMatchObject({ code: "WrongType" });
    expect(outcome(() => getFieldPath(object, "spec.items.sku"))).toMatchObject({ code: "WrongType" });
    expect(outcome(() => getFieldPath(object, "spec[0]"))).toMatchObject({ code: "WrongType" });
    expect(outcome(() => getFieldPath(object, "kind[0]"))).toMatchObject({ code: "WrongType" });
  });

  test("an index beyond 1024 is read: only writing has a bound", () => {
    const items = Array.from({ length: 1500 }, (_, index) => index);
    expect(getFieldPath({ items }, "items[1400]")).toBe(1400);
    expect(() => getFieldPath({ items }, "items[1500]")).toThrow(expect.objectContaining({ code: "NotFound" }));
    expect(() => getFieldPath({ items }, "items[4294967295]")).toThrow(expect.objectContaining({ code: "NotFound" }));
  });

  test("prototype: inherited keys are not fields, own keys of the same name are", () => {
    for (const key of ["__proto__", "constructor", "toString", "length"]) {
      expect(() => getFieldPath({}, `${key}.x`)).toThrow(expect.objectContaining({ code: "NotFound" }));
    }
    const own = JSON.parse('{"__proto__":{"x":1},"constructor":{"prototype":2}}') as JsonObject;
    expect(getFieldPath(own, "__proto__.x")).toBe(1);
    expect(getFieldPath(own, "constructor.prototype")).toBe(2);
  });

  test("messages never quote a value", () => {
    expect(() => getFieldPath({ password: "hunter2" }, "password.x")).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining("hunter2") }),
    );
  });

  test("findFieldPath returns undefined for a missing field, and throws for a wrong type", () => {
    const find = (path: string): unknown => findFieldPath(object, parseFieldPath(path));
    expect(find("spec.items[1].sku")).toBe("b");
    expect(find("spec.nil")).toBeNull();
    expect(find("spec.missing.deep")).toBeUndefined();
    expect(find("spec.items[2]")).toBeUndefined();
    expect(find("__proto__")).toBeUndefined();
    expect(() => find("spec.nil.deep")).toThrow(expect.objectContaining({ code: "WrongType" }));
    expect(find("spec.items[1025]")).toBeUndefined();
  });

  test("a boxed number has no fields", () => {
    const boxed = { n: new Float64(2) } as unknown as JsonObject;
    expect(() => getFieldPath(boxed, "n.value")).toThrow(expect.objectContaining({ code: "WrongType" }));
  });

  test("not found: the message names the first field that is missing", () => {
    expect(() => getFieldPath(object, "spec.missing.deep[0]")).toThrow("spec.missing: no such field");
    expect(() => getFieldPath(object, "spec.items[2].sku")).toThrow("spec.items[2]: no such element");
  });

  test("isNotFound accepts nothing but a missing field or element", () => {
    expect(isNotFound(new FieldPathError("NotFound", ""))).toBe(true);
    expect(isNotFound(new FieldPathError("WrongType", ""))).toBe(false);
    expect(isNotFound(new Error("NotFound"))).toBe(false);
  });
});
