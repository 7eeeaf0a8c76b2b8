import { ApiError } from "./api-error.ts";
import type { ObjectReference, ResourceKind } from "./client.ts";
import { apiVersionOf } from "./object-identity.ts";

/** The path of a group and version: `/api/v1`, `/apis/apps/v1`. @throws {ApiError} Invalid */
export function versionPath(apiVersion: string): string {
  const wrong = wrongVersion(apiVersion);
  if (wrong !== undefined) throw new ApiError("Invalid", `apiVersion ${JSON.stringify(apiVersion)}: ${wrong}`);
  return apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
}

/**
 * The path of one object, of its subresource or, without a name, of all objects of a kind.
 *
 * @throws {ApiError} Invalid: the name would change the path; the server decodes `%2F`, so encoding cannot prevent that
 */
export function resourcePath(
  kind: ResourceKind,
  namespace: string | undefined,
  name?: string,
  subresource?: string,
): string {
  const base = versionPath(apiVersionOf(kind));
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
  if (name !== undefined) path += `/${segment("name", name)}`;
  return subresource === undefined ? path : `${path}/${segment("subresource", subresource)}`;
}

/** Explains why no URL can name an object, so that no kind can have it. Returns undefined if a URL can. */
export function namingProblem({ apiVersion, namespace, name }: ObjectReference): string | undefined {
  const ofName = wrongSegment(name);
  if (ofName !== undefined) return `name ${JSON.stringify(name)}: ${ofName}`;
  const ofNamespace = namespace === undefined ? undefined : wrongSegment(namespace);
  if (ofNamespace !== undefined) return `namespace ${JSON.stringify(namespace)}: ${ofNamespace}`;
  const ofVersion = wrongVersion(apiVersion);
  return ofVersion === undefined ? undefined : `apiVersion ${JSON.stringify(apiVersion)}: ${ofVersion}`;
}

function segment(what: string, text: string): string {
  const wrong = wrongSegment(text);
  if (wrong !== undefined) throw new ApiError("Invalid", `${what} ${JSON.stringify(text)}: ${wrong}`);
  return encodeURIComponent(text);
}

function wrongVersion(apiVersion: string): string | undefined {
  const parts = apiVersion.split("/");
  return parts.length > 2 ? "it contains more than one /" : parts.map(wrongSegment).find((text) => text !== undefined);
}

// Kubernetes' rule for the names of all kinds (apimachinery, IsValidPathSegmentName).
function wrongSegment(text: string): string | undefined {
  if (text === "") return "it is empty";
  if (text === "." || text === "..") return "it must not be . or ..";
  if (/[/%]/.test(text)) return "it must not contain / or %";
  if (!text.isWellFormed()) return "it contains half of a surrogate pair";
  return undefined;
}
