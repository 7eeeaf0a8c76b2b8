import type { JsonObject } from "@xfn/json";
import { modelOf } from "./builtin-kinds.ts";

/** One field of a model of the official client. */
interface Attribute {
  readonly baseName: string;
  /** Such as `string`, `V1PodSpec`, `Array<V1Container>` and `{ [key: string]: string; }`. */
  readonly type: string;
  readonly format: string;
}

/** The fields whose value is a quantity: a number is valid too. The models have strings. */
const QUANTITIES: ReadonlySet<string> = new Set([
  "V1CSIStorageCapacity.capacity",
  "V1CSIStorageCapacity.maximumVolumeSize",
  "V1EmptyDirVolumeSource.sizeLimit",
  "V1LimitRangeItem._default",
  "V1LimitRangeItem.default",
  "V1LimitRangeItem.defaultRequest",
  "V1LimitRangeItem.max",
  "V1LimitRangeItem.maxLimitRequestRatio",
  "V1LimitRangeItem.min",
  "V1NodeStatus.allocatable",
  "V1NodeStatus.capacity",
  "V1Overhead.podFixed",
  "V1PersistentVolumeClaimStatus.allocatedResources",
  "V1PersistentVolumeClaimStatus.capacity",
  "V1PersistentVolumeSpec.capacity",
  "V1ResourceFieldSelector.divisor",
  "V1ResourceQuotaSpec.hard",
  "V1ResourceQuotaStatus.hard",
  "V1ResourceQuotaStatus.used",
  "V1ResourceRequirements.limits",
  "V1ResourceRequirements.requests",
  "V1VolumeResourceRequirements.limits",
  "V1VolumeResourceRequirements.requests",
  "V2MetricTarget.averageValue",
  "V2MetricTarget.value",
  "V2MetricValueStatus.averageValue",
  "V2MetricValueStatus.value",
]);

/** Accepts any value. */
const ANY: JsonObject = { "x-kubernetes-preserve-unknown-fields": true, nullable: true };

/**
 * The structural OpenAPI schema of one of Kubernetes' own kinds, from the models of the official client. It has the
 * fields and their types. The models do not say which fields are required, or which texts are valid.
 *
 * @returns undefined for a kind that is not Kubernetes' own, or a version that the client does not know
 */
export async function builtinSchema(apiVersion: string, kind: string): Promise<JsonObject | undefined> {
  const model = modelOf(apiVersion, kind);
  const schema = model === undefined ? undefined : await schemaOfModel(model, new Set());
  if (schema === undefined) return undefined;
  const { apiVersion: _, kind: __, ...properties } = schema["properties"] as JsonObject;
  // The metadata of the object itself is checked like that of every object.
  return { type: "object", properties: { ...properties, metadata: { type: "object" } } };
}

/** @param within the models that contain this one: a model in itself is not checked further */
async function schemaOfModel(model: string, within: ReadonlySet<string>): Promise<JsonObject | undefined> {
  if (within.has(model)) return ANY;
  const attributes = await attributesOf(model);
  if (attributes === undefined) return undefined;
  const inside = new Set([...within, model]);
  const properties: JsonObject = {};
  for (const { baseName, type, format } of attributes) {
    properties[baseName] = QUANTITIES.has(`${model}.${baseName}`) ? ANY : await schemaOfType(type, format, inside);
  }
  return { type: "object", nullable: true, properties };
}

async function schemaOfType(type: string, format: string, within: ReadonlySet<string>): Promise<JsonObject> {
  const list = /^(?:Array|Set)<(.*)>$/.exec(type)?.[1];
  if (list !== undefined) return { type: "array", nullable: true, items: await schemaOfType(list, format, within) };
  const values = /^\{ \[key: string\]: (.*); \}$/.exec(type)?.[1];
  if (values !== undefined)
    return { type: "object", nullable: true, additionalProperties: await schemaOfType(values, format, within) };
  if (type === "number") return { type: format.startsWith("int") ? "integer" : "number", nullable: true };
  if (type === "string" || type === "boolean") return { type, nullable: true };
  if (type === "Date" || type === "V1MicroTime") return { type: "string", nullable: true };
  if (type === "IntOrString") return { "x-kubernetes-int-or-string": true, nullable: true };
  return /^[A-Z]\w+$/.test(type) ? ((await schemaOfModel(type, within)) ?? ANY) : ANY;
}

async function attributesOf(model: string): Promise<readonly Attribute[] | undefined> {
  try {
    // Each model is a module of its own without imports: all of them take 12 MB.
    const module: unknown = await import(`@kubernetes/client-node/dist/gen/models/${model}.js`);
    return isModule(module) ? module[model]?.getAttributeTypeMap?.() : undefined;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}

/** Each module exports one class, its model. */
function isModule(value: unknown): value is Record<string, { getAttributeTypeMap?(): readonly Attribute[] }> {
  return typeof value === "object" && value !== null;
}
