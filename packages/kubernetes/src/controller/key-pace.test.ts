import { expect, test } from "vitest";
import { KeyPace } from "./key-pace.ts";

test("each key has its own burst, and gets it again when it is forgotten", () => {
  const pace = new KeyPace({ perSecond: 10, burst: 3 }, () => 0);
  const turnsAtOnce = (key: string): number => {
    let turns = 0;
    for (; pace.waitMs(key) <= 0; turns++) pace.began(key);
    return turns;
  };
  expect([turnsAtOnce("a"), turnsAtOnce("b")]).toEqual([3, 3]);
  pace.forget("a");
  expect([turnsAtOnce("a"), turnsAtOnce("b")]).toEqual([3, 0]);
});
