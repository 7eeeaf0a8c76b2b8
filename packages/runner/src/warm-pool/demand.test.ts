import { expect, test } from "vitest";
import { Demand } from "./demand.ts";

test("is the highest number of concurrent calls", () => {
  const demand = new Demand(1000);
  demand.began(0);
  demand.began(1);
  demand.ended(2);
  demand.began(3);
  expect(demand.at(4)).toBe(2);
});

test("is one for consecutive calls", () => {
  const demand = new Demand(1000);
  for (let time = 0; time < 900; time += 10) {
    demand.began(time);
    demand.ended(time + 5);
  }
  expect(demand.at(900)).toBe(1);
});

test("remembers a peak for one to two windows", () => {
  const demand = new Demand(1000);
  demand.began(999);
  demand.began(999);
  demand.ended(999);
  demand.ended(999);
  expect(demand.at(1999)).toBe(2);
  expect(demand.at(2000)).toBe(0);
});

test("counts a running call, however long ago it began", () => {
  const demand = new Demand(1000);
  demand.began(0);
  expect(demand.at(10_000)).toBe(1);
  demand.ended(10_000);
  expect(demand.at(20_000)).toBe(0);
});
