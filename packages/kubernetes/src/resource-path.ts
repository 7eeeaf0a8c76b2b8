import { ApiError } from "./api-error.ts";
import type { ResourceKind } from "./client.ts";

/** Where a group and version is served: `/api/v1`, `/apis/apps/v1`. */
export function versionPath(apiVersion: string): string {
  const parts = apiVersion.split("/");
  const wrong =
    parts.length > 2 ? "it has more than one /" : parts.map(wrongSegment).find((text) => text !== undefined);
  if (wrong !== undefined) throw new ApiError("Invalid", `apiVersion ${JSON.stringify(apiVersion)}: ${wrong}`);
  return parts.length === 1 ? `/api/${apiVersion}` : `/apis/${apiVersion}`;
}

/**
 * The path of one object, or without a name of all.
 *
 * @throws {ApiError} Invalid: a name that would be another path. The server decodes `%2F`, so encoding is no help.
 */
export function resourcePath(kind: ResourceKind, namespace: string | undefined, name?: string): string {
  const base = versionPath(kind.group === "" ? kind.version : `${kind.group}/${kind.version}`);
  let path = base;
  if (namespace !== undefined) {
    if (!kind.namespaced) {
      throw new ApiError("Invalid", `${kind.kind} is cluster-scoped: it cannot be in namespace ${namespace}`);
    }
    path += `/namespaces/${segment("namespace", namespace)}`;
  } else if (kind.namespaced && name !== undefined) {
    throw new ApiError("Invalid", `${kind.kind} ${name}: the kind is namespaced, and metadata.namespace is missing`);
  }
  path += `/${segment("plural", kind.plural)}`;
  return name === undefined ? path : `${path}/${segment("name", name)}`;
}

function segment(what: string, text: string): string {
  const wrong = wrongSegment(text);
  if (wrong !== undefined) throw new ApiError("Invalid", `${what} ${JSON.stringify(text)}: ${wrong}`);
  return encodeURIComponent(text);
}

// What Kubernetes asks of every name, whatever its kind (apimachinery, "path segment name").
function wrongSegment(text: string): string | undefined {
  if (text === "") return "it is empty";
  if (text === "." || text === "..") return "it may not be . or ..";
  if (/[/%]/.test(text)) return "it may not have / or %";
  if (!text.isWellFormed()) return "it has half a character";
  return undefined;
}
