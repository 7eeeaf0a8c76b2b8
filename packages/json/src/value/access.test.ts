import { expect, test } from "vitest";
import { listAt, objectAt, objectsAt, textAt, textOrEmpty, textsAt, valueAt } from "./access.ts";

const object = {
  metadata: { name: "a", namespace: "", labels: { one: "1", two: 2 } },
  items: [{ name: "b" }, "c", null],
};

test("values are found at paths of fields and items", () => {
  expect(valueAt(object, "metadata", "labels", "two")).toBe(2);
  expect(valueAt(object, "items", 0, "name")).toBe("b");
  expect(textAt(object, "metadata", "name")).toBe("a");
  expect(textsAt(object, "metadata", "labels")).toEqual({ one: "1" });
  expect(listAt(object, "items")).toHaveLength(3);
  expect(objectsAt(object, "items")).toEqual([{ name: "b" }]);
});

test.each([
  ["a missing field", ["metadata", "uid"]],
  ["a field below a text", ["metadata", "name", "length"]],
  ["a property of the prototype", ["constructor"]],
  ["a property of a list", ["items", "length"]],
  ["an item that is missing", ["items", 7]],
])("%s counts as absent", (_, path) => {
  expect(valueAt(object, ...path)).toBeUndefined();
  expect(objectAt(object, ...path)).toEqual({});
  expect(listAt(object, ...path)).toEqual([]);
  expect(textOrEmpty(object, ...path)).toBe("");
});

test("an empty text counts as absent, and a value of another type too", () => {
  expect(textAt(object, "metadata", "namespace")).toBeUndefined();
  expect(textAt(object, "metadata", "labels", "two")).toBeUndefined();
  expect(textsAt(undefined, "labels")).toEqual({});
});
