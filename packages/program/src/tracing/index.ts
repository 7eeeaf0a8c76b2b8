// Spans of programs. This entry does not load the libraries of OpenTelemetry.

export { openTracing } from "./open-tracing.ts";
export { type EndedSpan, recordWithin, traced } from "./traced.ts";
export type { Attributes, OpenSpan, SpanStart, Tracing, TracingOptions } from "./tracing.ts";
