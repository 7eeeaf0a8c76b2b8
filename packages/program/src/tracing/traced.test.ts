import { setTimeout as sleep } from "node:timers/promises";
import { SpanStatusCode } from "@opentelemetry/api";
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor } from "@opentelemetry/sdk-trace";
import { currentTrace } from "@xfn/runner-contract/trace-context";
import { beforeEach, expect, test } from "vitest";
import { startTracing } from "./exporter.ts";
import { recordWithin, traced } from "./traced.ts";

const exporter = new InMemorySpanExporter();
const tracing = startTracing(
  { endpoint: undefined, service: "test", version: "1" },
  new SimpleSpanProcessor({ exporter }),
);

beforeEach(() => {
  exporter.reset();
});

const spanOf = (name: string): ReadableSpan | undefined =>
  exporter.getFinishedSpans().find((span) => span.name === name);
const idOf = (name: string): string | undefined => spanOf(name)?.spanContext().spanId;
const parentOf = (name: string): string | undefined => spanOf(name)?.parentSpanContext?.spanId;

test("spans of concurrent work are below the span of their caller, and calls get its headers", async () => {
  const seen: unknown[] = [];
  await traced(tracing, "outer", {}, () =>
    Promise.all(
      ["a", "b"].map((name) =>
        traced(tracing, name, {}, async () => {
          await sleep(1);
          seen.push(currentTrace().traceparent?.slice(36, 52));
          recordWithin(tracing, `write ${name}`, { milliseconds: 1, failure: undefined });
        }),
      ),
    ),
  );
  expect(["a", "b"].map(parentOf)).toEqual([idOf("outer"), idOf("outer")]);
  expect(["write a", "write b"].map(parentOf)).toEqual([idOf("a"), idOf("b")]);
  expect(seen.toSorted()).toEqual([idOf("a"), idOf("b")].toSorted());
  expect(new Set(exporter.getFinishedSpans().map((span) => span.spanContext().traceId)).size).toBe(1);
});

test("a root span leaves the trace of its caller", async () => {
  await traced(tracing, "outer", {}, () => traced(tracing, "root", { parent: {} }, () => undefined));
  expect(spanOf("root")?.parentSpanContext).toBeUndefined();
  expect(spanOf("root")?.spanContext().traceId).not.toBe(spanOf("outer")?.spanContext().traceId);
});

test("a failed span has the code of the error, and not its message, which can be a secret", async () => {
  const error = Object.assign(new Error("password hunter2"), { code: "Forbidden" });
  const failing = traced(tracing, "fails", {}, () => Promise.reject(error));
  await expect(failing).rejects.toBe(error);
  expect(spanOf("fails")?.status).toEqual({ code: SpanStatusCode.ERROR, message: "Forbidden" });
  expect(spanOf("fails")?.events).toEqual([]);
});

test("values of attributes are cut, and undefined ones are omitted", async () => {
  await traced(tracing, "long", { attributes: { a: "x".repeat(1000), b: undefined } }, () => undefined);
  expect(spanOf("long")?.attributes).toEqual({ a: "x".repeat(256) });
});

test("without a caller's span, a write has none, and without tracing, work has none", async () => {
  recordWithin(tracing, "write", { milliseconds: 1, failure: "409" });
  await traced(undefined, "work", {}, () => expect(currentTrace()).toEqual({}));
  expect(exporter.getFinishedSpans()).toEqual([]);
});
