import { expect, test } from "vitest";
import { tracingWanted } from "./open-tracing.ts";

test("sends traces if an endpoint is set and no variable disables them", () => {
  expect(tracingWanted(undefined, {})).toBe(false);
  expect(tracingWanted("http://x", {})).toBe(true);
  expect(tracingWanted(undefined, { OTEL_EXPORTER_OTLP_ENDPOINT: "http://x" })).toBe(true);
  expect(tracingWanted(undefined, { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://x" })).toBe(true);
  expect(tracingWanted(undefined, { OTEL_EXPORTER_OTLP_ENDPOINT: "" })).toBe(false);
  expect(tracingWanted("http://x", { OTEL_SDK_DISABLED: "TRUE" })).toBe(false);
  expect(tracingWanted("http://x", { OTEL_TRACES_EXPORTER: "none" })).toBe(false);
});
