import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { ALL } from "./sampling.ts";
import type { OpenSpan, SpanStart, Tracing, TracingOptions } from "./tracing.ts";

// Loaded only if tracing is on: see open-tracing.ts.

// A collector that does not answer must not delay the program's exit.
const CLOSE_TIMEOUT_MS = 3_000;

/** Names of objects have at most 253 characters. */
const MAX_ATTRIBUTE_CHARACTERS = 256;

const KINDS = { client: SpanKind.CLIENT, server: SpanKind.SERVER } as const;

/** @param processor default: sends batches by OTLP over HTTP */
export function startTracing(
  { endpoint, service, version, sampling = ALL }: TracingOptions,
  processor: SpanProcessor = new BatchSpanProcessor({ exporter: exporterTo(endpoint) }),
): Tracing {
  const own = resourceFromAttributes({ "service.name": service, "service.version": version });
  // The operator's variables take precedence over this name.
  const resource = defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [envDetector] }));
  const spanLimits = { attributeValueLengthLimit: MAX_ATTRIBUTE_CHARACTERS };
  const root = new TraceIdRatioBasedSampler(sampling.ratio);
  const sampler = sampling.isParentBased ? new ParentBasedSampler({ root }) : root;
  const provider = new TracerProvider({ resource, sampler, spanLimits, spanProcessors: [processor] });
  const tracer = provider.getTracer(service, version);
  const propagator = new W3CTraceContextPropagator();
  return {
    start(name, { parent, attributes = {}, kind, at = Date.now() }: SpanStart): OpenSpan {
      const above = propagator.extract(ROOT_CONTEXT, parent, GETTER);
      const of = kind === undefined ? SpanKind.INTERNAL : KINDS[kind];
      const span = tracer.startSpan(name, { kind: of, startTime: at, attributes }, above);
      const headers: Record<string, string> = {};
      propagator.inject(trace.setSpan(above, span), headers, SETTER);
      return {
        trace: headers,
        end(error, end) {
          if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
          span.end(end);
        },
      };
    },
    async close() {
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, CLOSE_TIMEOUT_MS);
      await Promise.race([provider.shutdown().catch(() => undefined), late]);
      clearTimeout(timer);
    },
  };
}

function exporterTo(endpoint: string | undefined): OTLPTraceExporter {
  return new OTLPTraceExporter(endpoint === undefined ? {} : { url: `${endpoint.replace(/\/+$/, "")}/v1/traces` });
}

const GETTER = {
  get: (carrier: SpanStart["parent"], key: string): string | undefined =>
    key === "traceparent" ? carrier.traceparent : key === "tracestate" ? carrier.tracestate : undefined,
  keys: (carrier: SpanStart["parent"]): string[] => Object.keys(carrier),
};

const SETTER = {
  set: (carrier: Record<string, string>, key: string, value: string): void => {
    carrier[key] = value;
  },
};
