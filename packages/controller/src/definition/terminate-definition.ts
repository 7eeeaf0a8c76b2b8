import { lowerDefinition } from "@xfn/composition/definition";
import { textAt } from "@xfn/json";
import { isApiError, type LiveObject, type ObjectReference, type Outcome, type ResourceKind } from "@xfn/kubernetes";
import { conditionOf, isTrue } from "../objects/conditions.ts";
import type { Context } from "../objects/context.ts";
import {
  FINALIZER_DEFINED,
  FINALIZER_FOREGROUND,
  FINALIZER_OFFERED,
  FINALIZER_ORPHAN,
  finalizersOf,
} from "../objects/finalizers.ts";
import { DEFINITIONS, INFRASTRUCTURE_DEFINITIONS, PUBLICATIONS, referenceOf } from "../objects/kinds.ts";
import { isBeingDeleted, isControlledBy } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";
import { referenceTo } from "../objects/references.ts";
import { REQUEUE_AFTER_MS } from "../objects/requeue-after.ts";
import { servedVersions } from "../objects/served-versions.ts";
import { findCrd } from "./definition-crd.ts";
import { setFinalizers, setStatus } from "./patch-definition.ts";

/** The number of concurrent deletes: a definition may have thousands of instances. */
const DELETE_CONCURRENCY = 16;

const TERMINATING = "TerminatingCompositeResource";

/**
 * Deletes the objects of a definition: its claims, which delete their composites, then the other composites, then the
 * CRDs. Then removes the finalizers. The controllers of its kinds run until then, because deleting instances needs
 * them.
 *
 * With `--cascade=orphan`, CRDs and instances stay. With `--cascade=foreground`, the instances are also deleted in the
 * foreground.
 */
export async function terminateDefinition(
  context: Context,
  written: LiveObject,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const definition: LiveObject = { ...written, ...lowerDefinition(written) };
  const finalizers = finalizersOf(definition);
  if (!finalizers.includes(FINALIZER_DEFINED) && !finalizers.includes(FINALIZER_OFFERED)) return undefined;
  if (!finalizers.includes(FINALIZER_ORPHAN)) {
    if (await isStillPublished(context, definition, signal)) {
      const message = `waits for the InfrastructurePublication ${definition.metadata.name}: delete it, with its requirements`;
      await setTerminating(context, definition, message, signal);
      return { requeueAfterMs: REQUEUE_AFTER_MS.instancesDeletion };
    }
    for (const names of ["claimNames", "names"] as const) {
      const wait = await removeOrReport(context, definition, names, signal);
      if (wait === undefined) continue;
      await setTerminating(context, definition, wait.message, signal);
      return { requeueAfterMs: wait.ms };
    }
  }
  const others = finalizers.filter((one) => one !== FINALIZER_DEFINED && one !== FINALIZER_OFFERED);
  await setFinalizers(context, definition, others, signal);
  context.client.forgetKinds();
  return undefined;
}

/** Whether requirements may still depend on composites: the publication deletes them first. */
async function isStillPublished(
  context: Context,
  { kind, metadata }: LiveObject,
  signal: AbortSignal,
): Promise<boolean> {
  if (kind !== INFRASTRUCTURE_DEFINITIONS.kind) return false;
  return (await findLive(context, referenceOf(PUBLICATIONS, metadata.name), signal)) !== undefined;
}

/** The reason and the duration of a wait during the termination. */
interface Wait {
  readonly message: string;
  readonly ms: number;
}

/** @throws {ApiError} if the server refuses, after the condition has reported it */
async function removeOrReport(
  context: Context,
  definition: LiveObject,
  names: "names" | "claimNames",
  signal: AbortSignal,
): Promise<Wait | undefined> {
  try {
    return await removeKind(context, definition, names, signal);
  } catch (error) {
    if (signal.aborted || !isApiError(error) || error.code === "Conflict") throw error;
    const message = `its ${names === "names" ? "composites" : "claims"} cannot be deleted: ${error.message}`;
    if (conditionOf(definition, "Established")?.["message"] !== message)
      context.events.record(definition, { type: "Warning", reason: TERMINATING, message });
    await setTerminating(context, definition, message, signal);
    throw error;
  }
}

