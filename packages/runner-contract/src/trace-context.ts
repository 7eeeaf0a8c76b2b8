import { AsyncLocalStorage } from "node:async_hooks";

// This entry has no library of OpenTelemetry, so that clients can load it without tracing.

/** The headers of W3C Trace Context, by which a call continues the trace of its caller. */
export interface TraceContext {
  readonly traceparent?: string;
  readonly tracestate?: string;
}

const NONE: TraceContext = {};
const current = new AsyncLocalStorage<TraceContext>();

/** The trace that the running work belongs to. Empty without tracing. */
export function currentTrace(): TraceContext {
  return current.getStore() ?? NONE;
}

/** Runs work as a part of a trace. */
export function inTrace<T>(trace: TraceContext, work: () => T): T {
  return current.run(trace, work);
}
