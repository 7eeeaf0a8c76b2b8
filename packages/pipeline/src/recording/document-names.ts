import { isObject, type JsonObject, type JsonValue } from "@xfn/json";

const NAME_FIELDS = ["name", "generateName", "namespace"] as const;

/** The names and kinds of all objects in documents, and the names of entries. They are public in traces too. */
export function documentNames(documents: readonly JsonObject[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const document of documents) collect(document, names);
  return names;
}

function collect(value: JsonValue, names: Set<string>): void {
  if (Array.isArray(value)) for (const item of value) collect(item, names);
  if (!isObject(value)) return;
  if (isResource(value)) addResource(value, names);
  else addEntries(value["resources"], names);
  for (const key of Object.keys(value)) collect(value[key] ?? null, names);
}

/** Not the documents of functions: their `desired.resources` are entries. */
function isResource(value: JsonObject): boolean {
  return typeof value["apiVersion"] === "string" && typeof value["kind"] === "string" && isObject(value["metadata"]);
}

function addResource({ apiVersion, kind, metadata }: JsonObject, names: Set<string>): void {
  const fields = isObject(metadata) ? NAME_FIELDS.map((field) => metadata[field]) : [];
  for (const text of [apiVersion, kind, ...fields]) if (typeof text === "string") names.add(text);
}

/** Entries of a FunctionIO are a list, and those of a message a map. */
function addEntries(resources: JsonValue | undefined, names: Set<string>): void {
  if (Array.isArray(resources)) {
    for (const entry of resources)
      if (isObject(entry) && "resource" in entry && typeof entry["name"] === "string") names.add(entry["name"]);
  } else if (isObject(resources)) {
    for (const [name, entry] of Object.entries(resources)) if (isObject(entry) && "resource" in entry) names.add(name);
  }
}
