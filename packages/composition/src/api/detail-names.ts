import type { ConnectionDetail } from "@xfn/functionio";
import { isObject, type JsonObject, type JsonValue } from "@xfn/json";
import type { FieldReader } from "../reader/field-reader.ts";

/** The name under which a connection detail is published: `name`, else its key in the connection secret. */
export function connectionDetailName(detail: ConnectionDetail): string | undefined {
  const name = detail.name ?? undefined;
  if (name !== undefined && name !== "") return name;
  const fromKey = detail.type === undefined ? (detail.value ?? undefined) === undefined : false;
  return fromKey || detail.type === "FromConnectionSecretKey"
    ? (detail.fromConnectionSecretKey ?? undefined)
    : undefined;
}

/**
 * Reports connection details of one name. In `to` they are an error: Crossplane's design "Resource Composition" lets
 * exactly one resource provide each. In `resources`, as Crossplane serves it, the last one wins.
 */
export function checkDetailNames(spec: FieldReader, field: "resources" | "to"): void {
  const seen = new Map<string, string>();
  for (const [index, template] of listOf(spec.value(field))) {
    for (const [detailIndex, detail] of listOf(template["connectionDetails"])) {
      const name: JsonValue | undefined = connectionDetailName(detail);
      if (typeof name !== "string") continue;
      const first = seen.get(name);
      if (first === undefined) {
        seen.set(name, `${field}[${index}].connectionDetails[${detailIndex}]`);
        continue;
      }
      const path = [...spec.at(field), index, "connectionDetails", detailIndex];
      const title = JSON.stringify(name.slice(0, 64));
      if (field === "to")
        spec.findings.error("Duplicate", path, `${title} is exposed by ${first} already; expose it once`);
      else spec.findings.warning("Duplicate", path, `${title} is exposed by ${first} already; the last one wins`);
    }
  }
}

function listOf(value: JsonValue | undefined): readonly [number, JsonObject][] {
  const entries = Array.isArray(value) ? [...value.entries()] : [];
  return entries.filter((entry): entry is [number, JsonObject] => isObject(entry[1]));
}
