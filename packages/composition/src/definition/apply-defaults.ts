import type { JsonObject, KubernetesObject } from "@xfn/json";
import { applySchemaDefaults } from "../schema/structural/default.ts";
import { nodeOf } from "../schema/structural/node.ts";
import { isObject } from "../values/json.ts";
import { compositeKind } from "./crd.ts";
import { DefinitionError } from "./definition-error.ts";

/**
 * Fills in the defaults of a composite resource's definition like an API server. The argument is not changed.
 *
 * @param xrd - the CompositeResourceDefinition
 * @throws {DefinitionError} if the definition is invalid, or defines another kind or version
 */
export function applyDefaults(xrd: JsonObject, composite: KubernetesObject): KubernetesObject {
  const filled = applySchemaDefaults(nodeOf(schemaOf(xrd, composite), []), composite);
  return isObject(filled) ? filled : composite;
}

function schemaOf(xrd: JsonObject, composite: KubernetesObject): JsonObject {
  const { group, kind, versions } = compositeKind(xrd);
  const { apiVersion = "" } = composite;
  if (composite.kind !== kind || !apiVersion.startsWith(`${group}/`)) {
    const path = composite.kind === kind ? "spec.group" : "spec.names";
    throw mismatch(path, `defines ${kind} of ${group}, not ${composite.kind} of ${apiVersion}`);
  }
  const schema = versions.get(apiVersion.slice(group.length + 1));
  if (schema !== undefined) return schema;
  const known = versions.size === 0 ? "no versions" : `the versions ${[...versions.keys()].join(", ")}`;
  throw mismatch("spec.versions", `defines ${known}, not ${apiVersion}`);
}

function mismatch(path: string, message: string): DefinitionError {
  return new DefinitionError("Mismatch", [{ severity: "error", code: "Invalid", path, message }]);
}
