import { expect, test } from "vitest";
import { type FairSlots, fairSlots, type Standing } from "./worker-slots.ts";

/** Takes places in order and says who got one when; each is held until it is given back by name. */
function world(slots: FairSlots): {
  take(name: string, source: string, standing?: Standing): void;
  giveBack(name: string): Promise<void>;
  readonly got: string[];
} {
  const got: string[] = [];
  const held = new Map<string, () => void>();
  return {
    got,
    take(name, source, standing = "good") {
      const taken = slots.take(source, standing);
      void (async () => {
        held.set(name, await taken);
        got.push(name);
      })();
    },
    async giveBack(name) {
      await settled();
      held.get(name)?.();
      await settled();
    },
  };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("no more run at a time than there are places", async () => {
  const slots = fairSlots(2);
  const { take, giveBack, got } = world(slots);
  for (const name of ["a", "b", "c"]) take(name, "x");
  await settled();
  expect(got).toEqual(["a", "b"]);
  expect(slots).toMatchObject({ running: 2, waiting: 1 });
  await giveBack("a");
  expect(got).toEqual(["a", "b", "c"]);
});

test("a kind with a thousand keys waiting does not keep another from its turn", async () => {
  const { take, giveBack, got } = world(fairSlots(1));
  for (let index = 0; index < 1000; index++) take(`many-${index}`, "many");
  take("one", "other");
  await giveBack("many-0");
  await giveBack("many-1");
  expect(got).toEqual(["many-0", "many-1", "one"]);
});

test("who failed waits for those who did not, and still has a turn", async () => {
  const { take, giveBack, got } = world(fairSlots(1));
  take("first", "x");
  take("failing", "x", "failing");
  for (let index = 0; index < 20; index++) take(`good-${index}`, "x");
  await giveBack("first");
  for (let index = 0; index < 20; index++) await giveBack(`good-${index}`);
  expect(got[1]).toBe("good-0");
  expect(got.indexOf("failing")).toBeGreaterThan(1);
  expect(got.indexOf("failing")).toBeLessThan(10);
});

test("what is slow has a part of the places only, also when nobody else wants them", async () => {
  const slots = fairSlots(16);
  const { take, giveBack, got } = world(slots);
  for (let index = 0; index < 100; index++) take(`slow-${index}`, "x", "slow");
  await settled();
  expect(slots.running).toBe(2);
  for (let index = 0; index < 14; index++) take(`good-${index}`, "x");
  await settled();
  expect(got).toHaveLength(16);
  await giveBack("slow-0");
  expect(got.at(-1)).toBe("slow-2");
});

test("a place is given back once", async () => {
  const slots = fairSlots(1);
  const giveBack = await slots.take("x", "good");
  giveBack();
  giveBack();
  expect(slots.running).toBe(0);
});

test("who gives up waiting leaves its place to others", async () => {
  const slots = fairSlots(1);
  const giveBack = await slots.take("x", "good");
  const { signal, abort } = ((controller) => ({
    signal: controller.signal,
    abort: () => controller.abort(new Error("stopped")),
  }))(new AbortController());
  const waiting = slots.take("x", "good", signal);
  const after = slots.take("x", "good");
  abort();
  await expect(waiting).rejects.toThrow("stopped");
  await expect(slots.take("x", "good", signal)).rejects.toThrow("stopped");
  giveBack();
  (await after)();
  expect(slots).toMatchObject({ running: 0, waiting: 0 });
});
