import { stringify } from "yaml";
import type { JsonValue } from "./json-value.ts";

/** YAML text of a value for people. */
export function printYaml(value: JsonValue): string {
  return stringify(value, { schema: "yaml-1.1", compat: "yaml-1.1", lineWidth: 0, aliasDuplicateObjects: false });
}
