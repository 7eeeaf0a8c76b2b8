import type { KubernetesObject } from "@xfn/json";
import { type FunctionIO, type Result, severityOf } from "../function-io/functionio.ts";
import { FunctionIOError } from "../function-io/functionio-error.ts";
import { overlayJson } from "../sdk/json.ts";
import {
  COMPOSED,
  COMPOSITE,
  NAME_ANNOTATION,
  RESOURCE_LIST_API_VERSIONS,
  RESOURCE_LIST_KIND,
  type ResourceList,
  type ResourceListForm,
  TYPE_ANNOTATION,
} from "./resource-list.ts";

/**
 * Converts a FunctionIO to a ResourceList. Each item is an observed object with its desired state laid over it. The XR
 * is the first item. Entries to delete, connection details, readiness checks and the context have no place in the list:
 * `fromResourceList` takes them from the FunctionIO again.
 *
 * @throws {FunctionIOError} Invalid, if there is no XR
 */
export function toResourceList(io: FunctionIO, form: ResourceListForm = "ResourceList"): ResourceList {
  const { config, observed, desired = {}, results = [] } = io;
  const composite = laidOver(observed.composite?.resource, desired.composite?.resource);
  if (composite === undefined) {
    const message = "is missing; a ResourceList needs the XR";
    throw new FunctionIOError("Invalid", [{ path: "observed.composite.resource", message }]);
  }
  const items = [annotated(composite, { [TYPE_ANNOTATION]: COMPOSITE })];
  const existing = new Map((observed.resources ?? []).map(({ name, resource }) => [name, resource]));
  for (const { name, resource } of desired.resources ?? []) {
    const item = resource === null ? undefined : laidOver(existing.get(name), resource);
    existing.delete(name);
    if (item !== undefined) items.push(composedItem(name, item));
  }
  for (const [name, resource] of existing) items.push(composedItem(name, resource));
  return {
    apiVersion: RESOURCE_LIST_API_VERSIONS[form],
    kind: RESOURCE_LIST_KIND,
    ...(config !== undefined && { functionConfig: config }),
    items,
    ...(results.length > 0 && { results: results.map((result) => resultIn(form, result)) }),
  };
}

/** The item of an entry: the observed object with its desired state laid over it. */
export function laidOver(
  observed: KubernetesObject | undefined,
  desired: KubernetesObject | null | undefined,
): KubernetesObject | undefined {
  if (observed === undefined || desired === undefined || desired === null) return desired ?? observed;
  return overlayJson(observed, desired) as KubernetesObject;
}

/** KRM functions expect each item to have a name. An item without a name gets that of its entry. */
function composedItem(entry: string, resource: KubernetesObject): KubernetesObject {
  const annotations = { [TYPE_ANNOTATION]: COMPOSED, [NAME_ANNOTATION]: entry };
  const isNamed = resource.metadata?.name !== undefined;
  return annotated(isNamed ? resource : { ...resource, metadata: { ...resource.metadata, name: entry } }, annotations);
}

function annotated(resource: KubernetesObject, annotations: { [key: string]: string }): KubernetesObject {
  const { metadata } = resource;
  return { ...resource, metadata: { ...metadata, annotations: { ...metadata?.annotations, ...annotations } } };
}

const KRM_SEVERITIES = { Fatal: "error", Warning: "warning", Normal: "info" } as const;

function resultIn(form: ResourceListForm, result: Result): Result {
  return form === "KRM" ? { ...result, severity: KRM_SEVERITIES[severityOf(result)] } : result;
}