async function setTerminating(
  context: Context,
  definition: LiveObject,
  message: string,
  signal: AbortSignal,
): Promise<void> {
  const offers = DEFINITIONS.of(definition).spec.claimNames.kind !== undefined;
  await setStatus(
    context,
    definition,
    [
      ...(definition.kind === PUBLICATIONS.kind
        ? []
        : [{ type: "Established", status: "False", reason: TERMINATING, message } as const]),
      ...(offers
        ? [{ type: "Offered", status: "False", reason: "TerminatingCompositeResourceClaim", message } as const]
        : []),
    ],
    {},
    signal,
  );
}

/**
 * Removes the instances of a kind, then its CRD. Leaves a CRD of another owner and its instances unchanged.
 *
 * @returns undefined when the CRD is gone
 */
async function removeKind(
  context: Context,
  definition: LiveObject,
  names: "names" | "claimNames",
  signal: AbortSignal,
): Promise<Wait | undefined> {
  const { spec } = DEFINITIONS.of(definition);
  const { group } = spec;
  const { plural } = spec[names];
  if (plural === undefined || group === undefined) return undefined;
  const crd = await findCrd(context, `${plural}.${group}`, signal);
  if (crd === undefined || !isControlledBy(crd, definition)) return undefined;
  const waitForCrd = {
    message: `waits for the CustomResourceDefinition ${crd.metadata.name} to be deleted`,
    ms: REQUEUE_AFTER_MS.crdDeletion,
  };
  const kind = kindOf(crd);
  const instances = kind === undefined ? [] : await listInstances(context, crd, kind, signal);
  if (instances === undefined) return waitForCrd;
  const [first] = instances;
  if (kind !== undefined && first !== undefined) {
    const policy = finalizersOf(definition).includes(FINALIZER_FOREGROUND) ? "Foreground" : undefined;
    await deleteInstances(context, kind, instances, policy, signal);
    const message = `waits for ${instances.length} ${kind.plural} to be deleted, such as ${first.metadata.name}`;
    return { message, ms: REQUEUE_AFTER_MS.instancesDeletion };
  }
  if (!isBeingDeleted(crd)) await deleteExact(context, crd, referenceTo(crd), undefined, signal);
  return waitForCrd;
}

/** The kind that a CRD serves. Its names may differ from the names in a changed definition. */
function kindOf(crd: LiveObject): ResourceKind | undefined {
  const served = servedVersions(crd);
  const version = textAt(served.find((one) => one["storage"] === true) ?? served[0], "name");
  const group = textAt(crd, "spec", "group");
  const kind = textAt(crd, "spec", "names", "kind");
  const plural = textAt(crd, "spec", "names", "plural");
  if (version === undefined || group === undefined || kind === undefined || plural === undefined) return undefined;
  return { group, version, kind, plural, namespaced: textAt(crd, "spec", "scope") === "Namespaced" };
}

/**
 * Lists the instances of a kind; undefined while the server does not serve it. A server stops serving a kind before its
 * deleted CRD is gone, and starts some time after it establishes the CRD.
 */
async function listInstances(
  { client }: Context,
  crd: LiveObject,
  kind: ResourceKind,
  signal: AbortSignal,
): Promise<readonly LiveObject[] | undefined> {
  try {
    return (await client.list(kind, { signal })).items;
  } catch (error) {
    if (!isApiError(error, "KindNotServed", "NotFound")) throw error;
    // A CRD that was never established has no instances.
    return isTrue(crd, "Established") ? undefined : [];
  }
}

async function deleteInstances(
  context: Context,
  kind: ResourceKind,
  instances: readonly LiveObject[],
  policy: "Foreground" | undefined,
  signal: AbortSignal,
): Promise<void> {
  const remaining = instances.filter((instance) => !isBeingDeleted(instance));
  for (let start = 0; start < remaining.length; start += DELETE_CONCURRENCY) {
    const deletions = remaining.slice(start, start + DELETE_CONCURRENCY).map((instance) => {
      const { name, namespace } = instance.metadata;
      return deleteExact(context, instance, referenceOf(kind, name, namespace), policy, signal);
    });
    await Promise.all(deletions);
  }
}

/** Deletes this object, but not another object that has its name by now. */
async function deleteExact(
  { client }: Context,
  { metadata: { uid } }: LiveObject,
  reference: ObjectReference,
  propagationPolicy: "Foreground" | undefined,
  signal: AbortSignal,
): Promise<void> {
  try {
    await client.delete(reference, { preconditions: { uid }, propagationPolicy, signal });
  } catch (error) {
    if (!isApiError(error, "NotFound", "Conflict")) throw error;
  }
}
