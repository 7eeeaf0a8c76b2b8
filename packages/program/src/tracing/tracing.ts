import type { TraceContext } from "@xfn/runner-contract/trace-context";
import type { Sampling } from "./sampling.ts";

/** Values of attributes are cut at 256 characters. Undefined attributes are omitted. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** Times are in milliseconds since the epoch. */
export interface SpanStart {
  /** The trace that the span belongs to; empty for a new trace. */
  readonly parent: TraceContext;
  readonly attributes?: Attributes | undefined;
  readonly kind?: "client" | "server" | undefined;
  /** Default: now. */
  readonly at?: number | undefined;
}

/** A span that has not ended. */
export interface OpenSpan {
  /** The parent of spans below this one. */
  readonly trace: TraceContext;
  /** @param error marks the span as failed. @param at default: now */
  end(error?: string, at?: number): void;
}

/** Exports spans to a collector. */
export interface Tracing {
  start(name: string, options: SpanStart): OpenSpan;
  /** Sends the remaining spans. */
  close(): Promise<void>;
}

export interface TracingOptions {
  /**
   * The collector's base URL; without it, `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` or `OTEL_EXPORTER_OTLP_ENDPOINT`. The
   * other `OTEL_` variables of the specification (headers, resource, service name) apply too.
   */
  readonly endpoint: string | undefined;
  /** The name of the service. */
  readonly service: string;
  readonly version: string;
  /** Default: all traces that the caller sends. */
  readonly sampling?: Sampling | undefined;
}
