import type { Issue, KubernetesObject, ObjectMeta } from "@xfn/json";
import {
  API_VERSION,
  type Desired,
  type DesiredResource,
  type FunctionIO,
  KIND,
  type Result,
} from "../function-io/functionio.ts";
import { FunctionIOError } from "../function-io/functionio-error.ts";
import {
  COMPOSITE,
  isFatalSeverity,
  NAME_ANNOTATION,
  type ResourceList,
  severityIn,
  TYPE_ANNOTATION,
} from "./resource-list.ts";
import { laidOver } from "./to-resource-list.ts";
import { annotationOf } from "./validate-resource-list.ts";

/**
 * Converts the ResourceList that a function returned to a FunctionIO. An item is desired as a whole, without our
 * annotations, without those that KRM libraries use internally, and without the fields of the server: status and
 * metadata such as `uid`, unless earlier steps desire them. An item without its API version, kind, name or namespace
 * keeps it. An entry that has no item is absent. Parts that the list cannot contain are copied from `given`.
 *
 * @param given the FunctionIO that `toResourceList` converted for the function
 * @throws {FunctionIOError} Invalid, if the XR has another identity and no result is fatal
 */
export function fromResourceList(list: ResourceList, given: FunctionIO): FunctionIO {
  const { observed, desired: before = {} } = given;
  const entries = new Map((before.resources ?? []).map((entry) => [entry.name, entry]));
  const existing = new Map((observed.resources ?? []).map(({ name, resource }) => [name, resource]));
  // After a fatal result nothing is applied: another identity must not hide why the function failed.
  const isFatal = list.results?.some(({ severity }) => isFatalSeverity(severity)) === true;
  const desired: Desired = { ...before };
  const resources: DesiredResource[] = [];
  for (const [index, item] of list.items.entries()) {
    if (annotationOf(item, TYPE_ANNOTATION) === COMPOSITE) {
      const state = { observed: observed.composite?.resource, desired: before.composite?.resource };
      if (!isFatal) checkIdentity(item, laidOver(state.observed, state.desired), index);
      desired.composite = { ...before.composite, resource: restored(item, state) };
      continue;
    }
    const name = annotationOf(item, NAME_ANNOTATION) ?? "";
    const entry = entries.get(name);
    const resource = restored(item, { observed: existing.get(name), desired: entry?.resource, entry: name });
    resources.push({ ...entry, name, resource });
    entries.delete(name);
  }
  for (const entry of entries.values()) if (entry.resource === null) resources.push(entry);
  if (resources.length > 0) desired.resources = resources;
  else delete desired.resources;
  const { config, context } = given;
  return {
    apiVersion: API_VERSION,
    kind: KIND,
    ...(config !== undefined && { config }),
    ...(context !== undefined && { context }),
    observed,
    desired,
    ...(list.results !== undefined && { results: list.results.map(resultOf) }),
  };
}

/** A function cannot give an object another identity. An absent or empty field means unchanged, as in a FunctionIO. */
const TYPE_IDENTITY = ["apiVersion", "kind"] as const;
const NAME_IDENTITY = ["name", "namespace"] as const;

function checkIdentity(item: KubernetesObject, xr: KubernetesObject | undefined, index: number): void {
  if (xr === undefined) return;
  const differs = (value: string | undefined, was: string | undefined): boolean => !!value && value !== was;
  const changed = [
    ...TYPE_IDENTITY.filter((field) => differs(item[field], xr[field])),
    ...([...NAME_IDENTITY, "uid"] as const)
      .filter((field) => differs(item.metadata?.[field], xr.metadata?.[field]))
      .map((field) => `metadata.${field}`),
  ];
  if (changed.length === 0) return;
  const issues = changed.map((field): Issue => {
    return {
      path: `items[${index}].${field}`,
      message: "differs from that of the XR; return the XR with its identity",
    };
  });
  throw new FunctionIOError("Invalid", issues);
}

/** The state of an item before the function ran. */
interface Before {
  readonly observed: KubernetesObject | undefined;
  readonly desired: KubernetesObject | null | undefined;
  /** The entry name of a composed resource. */
  readonly entry?: string;
}

/** The metadata that the server sets, or that controllers of the object own. */
const SERVER_METADATA = [
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "managedFields",
  "selfLink",
  "ownerReferences",
  "finalizers",
];

function restored(item: KubernetesObject, { observed, desired, entry }: Before): KubernetesObject {
  const resource: KubernetesObject = { ...item };
  const metadata: ObjectMeta = { ...item.metadata };
  if (observed !== undefined) {
    if (desired?.["status"] === undefined) delete resource["status"];
    for (const field of SERVER_METADATA) if (desired?.metadata?.[field] === undefined) delete metadata[field];
  }
  const was = laidOver(observed, desired);
  if (was !== undefined) {
    keep(resource, was, TYPE_IDENTITY);
    keep(metadata, was.metadata ?? {}, NAME_IDENTITY);
  }
  if (metadata.name === entry && entry !== undefined && was !== undefined && was.metadata?.name === undefined) {
    delete metadata.name;
  }
  const annotations = withoutMarks(metadata.annotations ?? {}, was?.metadata?.annotations);
  if (Object.keys(annotations).length > 0 || was?.metadata?.annotations !== undefined) {
    metadata.annotations = annotations;
  } else delete metadata.annotations;
  if (Object.keys(metadata).length > 0 || was?.metadata !== undefined) resource.metadata = metadata;
  else delete resource.metadata;
  return resource;
}

/** Gives an object the fields of an earlier one that it lacks. */
function keep<F extends string>(
  object: { [field in F]?: string },
  was: { [field in F]?: string },
  fields: readonly F[],
): void {
  for (const field of fields) {
    const value = was[field];
    if (!object[field] && value !== undefined) object[field] = value;
  }
}

type Annotations = { [key: string]: string };

/** Annotations by which kyaml and kpt remember the order and the files of items. */
const TOOL_ANNOTATIONS: ReadonlySet<string> = new Set([
  "config.kubernetes.io/index",
  "config.kubernetes.io/path",
  "config.k8s.io/id",
]);
const TOOL_PREFIX = "internal.config.kubernetes.io/";

function withoutMarks(annotations: Annotations, was: Annotations | undefined): Annotations {
  return Object.fromEntries(
    Object.entries(annotations).filter(([key]) => {
      if (key === TYPE_ANNOTATION || key === NAME_ANNOTATION) return false;
      const isTool = TOOL_ANNOTATIONS.has(key) || key.startsWith(TOOL_PREFIX);
      return !isTool || (was !== undefined && Object.hasOwn(was, key));
    }),
  );
}

function resultOf(result: Result): Result {
  return { ...result, severity: severityIn(result.severity) };
}
