// Writes the fields of Kubernetes' own kinds, as Kubernetes' official client knows them, into a table of
// packages/kubernetes. The client itself is not a dependency: it has 60 MB. With --check: compares the table.
import { readdirSync, readFileSync } from "node:fs";
import { writeGenerated } from "./generated-file.ts";

/** One field of a model of the official client. */
interface Attribute {
  readonly name: string;
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

const MODULES = new URL("../node_modules/@kubernetes/client-node/dist/gen/models/", import.meta.url);
const TABLE = "packages/kubernetes/src/builtin-kinds/generated/models.json";

const table = new Map<string, string>();

async function attributesOf(model: string): Promise<readonly Attribute[]> {
  const module = (await import(new URL(`${model}.js`, MODULES).href)) as Record<
    string,
    { getAttributeTypeMap?(): readonly Attribute[] } | undefined
  >;
  return module[model]?.getAttributeTypeMap?.() ?? [];
}

/** The fields that the declaration of a model requires. The models themselves do not have that. */
function requiredFields(model: string): ReadonlySet<string> {
  const declaration = readFileSync(new URL(`${model}.d.ts`, MODULES), "utf8");
  return new Set([...declaration.matchAll(/^ {4}'(\w+)': /gm)].map((match) => match[1] ?? ""));
}

/** Whether objects of this kind can be created by name: neither lists nor parts of objects. */
function isKind(attributes: readonly Attribute[]): boolean {
  const has = (name: string, type: string): boolean =>
    attributes.some((one) => one.baseName === name && one.type === type);
  return has("apiVersion", "string") && has("kind", "string") && has("metadata", "V1ObjectMeta");
}

async function add(model: string): Promise<void> {
  if (table.has(model)) return;
  table.set(model, "");
  const fields: string[] = [];
  const required = requiredFields(model);
  for (const { name, baseName, type, format } of await attributesOf(model)) {
    const quantity = QUANTITIES.has(`${model}.${baseName}`);
    const text = quantity ? type.replace("string; }", "Quantity; }").replace(/^string$/, "Quantity") : type;
    fields.push(`${baseName}${required.has(name) ? "!" : ""}:${await code(text, format)}`);
  }
  table.set(model, fields.join(" "));
}

/** A type as packages/kubernetes/src/builtin-kinds/builtin-schema.ts reads it. Adds the models in it. */
async function code(type: string, format: string): Promise<string> {
  const list = /^(?:Array|Set)<(.*)>$/.exec(type)?.[1];
  if (list !== undefined) return `[${await code(list, format)}`;
  const values = /^\{ \[key: string\]: (.*); \}$/.exec(type)?.[1];
  if (values !== undefined) return `{${await code(values, format)}`;
  if (type === "number") return format.startsWith("int") ? "integer" : "number";
  if (type === "string" || type === "boolean") return type;
  if (type === "Date" || type === "V1MicroTime") return "string";
  if (type === "IntOrString" || type === "Quantity") return type;
  if (!names.has(type)) return "*";
  await add(type);
  return type;
}

const names = new Set(readdirSync(MODULES).flatMap((name) => /^(\w+)\.js$/.exec(name)?.[1] ?? []));
for (const name of [...names].toSorted()) if (/^V\d/.test(name) && isKind(await attributesOf(name))) await add(name);

const sorted = Object.fromEntries([...table].toSorted(([a], [b]) => (a < b ? -1 : 1)));
writeGenerated(TABLE, `${JSON.stringify(sorted, undefined, 2)}\n`, "models");
