import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { uploadWatchdog } from "./upload-watchdog.ts";

const STALL_MS = 1000;
const MINUTE_MS = 60_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

async function sendAll(watchdog: ReturnType<typeof uploadWatchdog>, bytes: number): Promise<void> {
  const content = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.alloc(bytes);
  };
  for await (const chunk of watchdog.body(content())) expect(chunk).toHaveLength(bytes);
}

test("a registry may take minutes to store what it has received, and not longer", async () => {
  using watchdog = uploadWatchdog(STALL_MS, new AbortController().signal, "blob");
  await sendAll(watchdog, 10);
  vi.advanceTimersByTime(4 * MINUTE_MS);
  expect(watchdog.signal.aborted).toBe(false);
  vi.advanceTimersByTime(2 * MINUTE_MS);
  expect(watchdog.signal.reason).toMatchObject({ code: "RegistryUnavailable", retryable: true });
});

test("a longer stall timeout is the time for that, too", async () => {
  using watchdog = uploadWatchdog(10 * MINUTE_MS, new AbortController().signal, "blob");
  await sendAll(watchdog, 10);
  vi.advanceTimersByTime(9 * MINUTE_MS);
  expect(watchdog.signal.aborted).toBe(false);
  vi.advanceTimersByTime(20 * MINUTE_MS);
  expect(watchdog.signal.aborted).toBe(true);
});

test("an upload without progress is aborted", () => {
  using watchdog = uploadWatchdog(STALL_MS, new AbortController().signal, "blob");
  vi.advanceTimersByTime(STALL_MS);
  expect(watchdog.signal.reason).toMatchObject({ code: "RegistryUnavailable", retryable: true });
});
