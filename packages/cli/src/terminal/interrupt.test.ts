import { EventEmitter } from "node:events";
import { expect, test, vi } from "vitest";
import { InterruptedError, interruptible } from "./interrupt.ts";

class FakeProcess extends EventEmitter {
  readonly pid = 7;
  /** Whom what was sent to, and which handlers were left then. */
  readonly kills: unknown[] = [];
  readonly stdin = { destroyed: false, destroy: (): boolean => (this.stdin.destroyed = true) };
  kill(pid: number, signal: NodeJS.Signals): void {
    this.kills.push([pid, signal, this.eventNames()]);
  }
}

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const)("%s aborts the work, waits for its clean-up and reports exit code %i", async (name, exitCode) => {
  const system = new FakeProcess();
  let cleanedUp = false;
  const run = interruptible(async (signal) => {
    queueMicrotask(() => system.emit(name, name));
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    await Promise.resolve();
    cleanedUp = true;
    throw new Error("some layer's own words for an abort");
  }, system);
  const error: unknown = await run.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(InterruptedError);
  expect(error).toMatchObject({ exitCode, signalName: name });
  expect(cleanedUp).toBe(true);
  expect(system.kills).toEqual([]);
});

test("reports work that ignored the abort and succeeded as interrupted", async () => {
  const system = new FakeProcess();
  const run = interruptible(async () => {
    system.emit("SIGINT", "SIGINT");
    return "half";
  }, system);
  await expect(run).rejects.toBeInstanceOf(InterruptedError);
});

test("ends a read from stdin", async () => {
  const system = new FakeProcess();
  const run = interruptible(async () => void system.emit("SIGINT", "SIGINT"), system);
  await expect(run).rejects.toMatchObject({ exitCode: 130 });
  expect(system.stdin.destroyed).toBe(true);
});

test("removes its signal handlers", async () => {
  const system = new FakeProcess();
  await interruptible(async () => "done", system);
  expect(system.eventNames()).toEqual([]);
});

test("limits the clean-up to ten seconds, but ignores a second signal", async () => {
  vi.useFakeTimers();
  try {
    const system = new FakeProcess();
    const end = Promise.withResolvers<void>();
    const run = interruptible(async () => end.promise, system);
    system.emit("SIGINT", "SIGINT");
    system.emit("SIGTERM", "SIGTERM");
    vi.advanceTimersByTime(9_999);
    expect(system.kills).toEqual([]);
    vi.advanceTimersByTime(1);
    // Ends by the signal, which has no handler any more: an exit could wait for a read that never ends.
    expect(system.kills).toEqual([[7, "SIGINT", []]]);
    end.resolve();
    await expect(run).rejects.toMatchObject({ exitCode: 130 });
  } finally {
    vi.useRealTimers();
  }
});
