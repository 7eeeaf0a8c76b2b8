import type { JsonValue, KubernetesObject } from "@xfn/json";
import type { EnvironmentLabelSelector, EnvironmentSelector } from "../api/template.ts";
import { FieldPathError, getFieldPath, isNotFound } from "../field-path/field-path.ts";
import { printed } from "../transform/text/compile-format.ts";
import { failureOf, TransformError } from "../transform/text/transform-error.ts";
import { compareUtf8 } from "../values/go-json.ts";
import { asDouble, goKind } from "../values/go-value.ts";
import { EnvironmentError } from "./environment-error.ts";

/**
 * Selects EnvironmentConfigs, and returns their names in order. By default there may be none (`minMatch`).
 *
 * @param at the path of the selector in the Composition, for messages
 * @throws {EnvironmentError}
 */
export function selectConfigs(
  selector: EnvironmentSelector,
  composite: KubernetesObject,
  configs: readonly KubernetesObject[],
  at: string,
): string[] {
  const labels = wantedLabels(selector.matchLabels ?? [], composite, at);
  const matching = configs.filter((config) => hasLabels(config, labels));
  const minMatch = Number(selector.minMatch ?? 0);
  if (matching.length < minMatch) {
    throw new EnvironmentError(
      "TooFew",
      `${at}: ${matching.length} EnvironmentConfigs match; minMatch wants at least ${minMatch}`,
    );
  }
  if (matching.length === 0) return [];
  if (selector.mode !== "Multiple") {
    if (matching.length === 1) return names(matching);
    throw new EnvironmentError(
      "Ambiguous",
      `${at}: ${matching.length} EnvironmentConfigs match, but mode Single takes one; add labels, or use mode Multiple`,
    );
  }
  const sorted = sort(matching, selector.sortByFieldPath || "metadata.name", at);
  const { maxMatch } = selector;
  return names(maxMatch === undefined || maxMatch === null ? sorted : sorted.slice(0, Number(maxMatch)));
}

/** Whether a selector matches an EnvironmentConfig. A selector whose labels the XR does not determine matches none. */
export function matchesConfig(
  { matchLabels }: EnvironmentSelector,
  composite: KubernetesObject,
  config: KubernetesObject,
): boolean {
  try {
    return hasLabels(config, wantedLabels(matchLabels, composite, ""));
  } catch (error) {
    if (error instanceof EnvironmentError) return false;
    throw error;
  }
}

/** Without labels, a selector matches nothing. */
function hasLabels(config: KubernetesObject, labels: ReadonlyMap<string, string>): boolean {
  return labels.size > 0 && [...labels].every(([key, value]) => labelOf(config, key) === value);
}

function names(configs: readonly KubernetesObject[]): string[] {
  return configs.map((config) => config.metadata?.name ?? "");
}

function labelOf(config: KubernetesObject, key: string): JsonValue | undefined {
  const labels = config.metadata?.labels ?? {};
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

function wantedLabels(
  selectors: readonly EnvironmentLabelSelector[],
  composite: KubernetesObject,
  at: string,
): Map<string, string> {
  const wanted = new Map<string, string>();
  for (const [index, selector] of selectors.entries()) {
    const where = `${at}.selector.matchLabels[${index}]`;
    if (selector.type === "Value") {
      const { value } = selector;
      if (value === undefined) throw new EnvironmentError("Invalid", `${where}: value is missing`);
      wanted.set(selector.key, value);
    } else {
      const value = labelValue(selector, composite, where);
      if (value !== undefined) wanted.set(selector.key, value);
    }
  }
  return wanted;
}

/** The value of a label. Undefined if the XR has no such field, and the field is optional. */
function labelValue(
  selector: EnvironmentLabelSelector,
  composite: KubernetesObject,
  where: string,
): string | undefined {
  const path = selector.valueFromFieldPath;
  if (path === undefined) throw new EnvironmentError("Invalid", `${where}: valueFromFieldPath is missing`);
  try {
    return printed(getFieldPath(composite, path), failureOf(undefined, "label"));
  } catch (error) {
    if (!(error instanceof FieldPathError) && !(error instanceof TransformError)) throw error;
    if (isNotFound(error) && selector.fromFieldPathPolicy === "Optional") return undefined;
    throw new EnvironmentError(isNotFound(error) ? "NotFound" : "Invalid", `${where}: ${error.message}`, {
      cause: error,
    });
  }
}

function sort(configs: readonly KubernetesObject[], path: string, at: string): KubernetesObject[] {
  const sortable = configs.map((config) => ({ config, value: sortValue(config, path, at) }));
  const kinds = new Set(sortable.map(({ value }) => goKind(value)));
  if (kinds.size > 1) {
    throw new EnvironmentError(
      "CannotSort",
      `${at}: ${path} is of different types (${[...kinds].join(", ")}) in the EnvironmentConfigs that match`,
    );
  }
  return sortable.toSorted((a, b) => compare(a.value, b.value)).map(({ config }) => config);
}

function sortValue(config: KubernetesObject, path: string, at: string): string | number | bigint {
  const title = `${at}: EnvironmentConfig ${JSON.stringify(config.metadata?.name ?? "")}`;
  try {
    const value = getFieldPath(config, path);
    if (typeof value === "string" || typeof value === "number" || typeof value === "bigint") return value;
    throw new EnvironmentError("CannotSort", `${title}: ${path} is neither a string nor a number`);
  } catch (error) {
    if (!(error instanceof FieldPathError)) throw error;
    throw new EnvironmentError("CannotSort", `${title}: ${error.message}`, { cause: error });
  }
}

function compare(a: string | number | bigint, b: string | number | bigint): number {
  // Both are of one kind.
  if (typeof a === "string" || typeof b === "string") return compareUtf8(String(a), String(b));
  if (typeof a === "bigint" && typeof b === "bigint") return a < b ? -1 : a > b ? 1 : 0;
  return asDouble(a) - asDouble(b);
}
