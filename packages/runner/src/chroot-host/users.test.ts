import { expect, test } from "vitest";
import { UserPool } from "./users.ts";

test("a user that was given back comes after all others", () => {
  const pool = new UserPool(1000, 3);
  const first = pool.take() as number;
  pool.giveBack(first);
  expect([pool.take(), pool.take(), pool.take()]).toEqual([1001, 1002, first]);
  expect(pool.take()).toBeUndefined();
  expect(pool.isUnused).toBe(false);
  for (const user of [1001, 1002, first]) pool.giveBack(user);
  expect(pool.isUnused).toBe(true);
});
