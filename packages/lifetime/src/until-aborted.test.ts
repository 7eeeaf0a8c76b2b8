import { expect, test } from "vitest";
import { untilAborted } from "./until-aborted.ts";

test("waits for the work, with and without a signal", async () => {
  const { signal } = new AbortController();
  await expect(untilAborted(Promise.resolve(1), signal)).resolves.toBe(1);
  await expect(untilAborted(Promise.resolve(1), undefined)).resolves.toBe(1);
  await expect(untilAborted(Promise.reject(new Error("no")), signal)).rejects.toThrow("no");
});

test("stops waiting when the signal is aborted", async () => {
  const end = new AbortController();
  const waiting = untilAborted(Promise.withResolvers<never>().promise, end.signal);
  end.abort(new Error("over"));
  await expect(waiting).rejects.toThrow("over");
});

test("with a signal that is aborted already, throws its reason, and handles the error of the work", async () => {
  const unhandled: unknown[] = [];
  const listen = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", listen);
  try {
    const failing = Promise.reject(new Error("no"));
    await expect(untilAborted(failing, AbortSignal.abort(new Error("over")))).rejects.toThrow("over");
    // Node reports unhandled rejections after the microtasks.
    await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled).toEqual([]);
  } finally {
    process.off("unhandledRejection", listen);
  }
});
