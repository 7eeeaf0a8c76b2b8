import { formatPath, type JsonObject, type JsonValue, type KubernetesObject } from "@xfn/functionio";
import { isObject } from "../json.ts";
import { applySchemaDefaults } from "../schema/default.ts";
import { nodeOf } from "../schema/node.ts";
import { compositeCrd } from "./crd.ts";
import { DefinitionError } from "./definition-error.ts";

/**
 * A composite resource with the defaults that its definition gives to its version, as an API server would have filled
 * them in. The object given is not changed.
 *
 * @param xrd - the CompositeResourceDefinition
 * @throws {DefinitionError} if the definition is unusable, or defines another kind or version
 */
export function applyDefaults(xrd: JsonObject, composite: KubernetesObject): KubernetesObject {
  const schema = schemaOf(compositeCrd(xrd), composite);
  const filled = applySchemaDefaults(nodeOf(schema, []), composite as unknown as JsonObject);
  return filled as unknown as KubernetesObject;
}

function schemaOf(crd: JsonObject, composite: KubernetesObject): JsonObject {
  const spec = crd["spec"] as JsonObject;
  const group = String(spec["group"]);
  const kind = String((spec["names"] as JsonObject)["kind"]);
  const { apiVersion = "" } = composite;
  if (composite.kind !== kind || !apiVersion.startsWith(`${group}/`)) {
    const path = formatPath(["spec", composite.kind === kind ? "group" : "names"]);
    throw mismatch(path, `defines ${kind} of ${group}, not ${composite.kind} of ${apiVersion}`);
  }
  const versions = (spec["versions"] as JsonObject[]).map((version) => String(version["name"]));
  const index = versions.indexOf(apiVersion.slice(group.length + 1));
  if (index === -1) {
    const known = versions.length === 0 ? "no versions" : `the versions ${versions.join(", ")}`;
    throw mismatch("spec.versions", `defines ${known}, not ${apiVersion}`);
  }
  const schema = ((spec["versions"] as JsonObject[])[index]?.["schema"] as JsonObject)["openAPIV3Schema"] as JsonValue;
  return isObject(schema) ? schema : {};
}

function mismatch(path: string, message: string): DefinitionError {
  return new DefinitionError("Mismatch", [{ severity: "error", code: "Invalid", path, message }]);
}
