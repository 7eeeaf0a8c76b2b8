import { expect, test } from "vitest";
import { allFunctions } from "../library/functions.ts";
import { parse } from "../syntax/parse.ts";
import { DYN, type Type } from "../values/type.ts";
import { check } from "./check.ts";

/** Records the names that are looked up. */
class Names extends Map<string, Type> {
  readonly asked: string[] = [];

  override get(name: string): Type | undefined {
    this.asked.push(name);
    return super.get(name);
  }
}

test("looks up no name longer than a declared one, so that a long chain of fields takes linear time", () => {
  const names = new Names([["self", DYN]]);
  const rule = ["self", ...Array.from({ length: 1000 }, () => "a")].join(".");
  expect(check(parse(rule), names, allFunctions())).toEqual([]);
  expect(names.asked).toContain("self.a.a");
  expect(Math.max(...names.asked.map((name) => name.split(".").length))).toBe(3);
});

test("no function has a longer name than the lookup of qualified names tries", () => {
  const parts = [...allFunctions().keys()].map((name) => name.split(".").filter((part) => part !== "").length);
  expect(Math.max(...parts)).toBeLessThanOrEqual(4);
});
