import type { JsonObject } from "@xfn/json";
import { expect, test } from "vitest";
import { Float64 } from "../values/go-value.ts";
import { getBool, getInteger, getNumber, getString, getStringArray, getStringObject } from "./typed.ts";

const object = {
  s: "secret",
  n: 3,
  big: 9007199254740993n,
  half: 2.5,
  whole: new Float64(4),
  ok: true,
  nothing: null,
  list: ["a", "b"],
  mixed: ["a", 1],
  labels: JSON.parse('{"team":"x","__proto__":"data"}'),
  fields: { a: 1 },
} as unknown as JsonObject;

test("each getter returns the value of its type", () => {
  expect(getString(object, "s")).toBe("secret");
  expect(getString(object, ["list", 1])).toBe("b");
  expect(getBool(object, "ok")).toBe(true);
  expect([getInteger(object, "n"), getInteger(object, "big")]).toEqual([3n, 9007199254740993n]);
  expect([getNumber(object, "half"), getNumber(object, "whole")]).toEqual([2.5, 4]);
  expect(getStringArray(object, "list")).toEqual(["a", "b"]);
  const labels = getStringObject(object, "labels");
  expect([Object.getPrototypeOf(labels), Object.entries(labels)]).toEqual([
    null,
    [
      ["team", "x"],
      ["__proto__", "data"],
    ],
  ]);
});

test.each<[typeof getString | typeof getStringArray | typeof getInteger, string[]]>([
  [getString, ["n", "nothing", "list", "labels"]],
  [getInteger, ["half", "whole", "s", "ok", "nothing"]],
  [getNumber as unknown as typeof getInteger, ["n", "big", "s"]],
  [getBool as unknown as typeof getInteger, ["s", "n", "nothing"]],
  [getStringArray, ["mixed", "s", "labels", "nothing"]],
  [getStringObject as unknown as typeof getString, ["fields", "list", "s", "nothing"]],
])("%o rejects values of other types, without quoting them", (get, paths) => {
  for (const path of paths) {
    expect(() => get(object, path)).toThrow(
      expect.objectContaining({ code: "WrongType", message: expect.not.stringContaining("secret") }),
    );
  }
  expect(() => get(object, "missing")).toThrow(expect.objectContaining({ code: "NotFound" }));
  expect(() => get(object, "a..b")).toThrow(expect.objectContaining({ code: "Syntax" }));
});
