import { ANNOTATION_RESOURCE_NAME } from "@xfn/composition";
import type { ObservedResource } from "@xfn/functionio";
import { isObject, type JsonObject, type JsonValue, type KubernetesObject } from "@xfn/json";
import { PipelineError } from "../outcome/pipeline-error.ts";
import { connectionSecretOf, isSecret, namespacedName, secretDetails } from "./connection-secrets.ts";

/** An XR that can be composed: it has an exact kind and a name. */
export interface CompositeResource extends KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: NonNullable<KubernetesObject["metadata"]> & { name: string };
}

/**
 * Checks that a value of a file or an API server is an XR.
 *
 * @throws {PipelineError} `InvalidComposite`
 */
export function asComposite(value: JsonValue): CompositeResource {
  const problem = isObject(value) ? (objectProblem(value) ?? nameProblem(value)) : "it is not an object";
  if (problem === undefined) return value as CompositeResource;
  throw new PipelineError("InvalidComposite", `the composite resource cannot be composed: ${problem}`);
}

/** The fields that identify an XR. */
export function identityOf({ apiVersion, kind, metadata: { name, namespace } }: CompositeResource): KubernetesObject {
  return { apiVersion, kind, metadata: { name, ...(namespace && { namespace }) } };
}

/**
 * Observed composed resources as entries of a FunctionIO, named by their `crossplane.io/composition-resource-name`
 * annotation: objects of files need no other name. The connection details of an entry are those of the Secret in its
 * `spec.writeConnectionSecretToRef`. All problems are reported at once.
 *
 * @throws {PipelineError} `InvalidObserved`
 */
export function observedEntries(objects: readonly JsonValue[], composite: CompositeResource): ObservedResource[] {
  const problems: string[] = [];
  const entries = new Map<string, ObservedResource>();
  const secrets = new Map<string, KubernetesObject>();
  const unnamed: KubernetesObject[] = [];
  for (const [index, object] of objects.entries()) {
    const problem = isObject(object) ? objectProblem(object) : "it is not an object";
    if (problem !== undefined) {
      problems.push(`observed resource ${index + 1}: ${problem}`);
      continue;
    }
    const resource = object as KubernetesObject;
    const title = `observed ${describe(resource)}`;
    if (isSecret(resource)) secrets.set(namespacedName(resource), resource);
    const name = resource.metadata?.annotations?.[ANNOTATION_RESOURCE_NAME];
    if (typeof name !== "string" || name === "") unnamed.push(resource);
    else if (entries.has(name)) {
      problems.push(`${title}: ${describe(entries.get(name)?.resource)} already has the entry ${JSON.stringify(name)}`);
    } else if (isForeign(resource, composite)) {
      problems.push(`${title}: is controlled by another owner than the composite resource ${composite.metadata.name}`);
    } else entries.set(name, { name, resource });
  }
  const written = new Set<string>();
  const observed = [...entries.values()].map((entry): ObservedResource => {
    const reference = connectionSecretOf(entry.resource);
    if (reference === undefined) return entry;
    written.add(reference);
    const secret = secrets.get(reference);
    return secret === undefined ? entry : { ...entry, connectionDetails: secretDetails(secret) };
  });
  for (const resource of unnamed) {
    if (isSecret(resource) && written.has(namespacedName(resource))) continue;
    problems.push(
      `observed ${describe(resource)}: has no annotation ${ANNOTATION_RESOURCE_NAME}; give it the name of its entry in ` +
        `desired.resources${isSecret(resource) ? ", or to a resource as its spec.writeConnectionSecretToRef" : ""}`,
    );
  }
  if (problems.length > 0) throw new PipelineError("InvalidObserved", problems.join("\n"));
  return observed;
}

/**
 * Whether another object than the XR controls a resource. Unknown for an XR without a UID, as in a hand-written file.
 */
function isForeign(resource: KubernetesObject, composite: CompositeResource): boolean {
  const { uid } = composite.metadata;
  const owners = resource.metadata?.["ownerReferences"];
  if (uid === undefined || uid === "" || !Array.isArray(owners)) return false;
  return owners.some((owner) => isObject(owner) && owner["controller"] === true && owner["uid"] !== uid);
}

function objectProblem(object: JsonObject): string | undefined {
  for (const field of ["apiVersion", "kind"]) {
    if (!isText(object[field])) return `it has no ${field}`;
  }
  const metadata = object["metadata"] ?? {};
  if (!isObject(metadata)) return "its metadata is not an object";
  for (const field of ["labels", "annotations"]) {
    const map = metadata[field] ?? {};
    if (!isObject(map)) return `its metadata.${field} is not an object`;
    const key = Object.keys(map).find((one) => typeof map[one] !== "string");
    if (key !== undefined)
      return `its metadata.${field} has a value that is not a string, under ${JSON.stringify(key)}`;
  }
  for (const field of ["name", "uid", "namespace", "generateName"]) {
    const value = metadata[field] ?? "";
    if (typeof value !== "string") return `its metadata.${field} is not a string`;
  }
  return undefined;
}

function nameProblem({ metadata }: JsonObject): string | undefined {
  return isObject(metadata) && isText(metadata["name"]) ? undefined : "it has no metadata.name";
}

/** The kind and name of an object, for messages. */
export function describe(resource: KubernetesObject | undefined): string {
  const { namespace, name } = resource?.metadata ?? {};
  return `${resource?.kind ?? "object"} ${namespace ? `${namespace}/` : ""}${name || "without a name"}`;
}

function isText(value: JsonValue | undefined): value is string {
  return typeof value === "string" && value !== "";
}
