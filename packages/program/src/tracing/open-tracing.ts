import { samplingOf } from "./sampling.ts";
import type { Tracing, TracingOptions } from "./tracing.ts";

/**
 * Opens the exporter if the setting or the environment enables traces. Its libraries take some 10 MB of memory.
 *
 * @throws {UsageError} for invalid variables
 */
export async function openTracing(options: TracingOptions): Promise<Tracing | undefined> {
  if (!tracingWanted(options.endpoint, process.env)) return undefined;
  // Tests run from the sources. Otherwise one file contains the module with its libraries, which have 20 MB.
  const name = import.meta.url.endsWith(".ts") ? "exporter.ts" : "exporter-bundle.js";
  const { startTracing } = (await import(new URL(name, import.meta.url).href)) as typeof import("./exporter.ts");
  return startTracing({ ...options, sampling: samplingOf(process.env) });
}

/** Whether the environment enables traces, as OpenTelemetry specifies. */
export function tracingWanted(endpoint: string | undefined, environment: NodeJS.ProcessEnv): boolean {
  const given = (name: string): boolean => (environment[name] ?? "") !== "";
  if (environment["OTEL_SDK_DISABLED"]?.toLowerCase() === "true" || environment["OTEL_TRACES_EXPORTER"] === "none")
    return false;
  return endpoint !== undefined || given("OTEL_EXPORTER_OTLP_ENDPOINT") || given("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
}
