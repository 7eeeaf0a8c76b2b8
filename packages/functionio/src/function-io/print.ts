import { isObject, type JsonObject, kindOf, printJson } from "@xfn/json/sdk";
import { API_VERSION, type FunctionIO, KIND } from "./functionio.ts";
import { FunctionIOError } from "./functionio-error.ts";

/**
 * Prints a FunctionIO as one line of compact JSON without a newline. JSON is YAML too, and every language parses it
 * fast. Known fields come first: apiVersion, kind, config, observed, desired, results. Unknown fields follow in their
 * order.
 *
 * @throws {FunctionIOError} for another value, such as what a handler returns
 */
export function printFunctionIO(io: FunctionIO): string {
  if (!isObject(io)) {
    const message = `expected a FunctionIO, found ${kindOf(io)}; a handler becomes a function by compose(handler)`;
    throw new FunctionIOError("Invalid", [{ path: "", message }]);
  }
  const { apiVersion: _apiVersion, kind: _kind, config, observed, desired, results, ...unknown } = io;
  const ordered: JsonObject = { apiVersion: API_VERSION, kind: KIND };
  if (config !== undefined) ordered["config"] = config;
  ordered["observed"] = observed;
  if (desired !== undefined) ordered["desired"] = desired;
  if (results !== undefined) ordered["results"] = results;
  return printJson({ ...ordered, ...unknown });
}
