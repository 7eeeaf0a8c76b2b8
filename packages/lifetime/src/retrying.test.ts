import { expect, test, vi } from "vitest";
import { pauseAfter } from "./backoff.ts";
import { type RetryPolicy, retrying } from "./retrying.ts";

/** Work that fails some times with numbered errors. */
function failing(times: number): () => Promise<string> {
  let calls = 0;
  return () => (calls++ < times ? Promise.reject(new Error(`failure ${calls}`)) : Promise.resolve("done"));
}

test("repeats work as long as the policy allows", async () => {
  const pauseMs = vi.fn<RetryPolicy["pauseMs"]>((_, failures) => (failures < 3 ? 0 : undefined));
  await expect(retrying(failing(2), { pauseMs })).resolves.toBe("done");
  expect(pauseMs.mock.calls.map(([, failures]) => failures)).toEqual([1, 2]);
  await expect(retrying(failing(3), { pauseMs })).rejects.toThrow("failure 3");
});

test("an abort ends a pause with the signal's reason, or the policy's error", async () => {
  const aborter = new AbortController();
  const pauseMs = (): number => {
    queueMicrotask(() => aborter.abort(new Error("over")));
    return 2 ** 30;
  };
  const { signal } = aborter;
  await expect(retrying(failing(1), { signal, pauseMs })).rejects.toThrow("over");
  const abortedPause = (error: unknown): unknown => error;
  await expect(retrying(failing(1), { signal, pauseMs, abortedPause })).rejects.toThrow("failure 1");
});

test("pauses double up to the longest one, and jitter shortens them by up to half", () => {
  const backoff = { firstMs: 100, longestMs: 1000 };
  expect([1, 2, 3, 9, 1000].map((failures) => pauseAfter(failures, backoff, () => 0))).toEqual([
    100, 200, 400, 1000, 1000,
  ]);
  expect(pauseAfter(1, backoff, () => 1)).toBe(50);
});
