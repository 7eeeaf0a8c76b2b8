import type { JsonObject } from "@xfn/json";
import { modelOf } from "./builtin-kinds.ts";

/** Accepts any value. */
const ANY: JsonObject = { "x-kubernetes-preserve-unknown-fields": true, nullable: true };

type Models = Readonly<Record<string, string>>;

/**
 * The structural OpenAPI schema of one of Kubernetes' own kinds, from the models of the official client. It has the
 * fields and their types. The models do not say which fields are required, or which texts are valid.
 *
 * @returns undefined for a kind that is not Kubernetes' own, or a version that the client does not know
 */
export async function builtinSchema(apiVersion: string, kind: string): Promise<JsonObject | undefined> {
  const model = modelOf(apiVersion, kind);
  if (model === undefined) return undefined;
  // 100 kB that few programs need.
  const { default: models } = await import("./generated/models.json", { with: { type: "json" } });
  const schema = schemaOfModel(models, model, new Set());
  if (schema === undefined) return undefined;
  const { apiVersion: _, kind: __, ...properties } = schema["properties"] as JsonObject;
  // The metadata of the object itself is checked like that of every object.
  return { type: "object", properties: { ...properties, metadata: { type: "object" } } };
}

/** @param within the models that contain this one: a model in itself is not checked further */
function schemaOfModel(models: Models, model: string, within: ReadonlySet<string>): JsonObject | undefined {
  if (within.has(model)) return ANY;
  const fields = Object.hasOwn(models, model) ? models[model] : undefined;
  if (fields === undefined) return undefined;
  const inside = new Set([...within, model]);
  const properties: JsonObject = {};
  for (const field of fields.split(" ").filter((text) => text !== "")) {
    const colon = field.lastIndexOf(":");
    properties[field.slice(0, colon)] = schemaOfType(models, field.slice(colon + 1), inside);
  }
  return { type: "object", nullable: true, properties };
}

/** @param type such as `string`, `V1PodSpec`, `[V1Container` (a list), `{string` (a map) and `*` (anything) */
function schemaOfType(models: Models, type: string, within: ReadonlySet<string>): JsonObject {
  const inner = type.slice(1);
  if (type.startsWith("[")) return { type: "array", nullable: true, items: schemaOfType(models, inner, within) };
  if (type.startsWith("{"))
    return { type: "object", nullable: true, additionalProperties: schemaOfType(models, inner, within) };
  if (type === "IntOrString") return { "x-kubernetes-int-or-string": true, nullable: true };
  if (/^[a-z]/.test(type)) return { type, nullable: true };
  return schemaOfModel(models, type, within) ?? ANY;
}
