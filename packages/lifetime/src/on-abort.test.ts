import { expect, test, vi } from "vitest";
import { onAbort } from "./on-abort.ts";

test("calls a listener once, when the signal is aborted", () => {
  const aborter = new AbortController();
  const listener = vi.fn<() => void>();
  onAbort(aborter.signal, listener);
  expect(listener).not.toHaveBeenCalled();
  aborter.abort();
  aborter.abort();
  expect(listener).toHaveBeenCalledTimes(1);
});

test("calls it at once if the signal is aborted already", () => {
  const listener = vi.fn<() => void>();
  onAbort(AbortSignal.abort(), listener)();
  expect(listener).toHaveBeenCalledTimes(1);
});

test("does not call one that has been forgotten, and needs no signal", () => {
  const aborter = new AbortController();
  const [forgotten, other] = [vi.fn<() => void>(), vi.fn<() => void>()];
  const forget = onAbort(aborter.signal, forgotten);
  onAbort(aborter.signal, other);
  forget();
  onAbort(undefined, forgotten)();
  aborter.abort();
  expect(forgotten).not.toHaveBeenCalled();
  expect(other).toHaveBeenCalledTimes(1);
});
