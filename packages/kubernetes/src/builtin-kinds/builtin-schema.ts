import type { JsonObject } from "@xfn/json";
import { type BuiltinKind, kindsAmong, modelOf } from "./builtin-kinds.ts";

/** Accepts any value. */
const ANY: JsonObject = { "x-kubernetes-preserve-unknown-fields": true, nullable: true };

type Models = Readonly<Record<string, string>>;

/** One property, as the official client declares it. */
export interface ModelField {
  readonly name: string;
  readonly required: boolean;
  /** Such as `string`, `V1PodSpec`, `[V1Container` (a list), `{string` (a map), `Quantity` and `*` (anything). */
  readonly type: string;
  /** The values that Kubernetes accepts, if it has a list of them. */
  readonly values: readonly string[];
}

/** Kubernetes' own kinds with the models that they need, by name. */
export interface BuiltinModels {
  readonly kinds: readonly BuiltinKind[];
  readonly models: ReadonlyMap<string, readonly ModelField[]>;
}

/** All of Kubernetes' own kinds, for generators. */
export async function builtinModels(): Promise<BuiltinModels> {
  const all = await loadModels();
  const { default: values } = await import("./generated/values.json", { with: { type: "json" } });
  const kinds = kindsAmong(Object.keys(all));
  const models = new Map<string, readonly ModelField[]>();
  const queue = kinds.map(({ model }) => model);
  for (let model = queue.pop(); model !== undefined; model = queue.pop()) {
    if (models.has(model)) continue;
    const fields = fieldsOf(all, model).map((field) => ({
      ...field,
      values: (values as Readonly<Record<string, readonly string[]>>)[`${model}.${field.name}`] ?? [],
    }));
    models.set(model, fields);
    queue.push(...fields.map(({ type }) => type.replace(/^[[{]+/, "")).filter((type) => Object.hasOwn(all, type)));
  }
  return { kinds, models };
}

/** 100 kB that few programs need. */
async function loadModels(): Promise<Models> {
  const { default: models } = await import("./generated/models.json", { with: { type: "json" } });
  return models;
}

function fieldsOf(models: Models, model: string): Omit<ModelField, "values">[] {
  return (models[model] ?? "")
    .split(" ")
    .filter((text) => text !== "")
    .map((text) => {
      const colon = text.lastIndexOf(":");
      const name = text.slice(0, colon);
      const required = name.endsWith("!");
      return { name: required ? name.slice(0, -1) : name, required, type: text.slice(colon + 1) };
    });
}

/**
 * The structural OpenAPI schema of one of Kubernetes' own kinds, from the models of the official client. It has the
 * fields and their types. A newer API server can require fewer fields, and accept more texts: those are not in it.
 *
 * @returns undefined for a kind that is not Kubernetes' own, or a version that the client does not know
 */
export async function builtinSchema(apiVersion: string, kind: string): Promise<JsonObject | undefined> {
  const model = modelOf(apiVersion, kind);
  if (model === undefined) return undefined;
  const models = await loadModels();
  const schema = schemaOfModel(models, model, new Set());
  if (schema === undefined) return undefined;
  const { apiVersion: _, kind: __, ...properties } = schema["properties"] as JsonObject;
  // The metadata of the object itself is checked like that of every object.
  return { type: "object", properties: { ...properties, metadata: { type: "object" } } };
}

/** @param within the models that contain this one: a model in itself is not checked further */
function schemaOfModel(models: Models, model: string, within: ReadonlySet<string>): JsonObject | undefined {
  if (within.has(model)) return ANY;
  if (!Object.hasOwn(models, model)) return undefined;
  const inside = new Set([...within, model]);
  const properties: JsonObject = {};
  for (const { name, type } of fieldsOf(models, model)) properties[name] = schemaOfType(models, type, inside);
  return { type: "object", nullable: true, properties };
}

/** @param type see {@link ModelField} */
function schemaOfType(models: Models, type: string, within: ReadonlySet<string>): JsonObject {
  const inner = type.slice(1);
  if (type.startsWith("[")) return { type: "array", nullable: true, items: schemaOfType(models, inner, within) };
  if (type.startsWith("{"))
    return { type: "object", nullable: true, additionalProperties: schemaOfType(models, inner, within) };
  if (type === "IntOrString") return { "x-kubernetes-int-or-string": true, nullable: true };
  if (/^[a-z]/.test(type)) return { type, nullable: true };
  return schemaOfModel(models, type, within) ?? ANY;
}
