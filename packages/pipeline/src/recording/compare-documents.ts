import { formatPath, isObject, type JsonObject, type JsonPath, type JsonValue } from "@xfn/json";
import { printJson } from "@xfn/json/text";
import { Hidden, type Masked, maskedAt } from "../trace/masked.ts";
import { maskPlaces } from "../trace/secret-places.ts";
import { SecretValues } from "../trace/secret-values.ts";
import { documentNames } from "./document-names.ts";
import type { SecretBindings } from "./secret-bindings.ts";
import { isMask } from "./secret-masks.ts";

/** A message with more lines hides its subject. */
const MAX_DIFFERENCES = 20;
const MAX_VALUE = 200;

const HIDDEN = "(hidden)";
const NOTHING = "nothing";

/**
 * Compares a document with the recorded one. A mask matches any value, but always the same one. The times of conditions
 * are not compared.
 *
 * @param actual the document with its secrets
 * @returns a line for each field that differs, with both values. Secrets are hidden
 */
export function compareDocuments(
  recorded: JsonObject,
  actual: JsonObject,
  bindings: SecretBindings,
  publicNames: readonly string[] = [],
): string[] {
  const comparison = new Comparison(actual, bindings, publicNames);
  comparison.compare(recorded, actual, []);
  const { lines } = comparison;
  if (lines.length <= MAX_DIFFERENCES) return lines;
  return [...lines.slice(0, MAX_DIFFERENCES), `and ${lines.length - MAX_DIFFERENCES} more`];
}

class Comparison {
  readonly lines: string[] = [];
  readonly #bindings: SecretBindings;
  readonly #places: Masked;
  readonly #secrets: SecretValues;

  constructor(actual: JsonObject, bindings: SecretBindings, publicNames: readonly string[]) {
    this.#bindings = bindings;
    this.#secrets = new SecretValues(documentNames([actual]));
    for (const value of bindings.values) if (typeof value === "string") this.#secrets.add(value, false);
    const onHidden = (text: string, base64: boolean): void => this.#secrets.add(text, base64);
    this.#places = maskPlaces(actual, { onHidden, publicNames: new Set(publicNames) });
  }

  compare(recorded: JsonValue | undefined, actual: JsonValue | undefined, path: JsonPath): void {
    if (isMask(recorded) && actual !== undefined && this.#bindings.agrees(recorded, actual)) return;
    if (isConditionTime(path) && typeof recorded === "string" && typeof actual === "string") return;
    if (Array.isArray(recorded) && Array.isArray(actual)) {
      for (let at = 0; at < Math.max(recorded.length, actual.length); at++)
        this.compare(recorded[at], actual[at], [...path, at]);
    } else if (isObject(recorded) && isObject(actual)) {
      for (const key of [...new Set([...Object.keys(recorded), ...Object.keys(actual)])].toSorted())
        this.compare(own(recorded, key), own(actual, key), [...path, key]);
    } else if (!isSame(recorded, actual)) {
      // The position alone does not show that the value is a secret, but the recorded run did.
      const now = isMask(recorded) && actual !== undefined ? HIDDEN : this.#shown(actual, path);
      this.lines.push(`${formatPath(path)}: recorded ${shown(recorded)}, now ${now}`);
    }
  }

  #shown(value: JsonValue | undefined, path: JsonPath): string {
    if (value === undefined) return NOTHING;
    const masked = maskedAt(this.#places, path);
    return masked === undefined ? HIDDEN : shortened(printJson(visible(this.#secrets.mask(masked))));
  }
}

/** Each run writes its own time into the conditions that it sets. */
function isConditionTime(path: JsonPath): boolean {
  return path.at(-1) === "lastTransitionTime" && path.at(-3) === "conditions" && path.at(-4) === "status";
}

function own(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Compares two scalars, or values of two kinds. */
function isSame(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === undefined || b === undefined || typeof a === "object" || typeof b === "object") return a === b;
  return a === b || printJson(a) === printJson(b);
}

function visible(masked: Masked): JsonValue {
  if (masked instanceof Hidden) return HIDDEN;
  if (Array.isArray(masked)) return masked.map(visible);
  return masked instanceof Map ? Object.fromEntries([...masked].map(([key, value]) => [key, visible(value)])) : masked;
}

/** A recorded value, which has masks in place of secrets. */
function shown(value: JsonValue | undefined): string {
  return value === undefined ? NOTHING : shortened(printJson(value));
}

function shortened(text: string): string {
  return text.length <= MAX_VALUE ? text : `${text.slice(0, MAX_VALUE)}...`;
}
