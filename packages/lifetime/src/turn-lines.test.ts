import { expect, test } from "vitest";
import { TurnLines } from "./turn-lines.ts";

test("sources take turns, and items that were removed have none", () => {
  const lines = new TurnLines<string>();
  for (const item of ["a1", "a2", "a3", "a4", "b1", "b2", "c1"]) lines.push(item.slice(0, 1), item);
  lines.remove("a", "a2");
  lines.remove("b", "a3");
  expect(lines.size).toBe(6);
  const order = Array.from({ length: 3 }, () => lines.shift());
  lines.push("c", "c2");
  while (lines.size > 0) order.push(lines.shift());
  expect(order).toEqual(["a1", "b1", "c1", "a3", "b2", "c2", "a4"]);
  expect(lines.shift()).toBeUndefined();
});

test("knows how many items are ahead of the next one of a source", () => {
  for (const source of ["a", "b", "c", "d"]) {
    const lines = new TurnLines<string>();
    for (const item of ["a1", "a2", "a3", "b1", "c1", "c2"]) lines.push(item.slice(0, 1), item);
    lines.shift();
    const ahead = lines.ahead(source);
    lines.push(source, "next");
    const order = Array.from({ length: lines.size }, () => lines.shift());
    expect([source, order.indexOf("next")]).toEqual([source, ahead]);
  }
});
