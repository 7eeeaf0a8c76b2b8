import { isObject, type JsonObject, type JsonValue } from "@xfn/json";
import { printYaml } from "@xfn/json/document";
import { printJson } from "@xfn/json/text";
import type { StepResult } from "../outcome/step-result.ts";
import { printGoYaml } from "./print-go-yaml.ts";
import type { RenderResult } from "./render-types.ts";

/** Optional parts of the output. */
export interface PrintOptions {
  /** A `Result` document for each result (`-r`). */
  includeFunctionResults?: boolean;
  /** A `Context` document with the context after the last step (`-c`). */
  includeContext?: boolean;
  /** The XR with its spec and metadata, not only its name and status (`-x`). */
  includeFullXR?: boolean;
  /** `json`: one `List` of the same documents, as `kubectl get -o json` prints it. Default: `yaml`. */
  format?: "yaml" | "json";
}

/** The printed parts of a render. */
type PrintedResult = Pick<RenderResult, "composite" | "fullComposite" | "resources" | "results" | "events" | "context">;

/**
 * Prints a render like `crossplane render`: YAML documents, each after a `---`, or a JSON list. The XR, the composed
 * resources by entry name, then the results. Fields are in alphabetical order, as in other Kubernetes tools.
 */
export function printRender(result: PrintedResult, options: PrintOptions = {}): string {
  const documents: JsonObject[] = [
    options.includeFullXR ? result.fullComposite : result.composite,
    ...result.resources,
  ];
  if (options.includeFunctionResults) documents.push(...(result.events ?? result.results).map(resultDocument));
  if (options.includeContext && result.context) documents.push(contextDocument(result.context));
  if (options.format === "json") {
    const list = { apiVersion: "v1", kind: "List", items: documents.map(sorted) };
    return `${printJson(list, 2)}\n`;
  }
  const print = result.events === undefined ? printYaml : printGoYaml;
  return documents.map((document) => `---\n${print(sorted(document))}`).join("");
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

function contextDocument(fields: JsonObject): JsonObject {
  return { apiVersion: "render.crossplane.io/v1beta1", kind: "Context", fields };
}

function sorted<T extends JsonValue>(value: T): T;
function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, field]): [string, JsonValue] => [key, sorted(field)]);
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}
