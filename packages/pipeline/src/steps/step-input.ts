import { API_VERSION, type Desired, type DesiredComposite, KIND, type Observed, type Result } from "@xfn/functionio";
import type { JsonObject } from "@xfn/json";
import { printJson } from "@xfn/json/text";

/** The part of the input that differs between steps. */
export interface StepState {
  config: JsonObject | undefined;
  /** Data that the steps of `mode: Pipeline` share. */
  context: JsonObject | undefined;
  desired: Desired;
  /** The XR in desired state. It replaces the one in `desired`. */
  composite: DesiredComposite | undefined;
  results: Result[];
}

/**
 * Encodes the FunctionIO of each step. Prints observed state once, because it is by far the largest part and the same
 * for every step. Also prints the XR once, unless a function changes it.
 */
export function stepInputs(observed: Observed): (state: StepState) => Uint8Array {
  const encoder = new TextEncoder();
  const observedBytes = encoder.encode(printJson(observed));
  let printed: { composite: DesiredComposite; text: string } | undefined;
  const compositeText = (composite: DesiredComposite): string => {
    if (printed?.composite !== composite) printed = { composite, text: printJson(composite) };
    return printed.text;
  };
  return ({ config, context, desired, composite, results }) => {
    const { composite: _, ...rest } = desired;
    const fields = [
      ...(composite === undefined ? [] : [`"composite":${compositeText(composite)}`]),
      ...Object.entries(rest).flatMap(([key, value]) =>
        value === undefined ? [] : [`${JSON.stringify(key)}:${printJson(value)}`],
      ),
    ];
    const head = `{"apiVersion":"${API_VERSION}","kind":"${KIND}",${optional("config", config)}${optional("context", context)}"observed":`;
    const tail = `,"desired":{${fields.join(",")}},"results":${printJson(results)}}`;
    return concat([encoder.encode(head), observedBytes, encoder.encode(tail)]);
  };
}

function optional(field: string, value: JsonObject | undefined): string {
  return value === undefined ? "" : `"${field}":${printJson(value)},`;
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
