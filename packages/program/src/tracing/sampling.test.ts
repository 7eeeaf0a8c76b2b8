import { InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace";
import { expect, test } from "vitest";
import { startTracing } from "./exporter.ts";
import { samplingOf } from "./sampling.ts";

test.each<[sampler: string, argument: string | undefined, ratio: number, isParentBased: boolean]>([
  ["", undefined, 1, true],
  ["always_on", "0.5", 1, false],
  ["parentbased_always_off", undefined, 0, true],
  ["traceidratio", "0.25", 0.25, false],
  ["parentbased_traceidratio", "", 1, true],
])("the sampler %j with %j", (sampler, argument, ratio, isParentBased) => {
  const environment = { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: argument };
  expect(samplingOf(environment)).toEqual({ ratio, isParentBased });
});

test.each([
  ["OTEL_TRACES_SAMPLER", { OTEL_TRACES_SAMPLER: "xray" }],
  ["OTEL_TRACES_SAMPLER_ARG", { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "25%" }],
  ["OTEL_TRACES_SAMPLER_ARG", { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "2" }],
])("an invalid %s is refused", (variable, environment) => {
  expect(() => samplingOf(environment)).toThrow(`${variable} must be`);
});

test("a trace that is not sampled is not sent, and the next program learns that; a caller's trace is its decision", async () => {
  const exporter = new InMemorySpanExporter();
  const sampling = { ratio: 0, isParentBased: true };
  const options = { endpoint: undefined, service: "test", version: "1", sampling };
  const tracing = startTracing(options, new SimpleSpanProcessor({ exporter }));
  const root = tracing.start("root", { parent: {} });
  root.end();
  expect(root.trace.traceparent).toMatch(/-00$/);
  const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
  tracing.start("below", { parent: { traceparent } }).end();
  expect(exporter.getFinishedSpans().map(({ name }) => name)).toEqual(["below"]);
});
