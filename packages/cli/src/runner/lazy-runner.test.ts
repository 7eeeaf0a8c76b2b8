import { expect, test } from "vitest";
import { type ClosableRunner, LazyRunner } from "./lazy-runner.ts";

function counted(): { runner: LazyRunner; calls: string[] } {
  const calls: string[] = [];
  const opened: ClosableRunner = {
    run: async (image, input) => {
      calls.push(`run ${image}`);
      return input;
    },
    close: async () => void calls.push("close"),
  };
  const open = async (): Promise<ClosableRunner> => {
    calls.push("open");
    return opened;
  };
  return { runner: new LazyRunner(open), calls };
}

test("a runner that nobody needs is neither opened nor closed", async () => {
  const { runner, calls } = counted();
  await runner.close();
  expect(calls).toEqual([]);
  expect(runner.isOpen).toBe(false);
});

test("a runner is opened once, by whoever needs it first, and closed", async () => {
  const { runner, calls } = counted();
  await runner.prepare();
  await runner.ready();
  await runner.run("a", new Uint8Array());
  await runner.run("b", new Uint8Array());
  await runner.close();
  expect(calls).toEqual(["open", "run a", "run b", "close"]);
});

test("a runner that cannot be opened is told to who needs it, and to nobody else", async () => {
  const runner = new LazyRunner(() => Promise.reject(new Error("no store")));
  await runner.prepare();
  await expect(runner.ready()).rejects.toThrow("no store");
  await expect(runner.close()).resolves.toBeUndefined();
});
