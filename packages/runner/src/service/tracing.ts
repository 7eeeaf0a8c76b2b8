import { type Context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import type { CallOutcome } from "@xfn/runner-grpc";
import { loggedMessage } from "../service/logged-message.ts";
import type { ImageUse } from "../service/observed-store.ts";

// Loaded only if tracing is on: its libraries take some 10 MB of memory.

/** Exports spans of calls to a collector by OTLP over HTTP. */
export interface Tracing {
  /** Records an ended call: one span below the caller's, and one for each phase. */
  call(outcome: CallOutcome, use: ImageUse | undefined): void;
  /** Sends the remaining spans. */
  close(): Promise<void>;
}

// A collector that does not answer must not delay the runner's exit.
const CLOSE_TIMEOUT_MS = 3_000;

// Phases of a call, in order.
const PHASES = ["pull", "start", "run"] as const;

/**
 * @param endpoint the collector's base URL; without it, `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` or
 *   `OTEL_EXPORTER_OTLP_ENDPOINT`. The other `OTEL_` variables of the specification (headers, resource, service name)
 *   apply too.
 */
export function startTracing(endpoint: string | undefined, version: string): Tracing {
  const own = resourceFromAttributes({ "service.name": "xfn-runner", "service.version": version });
  // The operator's variables take precedence over this name.
  const resource = defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [envDetector] }));
  const exporter = new OTLPTraceExporter(
    endpoint === undefined ? {} : { url: `${endpoint.replace(/\/+$/, "")}/v1/traces` },
  );
  const provider = new TracerProvider({ resource, spanProcessors: [new BatchSpanProcessor({ exporter })] });
  const tracer = provider.getTracer("xfn-runner", version);
  const propagator = new W3CTraceContextPropagator();
  return {
    call(outcome, use) {
      const { image, step, path, error, phases } = outcome;
      const end = Date.now();
      const begin = end - outcome.totalMs;
      const attributes = {
        "rpc.system": "grpc",
        "rpc.service": path.split("/")[1] ?? "",
        "rpc.method": "RunFunction",
        "xfn.image": image,
        "xfn.code": error?.code ?? "OK",
        "xfn.input.bytes": outcome.inputBytes,
        "xfn.output.bytes": outcome.outputBytes,
        // Undefined attributes are omitted.
        "xfn.image.digest": use?.digest,
        "xfn.step": step,
      };
      const parent = propagator.extract(ROOT_CONTEXT, outcome.trace, FIELDS);
      const span = tracer.startSpan("RunFunction", { kind: SpanKind.SERVER, startTime: begin, attributes }, parent);
      if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: loggedMessage(error) });
      const inside = trace.setSpan(parent, span);
      let at = begin;
      const phase = (name: string, ms: number, within: Context): void => {
        tracer.startSpan(name, { startTime: at }, within).end(at + ms);
        at += ms;
      };
      if (outcome.queuedMs > 0) phase("queue", outcome.queuedMs, inside);
      for (const name of PHASES) {
        const ms = phases.get(name);
        if (ms !== undefined) phase(name, ms, inside);
      }
      span.end(end);
    },
    async close() {
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, CLOSE_TIMEOUT_MS);
      await Promise.race([provider.shutdown().catch(() => undefined), late]);
      clearTimeout(timer);
    },
  };
}

const FIELDS = {
  get: (carrier: CallOutcome["trace"], key: string): string | undefined =>
    key === "traceparent" ? carrier.traceparent : key === "tracestate" ? carrier.tracestate : undefined,
  keys: (carrier: CallOutcome["trace"]): string[] => Object.keys(carrier),
};
