import { setTimeout as sleep } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { giveBackWhenIdle } from "./idle-memory.ts";

test("what nobody holds any more is given back once nobody has called for a while, and not before", async () => {
  const memory = giveBackWhenIdle(300);
  const [held, release] = garbage();
  for (let call = 0; call < 10; call++) {
    memory.used();
    await sleep(20);
  }
  release();
  // An assertion that fails would itself hold it.
  expect(await vi.waitUntil(() => held.deref() === undefined, { timeout: 30_000, interval: 50 })).toBe(true);
  memory.stop();
});

function garbage(): [WeakRef<object>, () => void] {
  let strong: object | undefined = { bytes: new Array(10_000).fill(0) };
  return [
    new WeakRef(strong),
    () => {
      strong = undefined;
    },
  ];
}
