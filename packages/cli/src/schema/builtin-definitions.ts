import type { JsonObject } from "@xfn/json";
import { type BuiltinModels, builtinModels, type ModelField } from "@xfn/kubernetes/builtin-kinds";
import { reference } from "./json-schema.ts";
import type { KindSchema } from "./kind-schemas.ts";

/** The schemas of Kubernetes' own kinds, and the definitions of the models that they refer to. */
export async function builtinDefinitions(): Promise<{ kinds: readonly KindSchema[]; definitions: JsonObject }> {
  const { kinds, models } = await builtinModels();
  const definitions: JsonObject = {};
  for (const [model, fields] of models)
    definitions[model] = { type: ["object", "null"], ...propertiesOf(fields, models) };
  return {
    kinds: kinds.map(({ apiVersion, kind, model }) => ({ apiVersion, kind, base: definitions[model] as JsonObject })),
    definitions,
  };
}

function propertiesOf(fields: readonly ModelField[], models: BuiltinModels["models"]): JsonObject {
  const properties = Object.fromEntries(
    fields.map((field) => [field.name, schemaOf(field.type, field.values, models)]),
  );
  return { properties, additionalProperties: false };
}

/** The schema of a type in the form of {@link ModelField}. A null stands for an absent value. */
function schemaOf(type: string, values: readonly string[], models: BuiltinModels["models"]): JsonObject {
  const inner = type.slice(1);
  if (type.startsWith("[")) return { type: ["array", "null"], items: schemaOf(inner, values, models) };
  if (type.startsWith("{")) return { type: ["object", "null"], additionalProperties: schemaOf(inner, values, models) };
  if (type === "IntOrString" || type === "Quantity") return { type: ["number", "string", "null"] };
  if (values.length > 0) return { enum: [...values, null] };
  if (/^[a-z]/.test(type)) return { type: [type, "null"] };
  return models.has(type) ? reference(type) : {};
}
