import { type JsonObject, type JsonValue, type KubernetesObject, newObject, objectsAt, setField } from "@xfn/json";
import type { Composition } from "../api/composition.ts";
import type { EnvironmentConfiguration } from "../api/template.ts";
import { FieldPathError } from "../field-path/field-path.ts";
import { documentValue } from "../field-path/value.ts";
import { asDouble, Float64, float64, type GoValue } from "../values/go-value.ts";
import { isObject } from "../values/json.ts";
import { textOf } from "../values/object-fields.ts";
import { EnvironmentError } from "./environment-error.ts";
import { matchesConfig, selectConfigs } from "./select-configs.ts";

/** The type of the environment, as in Crossplane. Patches can read it. */
const API_VERSION = "internal.crossplane.io/v1alpha1";
const KIND = "Environment";

/**
 * Merges the environment of an XR: `defaultData`, then the `data` of the selected EnvironmentConfigs in order. Later
 * ones win.
 *
 * The `spec.environmentConfigRefs` of an XR win over the selection, unless the policy says `resolve: Always`. With
 * `resolution: Optional`, missing EnvironmentConfigs are skipped.
 *
 * Numbers are float64, as Go's `json.Unmarshal` reads data. The first patch to the environment copies it as a document,
 * in which whole numbers are integers again, as in Crossplane.
 *
 * @param configs the existing EnvironmentConfigs; other objects are ignored
 * @returns undefined if the Composition has no `environment`, so that patches from and to it do nothing
 * @throws {EnvironmentError}
 */
export function selectEnvironment(
  composition: Composition,
  composite: KubernetesObject,
  configs: readonly KubernetesObject[],
): JsonObject | undefined {
  const names = selectEnvironmentConfigs(composition, composite, configs);
  return names && mergeEnvironment(composition, names, configs);
}

/**
 * The names of the EnvironmentConfigs that a Composition selects for an XR, in order. Some may not exist.
 *
 * @param configs the existing EnvironmentConfigs; other objects are ignored
 * @returns undefined if the Composition has no `environment`
 * @throws {EnvironmentError}
 */
export function selectEnvironmentConfigs(
  composition: Composition,
  composite: KubernetesObject,
  configs: readonly KubernetesObject[],
): string[] | undefined {
  const { environment } = composition.spec;
  return environment && configNames(environment, composite, configs.filter(isConfig));
}

/**
 * Merges the environment of a Composition: `defaultData`, then the `data` of the EnvironmentConfigs with these names.
 *
 * @throws {EnvironmentError} `NotFound` if one does not exist, unless the Composition has `resolution: Optional`
 */
export function mergeEnvironment(
  composition: Composition,
  names: readonly string[],
  configs: readonly KubernetesObject[],
): JsonObject {
  const { environment = {} } = composition.spec;
  const known = configs.filter(isConfig);
  let merged: JsonObject = newObject();
  if (isObject(environment.defaultData)) merged = mergedWith(merged, environment.defaultData, "defaultData");
  for (const name of names) {
    const config = known.find((one) => one.metadata?.name === name);
    const title = `the EnvironmentConfig ${JSON.stringify(name)}`;
    if (config === undefined) {
      if (environment.policy?.resolution === "Optional") continue;
      throw new EnvironmentError(
        "NotFound",
        `${title} does not exist; create it, or set spec.environment.policy.resolution to Optional in the Composition`,
      );
    }
    const data = config["data"] ?? null;
    if (data === null) continue;
    if (!isObject(data)) throw new EnvironmentError("Invalid", `${title}: its data is not an object`);
    merged = mergedWith(merged, data, title);
  }
  merged = withFloats(merged) as JsonObject;
  merged["apiVersion"] = API_VERSION;
  merged["kind"] = KIND;
  return merged;
}

/**
 * Whether the creation, change or deletion of an EnvironmentConfig can change the environment of an XR: the Composition
 * or the XR names it, or a selector matches it.
 */
export function concernsEnvironment(
  composition: Composition,
  composite: KubernetesObject,
  config: KubernetesObject,
): boolean {
  const { environment } = composition.spec;
  if (environment === undefined) return false;
  const named = namedByComposite(composite);
  const name = config.metadata?.name ?? "";
  if (named.includes(name)) return true;
  if (named.length > 0 && environment.policy?.resolve !== "Always") return false;
  return (environment.environmentConfigs ?? []).some(({ type, ref, selector }) =>
    type === "Selector" ? matchesConfig(selector ?? { matchLabels: [] }, composite, config) : ref?.name === name,
  );
}

/** The names of the EnvironmentConfigs that an XR can use; undefined if a selector selects among all. */
export function namedEnvironmentConfigs(composition: Composition, composite: KubernetesObject): string[] | undefined {
  const { environment } = composition.spec;
  if (environment === undefined) return [];
  const named = namedByComposite(composite);
  const sources = environment.environmentConfigs ?? [];
  const isRecorded = named.length > 0 && environment.policy?.resolve !== "Always";
  if (isRecorded || sources.length === 0) return named;
  return sources.some(({ type }) => type === "Selector") ? undefined : sources.flatMap(({ ref }) => ref?.name ?? []);
}

function isConfig({ kind }: KubernetesObject): boolean {
  return kind === "EnvironmentConfig";
}

function namedByComposite(composite: KubernetesObject): string[] {
  return objectsAt(composite, "spec", "environmentConfigRefs").map((ref) => textOf(ref, "name"));
}

function configNames(
  environment: EnvironmentConfiguration,
  composite: KubernetesObject,
  configs: readonly KubernetesObject[],
): string[] {
  const named = namedByComposite(composite);
  if (named.length > 0 && environment.policy?.resolve !== "Always") return named;
  const sources = environment.environmentConfigs ?? [];
  if (sources.length === 0) return named;
  return sources.flatMap((source, index) => {
    const at = `spec.environment.environmentConfigs[${index}]`;
    if (source.type === "Selector")
      return selectConfigs(source.selector ?? { matchLabels: [] }, composite, configs, at);
    const name = source.ref?.name;
    if (name === undefined) throw new EnvironmentError("Invalid", `${at}: ref.name is missing`);
    return [name];
  });
}

/** Merges a copy of the data: patches may change the environment, but not the EnvironmentConfig. */
function mergedWith(merged: JsonObject, data: JsonObject, title: string): JsonObject {
  try {
    return merge(merged, documentValue(data) as JsonObject);
  } catch (error) {
    if (!(error instanceof FieldPathError)) throw error;
    throw new EnvironmentError("Invalid", `${title}: ${error.message}`, { cause: error });
  }
}

/** Merges objects deeply, and replaces other values. Both have bounded depth. */
function merge(into: JsonObject, data: JsonObject): JsonObject {
  for (const [key, value] of Object.entries(data)) {
    const there = Object.hasOwn(into, key) ? into[key] : undefined;
    setField(into, key, isObject(there) && isObject(value) ? merge(there, value) : value);
  }
  return into;
}

/** Converts each number to a float64. The data has bounded depth. */
function withFloats(value: GoValue): GoValue {
  if (typeof value === "number" || typeof value === "bigint" || value instanceof Float64)
    return float64(asDouble(value));
  // Lists and objects contain Float64s for numbers, which the type JsonValue does not express.
  if (Array.isArray(value)) return value.map((item) => withFloats(item) as JsonValue);
  if (!isObject(value)) return value;
  const object = newObject();
  for (const [key, field] of Object.entries(value)) setField(object, key, withFloats(field) as JsonValue);
  return object;
}
