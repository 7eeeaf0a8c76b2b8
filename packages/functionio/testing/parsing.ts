// Helpers for the tests of FunctionIO's parser.

import { FunctionIOError } from "../src/function-io/functionio-error.ts";
import { type ParseOptions, parseFunctionIO } from "../src/function-io/parse.ts";

/** The first lines of a FunctionIO in YAML. */
export const HEAD = "apiVersion: apiextensions.crossplane.io/v1alpha1\nkind: FunctionIO\n";

/** The error of a text. @throws Error if the parser accepts it */
export function failure(text: string | Uint8Array, options?: ParseOptions): FunctionIOError {
  try {
    parseFunctionIO(text, options);
  } catch (error) {
    if (error instanceof FunctionIOError) return error;
    throw error;
  }
  throw new Error("was accepted");
}

/** The same FunctionIO as YAML and as JSON: what is refused in one form must be refused in the other. */
export function both(value: unknown): [string, string] {
  const json = JSON.stringify({
    apiVersion: "apiextensions.crossplane.io/v1alpha1",
    kind: "FunctionIO",
    ...Object(value),
  });
  return [json, `---\n${json}`];
}
