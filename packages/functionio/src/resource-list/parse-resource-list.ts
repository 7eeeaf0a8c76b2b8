import type { ReadOptions } from "@xfn/json/document";
import { refuse } from "../function-io/check-functionio.ts";
import { checkItemLimits, type FunctionIOLimits } from "../function-io/entries.ts";
import { fatalResults, type OutputOptions } from "../function-io/fatal-output.ts";
import { onlyDocument } from "../function-io/parse.ts";
import { isFatalSeverity, RESOURCE_LIST_KIND, type ResourceList } from "./resource-list.ts";
import { validateResourceList } from "./validate-resource-list.ts";

/** Options of {@link parseResourceList}. */
export interface ParseResourceListOptions extends ReadOptions, OutputOptions {
  limits?: FunctionIOLimits;
}

/**
 * Parses and validates one ResourceList in JSON or YAML, of Crossplane's group or of `config.kubernetes.io/v1`. Unknown
 * fields survive.
 *
 * @throws {FunctionIOError} with all issues, their field paths, lines and columns
 */
export function parseResourceList(text: string | Uint8Array, options: ParseResourceListOptions = {}): ResourceList {
  const document = onlyDocument(text, options, RESOURCE_LIST_KIND);
  if (options.limits !== undefined) checkItemLimits(document.value, options.limits, options.source);
  const findings = validateResourceList(document.value);
  const list = document.value as ResourceList;
  if (findings.length === 0) return list;
  const results = options.isOutput === true ? fatalResults(list, findings, isFatalSeverity) : undefined;
  if (results === undefined) throw refuse(findings, document);
  return { apiVersion: list.apiVersion, kind: RESOURCE_LIST_KIND, items: [], results };
}
