import { isObject, type JsonObject, type JsonValue } from "@xfn/json";
import type { LiveObject } from "../client/client.ts";
import type { Informer } from "../informer/informer.ts";
import { ReferenceResolutionError } from "./reference-error.ts";

/** The path of a field: keys of objects and indexes of lists, and last a key. */
export type ReferencePath = readonly [...(string | number)[], string];

/**
 * A field that can take its value from another object. Instead of the field `network`, authors write `networkRef` with
 * the name of the other object, or `networkSelector` to select it.
 */
export interface ReferenceField {
  /** The path of the value, such as `["spec", "forProvider", "network"]`. */
  readonly path: ReferencePath;
  /** An informer of the kind to which the field refers. */
  readonly target: Pick<Informer, "kind" | "cache">;
  /**
   * Returns the value from the other object; undefined if it has none yet. Default: its external name, the annotation
   * `crossplane.io/external-name`.
   */
  readonly value?: (target: LiveObject) => JsonValue | undefined;
}

/** The parsed value of a selector. */
export interface ReferenceSelector {
  readonly matchesController: boolean;
  readonly labels: ReadonlyMap<string, string>;
}

/** The object at the parent of a path; undefined if it is missing. */
export function parentOf(object: JsonObject, path: ReferencePath): JsonObject | undefined {
  let found: JsonValue | undefined = object;
  for (const step of path.slice(0, -1)) {
    if (Array.isArray(found)) found = typeof step === "number" ? found[step] : undefined;
    else found = isObject(found) ? found[String(step)] : undefined;
  }
  return found !== undefined && isObject(found) ? found : undefined;
}

/** The key of a field, of its reference or of its selector in their parent. */
export function keyOf(path: ReferencePath, suffix: "" | "Ref" | "Selector" = ""): string {
  return `${path.at(-1)}${suffix}`;
}

/** A path as authors write it: `spec.forProvider.networkRef`. */
export function pathText(path: ReferencePath, suffix: "" | "Ref" | "Selector" = ""): string {
  return `${path.map((step, index) => (typeof step === "number" ? `[${step}]` : index === 0 ? step : `.${step}`)).join("")}${suffix}`;
}

/** @throws {ReferenceResolutionError} InvalidReference */
export function readSelector(written: JsonValue, field: string): ReferenceSelector {
  const invalid = (problem: string): Error => new ReferenceResolutionError("InvalidReference", `${field}: ${problem}`);
  if (!isObject(written)) throw invalid("expected an object with matchControllerRef or matchLabels");
  // Crossplane's providers have matchControllerRef, its compositions matchComposite.
  const flags = [written["matchControllerRef"], written["matchComposite"]];
  if (flags.some((flag) => flag !== undefined && typeof flag !== "boolean"))
    throw invalid("matchControllerRef must be true or false");
  const matchLabels = written["matchLabels"] ?? {};
  if (!isObject(matchLabels)) throw invalid("matchLabels must be an object");
  const labels = new Map<string, string>();
  for (const [label, value] of Object.entries(matchLabels)) {
    if (typeof value !== "string") throw invalid(`the label ${label} must be a string`);
    labels.set(label, value);
  }
  const matchesController = flags.includes(true);
  // It would match every object of the kind, of all users.
  if (!matchesController && labels.size === 0)
    throw invalid("an empty selector matches everything; set matchControllerRef: true, or matchLabels");
  return { matchesController, labels };
}
