import type { KubernetesObject } from "@xfn/functionio";
import { isApiError, type LiveObject, namingProblem, type ResourceKind } from "@xfn/kubernetes";
import { type ComposedResource, composedName } from "@xfn/pipeline";
import { asCompositeError, CompositeError } from "../objects/composite-error.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { finalizersOf } from "../objects/finalizers.ts";
import { SECRETS, typeMeta } from "../objects/kinds.ts";
import { controllerOf } from "../objects/owner.ts";
import { describeReference, referenceTo } from "../objects/references.ts";
import { applyChanged, emitEvent, type ReconcileContext, readLive } from "./reconcile-context.ts";

/** A composed resource whose kind is served and whose name and namespace are valid. */
export interface Applicable {
  readonly entry: string;
  /** Every field that the controller must own, and no other. */
  readonly intent: KubernetesObject;
  readonly observed: LiveObject | undefined;
}

/**
 * Checks a composed resource before its reference is recorded: an invalid reference could neither be read nor deleted.
 *
 * @throws {CompositeError} if it cannot be applied
 */
export async function checkApplicable(
  context: ReconcileContext,
  { name, resource }: ComposedResource,
  observed: LiveObject | undefined,
): Promise<Applicable> {
  const { apiVersion = "", kind: kindName = "" } = resource;
  let kind: ResourceKind;
  try {
    kind = await context.client.kind(apiVersion, kindName, { signal: context.signal });
  } catch (error) {
    throw asCompositeError(error, titleOf(name, resource), false);
  }
  // Drop generateName: the resource has a name already.
  const { finalizers: _, namespace, generateName: __, ...metadata } = resource.metadata ?? {};
  warnOfFinalizers(context, name, resource, observed);
  if (kind.namespaced && !namespace) {
    throw new CompositeError(
      "InvalidResource",
      `${titleOf(name, resource)}: ${kindName} is a namespaced kind; set metadata.namespace`,
    );
  }
  const intent = { ...resource, metadata: { ...metadata, ...(kind.namespaced && namespace && { namespace }) } };
  const problem = namingProblem(referenceTo(intent));
  if (problem !== undefined)
    throw new CompositeError("InvalidResource", `${titleOf(name, resource)}: metadata.${problem}`);
  return { entry: name, intent, observed };
}

/** A finalizer promises that a controller removes it. Functions cannot promise that, so theirs are dropped. */
function warnOfFinalizers(
  context: ReconcileContext,
  name: string,
  resource: KubernetesObject,
  observed: LiveObject | undefined,
): void {
  const existing = observed === undefined ? [] : finalizersOf(observed);
  const dropped = finalizersOf(resource).filter((one) => !existing.includes(one));
  if (dropped.length === 0) return;
  const title = `composed resource ${JSON.stringify(name)}`;
  emitEvent(context, "Warning", `${title}: its finalizers ${dropped.join(", ")} are not set; functions cannot set any`);
}

/**
 * Applies a composed resource if that changes it. A new one with a name chosen by its author is read live first, so
 * that the object of another controller is not overwritten.
 *
 * @returns the object after the apply
 * @throws {CompositeError} if the server refuses, or another owner controls the object
 * @throws {ApiError} `Conflict` if the object was replaced or deleted
 */
export async function applyComposed(
  context: ReconcileContext,
  { entry, intent, observed }: Applicable,
): Promise<LiveObject> {
  const existing =
    observed ?? (hasGeneratedName(context, entry, intent) ? undefined : await readLive(context, referenceTo(intent)));
  const controller = existing && controllerOf(existing);
  if (controller !== undefined && controller.uid !== context.xr.metadata.uid) {
    const owner = `${controller.kind} ${controller.name}`;
    throw new CompositeError(
      "NotControllable",
      `${titleOf(entry, intent)}: it belongs to ${owner}; give it another name`,
    );
  }
  try {
    return (await applyChanged(context, intent, existing, { fieldManager: FIELD_MANAGERS.composed })).object;
  } catch (error) {
    if (isApiError(error, "Conflict")) throw error;
    throw asCompositeError(error, titleOf(entry, intent), isSecret(intent));
  }
}

/** A name that the controller made from the XR's UID and the entry belongs to no other object. */
function hasGeneratedName({ xr }: ReconcileContext, entry: string, { metadata }: KubernetesObject): boolean {
  return composedName("", xr.metadata.uid, entry) === metadata?.name?.slice(-composedName("", "", "").length);
}

function isSecret({ apiVersion, kind }: KubernetesObject): boolean {
  const secret = typeMeta(SECRETS);
  return apiVersion === secret.apiVersion && kind === secret.kind;
}

function titleOf(entry: string, resource: KubernetesObject): string {
  return `cannot apply composed resource ${JSON.stringify(entry)} (${describeReference(referenceTo(resource))})`;
}
