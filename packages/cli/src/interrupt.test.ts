import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { Interrupted, interruptible } from "./interrupt.ts";

class FakeProcess extends EventEmitter {
  exit(code?: number): never {
    throw new Error(`exit ${code}`);
  }
}

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const)("%s aborts the work, waits for its clean-up and reports exit code %i", async (name, exitCode) => {
  const emitter = new FakeProcess();
  let cleanedUp = false;
  const run = interruptible(async (signal) => {
    queueMicrotask(() => emitter.emit(name, name));
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    await Promise.resolve();
    cleanedUp = true;
    throw new Error("some layer's own words for an abort");
  }, emitter as never);
  const error = await run.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(Interrupted);
  expect(error).toMatchObject({ exitCode, signalName: name });
  expect(cleanedUp).toBe(true);
});

test("work that ignored the abort and succeeded is still reported as interrupted", async () => {
  const emitter = new FakeProcess();
  const run = interruptible(async () => {
    emitter.emit("SIGINT", "SIGINT");
    return "half";
  }, emitter as never);
  await expect(run).rejects.toBeInstanceOf(Interrupted);
});

test("leaves no signal handler behind", async () => {
  const emitter = new FakeProcess();
  await interruptible(async () => "done", emitter as never);
  expect(emitter.eventNames()).toEqual([]);
});

test("a second signal does not cut the clean-up short", async () => {
  const emitter = new FakeProcess();
  const run = interruptible(async () => {
    emitter.emit("SIGINT", "SIGINT");
    emitter.emit("SIGINT", "SIGINT");
  }, emitter as never);
  await expect(run).rejects.toMatchObject({ exitCode: 130 });
});
