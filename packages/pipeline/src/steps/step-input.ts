import { API_VERSION, type Desired, type JsonObject, KIND, type Observed, type Result } from "@xfn/functionio";
import { printJson } from "@xfn/functionio/document";

/** The part of the input that differs between steps. */
export interface StepState {
  config: JsonObject | undefined;
  desired: Desired;
  results: Result[];
}

/**
 * Encodes the FunctionIO of each step. Observed state is by far the largest part and the same for every step, so it is
 * printed once.
 */
export function stepInputs(observed: Observed): (state: StepState) => Uint8Array {
  const encoder = new TextEncoder();
  const observedBytes = encoder.encode(printJson(observed));
  return ({ config, desired, results }) => {
    const head = `{"apiVersion":"${API_VERSION}","kind":"${KIND}",${config ? `"config":${printJson(config)},` : ""}"observed":`;
    const tail = `,"desired":${printJson(desired)},"results":${printJson(results)}}`;
    return concat([encoder.encode(head), observedBytes, encoder.encode(tail)]);
  };
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
