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

test("does not open or close a runner without a call", async () => {
  const { runner, calls } = counted();
  await runner.close();
  expect(calls).toEqual([]);
  expect(runner.isOpen).toBe(false);
});

test("opens a runner once, at the first call, and closes it", async () => {
  const { runner, calls } = counted();
  await runner.prepare();
  await runner.ready();
  await runner.run("a", new Uint8Array());
  await runner.run("b", new Uint8Array());
  await runner.close();
  expect(calls).toEqual(["open", "run a", "run b", "close"]);
});

test("only calls report a runner that cannot be opened", async () => {
  const runner = new LazyRunner(() => Promise.reject(new Error("no store")));
  await runner.prepare();
  await expect(runner.ready()).rejects.toThrow("no store");
  await expect(runner.close()).resolves.toBeUndefined();
});
