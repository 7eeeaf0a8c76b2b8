import type { JsonObject, KubernetesObject } from "@xfn/functionio";
import { isApiError, type LiveObject, namingProblem, type ResourceKind } from "@xfn/kubernetes";
import { type ComposedResource, composedName } from "@xfn/pipeline";
import { CompositeError, refused } from "../objects/composite-error.ts";
import { FIELD_MANAGER } from "../objects/labels.ts";
import { controllerOf } from "../objects/owner.ts";
import { describeReference, referenceTo } from "../objects/references.ts";
import { applyChanged, readLive, tell, type Work } from "./reconcile-context.ts";

/** A composed resource that can be applied: its kind is served, and it is where its kind can be. */
export interface Applicable {
  readonly entry: string;
  readonly kind: ResourceKind;
  /** What is applied: every field that is to be ours, and no other. */
  readonly intent: KubernetesObject;
  readonly observed: LiveObject | undefined;
}

/**
 * What is to be applied for a composed resource.
 *
 * @throws {CompositeError} if it cannot be
 */
export async function applicable(
  work: Work,
  { name, resource }: ComposedResource,
  observed: LiveObject | undefined,
): Promise<Applicable> {
  const { apiVersion = "", kind: kindName = "" } = resource;
  let kind: ResourceKind;
  try {
    kind = await work.context.client.kind(apiVersion, kindName, { signal: work.signal });
  } catch (error) {
    throw refused(error, titleOf(name, resource), false);
  }
  // What has a name needs no prefix of one.
  const { finalizers, namespace, generateName: _, ...metadata } = resource.metadata ?? {};
  // A finalizer is the promise of a controller to take it off again, and functions promise nothing.
  const has = observed?.metadata["finalizers"];
  const asked = (Array.isArray(finalizers) ? finalizers : [])
    .filter((one) => typeof one === "string")
    .filter((one) => !Array.isArray(has) || !has.includes(one));
  if (asked.length > 0) {
    const title = `composed resource ${JSON.stringify(name)}`;
    tell(work, "Warning", "ComposeResources", `${title}: asked for the finalizers ${asked.join(", ")}; it gets none`);
  }
  if (kind.namespaced && !namespace) {
    throw new CompositeError(
      "InvalidResource",
      `${titleOf(name, resource)}: ${kindName} is a kind within namespaces; give it a metadata.namespace`,
    );
  }
  const intent = { ...resource, metadata: { ...metadata, ...(kind.namespaced && namespace && { namespace }) } };
  // Before its reference is recorded: there is nothing that such a one could be read or deleted by.
  const problem = namingProblem(referenceTo(intent));
  if (problem !== undefined)
    throw new CompositeError("InvalidResource", `${titleOf(name, resource)}: metadata.${problem}`);
  return { entry: name, kind, intent, observed };
}

/**
 * Applies a composed resource if that changes something. One that is new and has a name that somebody gave it is looked for
 * first, live: what another controls is not taken.
 *
 * @returns what it is now
 * @throws {CompositeError} if that cannot be
 * @throws {ApiError} `Conflict`: it was not as it was known to be; look again
 */
export async function applyComposed(work: Work, { entry, intent, observed }: Applicable): Promise<LiveObject> {
  const existing =
    observed ?? (isNamedByUs(work, entry, intent) ? undefined : await readLive(work, referenceTo(intent)));
  const controller = existing && controllerOf(existing);
  if (controller !== undefined && controller.uid !== work.xr.metadata.uid) {
    const whose = `${controller.kind} ${controller.name}`;
    throw new CompositeError(
      "NotControllable",
      `${titleOf(entry, intent)}: it belongs to ${whose}; give it another name`,
    );
  }
  try {
    return (await applyChanged(work, intent, existing, { fieldManager: FIELD_MANAGER })).object;
  } catch (error) {
    if (isApiError(error, "Conflict")) throw error;
    throw refused(error, titleOf(entry, intent), holdsSecrets(intent));
  }
}

/** A name that is made of the XR's UID and the entry is nobody else's. */
export function isNamedByUs({ xr }: Work, entry: string, { metadata }: KubernetesObject): boolean {
  return composedName("", xr.metadata.uid, entry) === metadata?.name?.slice(-composedName("", "", "").length);
}

function holdsSecrets({ apiVersion, kind }: JsonObject): boolean {
  return apiVersion === "v1" && kind === "Secret";
}

function titleOf(entry: string, resource: KubernetesObject): string {
  return `cannot apply composed resource ${JSON.stringify(entry)} (${describeReference(referenceTo(resource))})`;
}
