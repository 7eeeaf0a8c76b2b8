import type { JsonObject, JsonValue } from "@xfn/functionio";
import { isObject } from "@xfn/functionio";
import { printYaml } from "@xfn/functionio/document";
import type { StepResult } from "../outcome/step-result.ts";
import type { RenderResult } from "./render.ts";

/** Optional parts of the output. */
export interface PrintOptions {
  /** A `Result` document for each result (`-r`). */
  includeFunctionResults?: boolean;
  /** The XR with its spec and metadata, not only its name and status (`-x`). */
  includeFullXR?: boolean;
}

/**
 * Prints a render like `crossplane render`: YAML documents, each after a `---`. The XR, the composed resources by entry
 * name, then the results. Fields are in alphabetical order, as in other Kubernetes tools.
 */
export function printRender(result: RenderResult, options: PrintOptions = {}): string {
  const documents: JsonObject[] = [
    options.includeFullXR ? result.fullComposite : result.composite,
    ...result.resources,
  ];
  if (options.includeFunctionResults) documents.push(...result.results.map(resultDocument));
  return documents.map((document) => `---\n${printYaml(sorted(document))}`).join("");
}

function resultDocument({ severity, message, step, reason }: StepResult): JsonObject {
  return {
    apiVersion: "render.crossplane.io/v1beta1",
    kind: "Result",
    severity,
    message,
    ...(step !== undefined && { step }),
    ...(reason !== undefined && { reason }),
  };
}

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, field]): [string, JsonValue] => [key, sorted(field)]);
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}
