/** Whether the environment enables traces, as OpenTelemetry specifies. */
export function tracingWanted(endpoint: string | undefined, environment: NodeJS.ProcessEnv): boolean {
  const given = (name: string): boolean => (environment[name] ?? "") !== "";
  if (environment["OTEL_SDK_DISABLED"]?.toLowerCase() === "true" || environment["OTEL_TRACES_EXPORTER"] === "none")
    return false;
  return endpoint !== undefined || given("OTEL_EXPORTER_OTLP_ENDPOINT") || given("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
}
