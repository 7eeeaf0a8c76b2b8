import { expect, test } from "vitest";
import { PendingCalls } from "./pending-calls.ts";
import type { ReceivedMessage } from "./received-message.ts";

function request(spanId: string, bytes = 1): ReceivedMessage {
  const meta = { traceId: "", spanId, stepIndex: 0, stepName: "", iteration: 0, functionName: "" };
  return { type: "request", meta, document: {}, error: "", bytes, at: 0 };
}

test("a request is taken once, and replaced by one of the same call", () => {
  const pending = new PendingCalls();
  const [first, second] = [request("a"), request("a")];
  pending.add(first);
  pending.add(second);
  expect(pending.take("a")).toBe(second);
  expect(pending.take("a")).toBeUndefined();
});

test("the oldest requests are forgotten beyond 1,000, and beyond 256 MiB", () => {
  const pending = new PendingCalls();
  for (let at = 0; at <= 1_000; at++) pending.add(request(`span-${at}`));
  expect(pending.take("span-0")).toBeUndefined();
  expect(pending.take("span-1")).toBeDefined();
  const large = new PendingCalls();
  for (const spanId of ["a", "b", "c"]) large.add(request(spanId, 100 * 1024 * 1024));
  expect(large.take("a")).toBeUndefined();
  expect(large.take("b")).toBeDefined();
});
