import type { JsonObject } from "../json/json-value.ts";
import { printJson } from "../json/print-json.ts";
import { API_VERSION, type FunctionIO, KIND } from "./functionio.ts";

/**
 * A FunctionIO as one line of compact JSON (which is YAML, and what every language reads fast), without a newline. Known
 * fields come first: apiVersion, kind, config, observed, desired, results; then the unknown ones in their order.
 */
export function printFunctionIO(io: FunctionIO): string {
  const { apiVersion: _apiVersion, kind: _kind, config, observed, desired, results, ...unknown } = io;
  const ordered: JsonObject = { apiVersion: API_VERSION, kind: KIND };
  if (config !== undefined) ordered["config"] = config;
  ordered["observed"] = observed;
  if (desired !== undefined) ordered["desired"] = desired;
  if (results !== undefined) ordered["results"] = results;
  return printJson({ ...ordered, ...unknown });
}
