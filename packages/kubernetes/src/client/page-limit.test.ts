import { expect, test } from "vitest";
import { PageLimit } from "./page-limit.ts";

const KB = 1024;

test("pages of small objects grow to the largest size, pages of large objects shrink to one object", () => {
  const small = new PageLimit();
  const asked = [0, 0, 0].map(() => {
    const { items } = small;
    small.read(items, items * 2 * KB);
    return items;
  });
  expect(asked).toEqual([20, 160, 500]);
  const large = new PageLimit();
  large.read(20, 20 * KB * KB);
  expect(large.items).toBe(4);
  large.read(1, 30 * KB * KB);
  expect(large.items).toBe(1);
  large.read(1, 2 * KB);
  expect(large.items).toBe(8);
});

test("a page without objects says nothing of their sizes, and a caller's bound holds", () => {
  const limit = new PageLimit(30);
  limit.read(0, 100);
  expect(limit.items).toBe(30);
  expect(new PageLimit(5).items).toBe(5);
});
