import { isApiError, type LiveObject, type Outcome, type ResourceKind } from "@xfn/kubernetes";
import { conditionOf } from "../objects/conditions.ts";
import type { Context } from "../objects/context.ts";
import { FINALIZER_DEFINED, FINALIZER_OFFERED } from "../objects/labels.ts";
import { controllerOf } from "../objects/owner.ts";
import { apiVersionOf, objectAt, textAt } from "../objects/read-objects.ts";
import { servedVersions } from "../objects/served-versions.ts";
import { findCrd } from "./definition-crd.ts";
import { finalizersOf, setFinalizers, setStatus } from "./patch-definition.ts";

/** Instances take what their composed resources take. */
const WAIT_FOR_INSTANCES_MS = 1_000;
/** A CRD without instances goes at once. */
const WAIT_FOR_CRD_MS = 100;
/** Deletes at a time, of perhaps thousands of instances. */
const DELETES_AT_ONCE = 16;

/** How a user deletes: Kubernetes keeps it in finalizers of its own ("Garbage Collection", cascading deletion). */
const FOREGROUND = "foregroundDeletion";
const ORPHAN = "orphan";

const TERMINATING = "TerminatingCompositeResource";

/**
 * Ends a definition that is being deleted: its claims first, as they delete their composites, then the other composites, then
 * the CRDs, and its finalizers last. Until then the controllers of its kinds go on, since instances need them to go.
 *
 * With `--cascade=orphan` CRDs and instances stay. With `--cascade=foreground` the instances are deleted in the foreground, too.
 */
export async function terminateDefinition(
  context: Context,
  definition: LiveObject,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const finalizers = finalizersOf(definition);
  if (!finalizers.includes(FINALIZER_DEFINED) && !finalizers.includes(FINALIZER_OFFERED)) return undefined;
  if (!finalizers.includes(ORPHAN)) {
    for (const names of ["claimNames", "names"] as const) {
      const waits = await removeOrTell(context, definition, names, signal);
      if (waits !== undefined) return wait(context, definition, waits, signal);
    }
  }
  const others = finalizers.filter((one) => one !== FINALIZER_DEFINED && one !== FINALIZER_OFFERED);
  await setFinalizers(context, definition, others, signal);
  context.client.forgetKinds();
  return undefined;
}

/** What is waited for. */
interface Wait {
  readonly message: string;
  readonly ms: number;
}

async function wait(
  context: Context,
  definition: LiveObject,
  { message, ms }: Wait,
  signal: AbortSignal,
): Promise<Outcome> {
  await tellTermination(context, definition, message, signal);
  return { requeueAfterMs: ms };
}

/** @throws {ApiError} if the server refuses; it is told by then */
async function removeOrTell(
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
    await tellTermination(context, definition, message, signal);
    throw error;
  }
}

async function tellTermination(
  context: Context,
  definition: LiveObject,
  message: string,
  signal: AbortSignal,
): Promise<void> {
  const offers = objectAt(definition, "spec", "claimNames")["kind"] !== undefined;
  await setStatus(
    context,
    definition,
    [
      { type: "Established", status: "False", reason: TERMINATING, message },
      ...(offers ? [{ type: "Offered", status: "False", reason: "TerminatingCompositeResourceClaim" } as const] : []),
    ],
    {},
    signal,
  );
}

/**
 * Removes the instances of a kind, then its CRD; undefined when it is gone. A CRD that is not this definition's is left alone,
 * with its instances.
 */
async function removeKind(
  context: Context,
  definition: LiveObject,
  names: "names" | "claimNames",
  signal: AbortSignal,
): Promise<Wait | undefined> {
  const plural = textAt(definition, "spec", names, "plural");
  const group = textAt(definition, "spec", "group");
  if (plural === undefined || group === undefined) return undefined;
  const crd = await findCrd(context, `${plural}.${group}`, signal);
  if (crd === undefined || controllerOf(crd)?.uid !== definition.metadata.uid) return undefined;
  const waitForCrd = {
    message: `waits for the CustomResourceDefinition ${crd.metadata.name} to be deleted`,
    ms: WAIT_FOR_CRD_MS,
  };
  const kind = kindOf(crd);
  const instances = kind === undefined ? [] : await instancesOf(context, crd, kind, signal);
  if (instances === undefined) return waitForCrd;
  if (kind !== undefined && instances.length > 0) {
    const living = instances.filter(({ metadata }) => metadata["deletionTimestamp"] === undefined);
    const policy = finalizersOf(definition).includes(FOREGROUND) ? "Foreground" : undefined;
    for (let start = 0; start < living.length; start += DELETES_AT_ONCE) {
      const some = living.slice(start, start + DELETES_AT_ONCE);
      await Promise.all(some.map((instance) => deleteExact(context, instance, apiVersionOf(kind), policy, signal)));
    }
    const message = `waits for ${instances.length} ${kind.plural} to be deleted, such as ${instances[0]?.metadata.name ?? ""}`;
    return { message, ms: WAIT_FOR_INSTANCES_MS };
  }
  if (crd.metadata["deletionTimestamp"] === undefined)
    await deleteExact(context, crd, crd.apiVersion, undefined, signal);
  return waitForCrd;
}

/** What a CRD serves; its names are its own, whatever became of the definition's. */
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
 * The instances of a kind; undefined where they are not known for the moment. A server takes the path of a kind away before the
 * CRD that was deleted is gone, and adds that of a new one some time after it is established.
 */
async function instancesOf(
  { client }: Context,
  crd: LiveObject,
  kind: ResourceKind,
  signal: AbortSignal,
): Promise<readonly LiveObject[] | undefined> {
  try {
    return (await client.list(kind, { signal })).items;
  } catch (error) {
    if (!isApiError(error, "KindNotServed", "NotFound")) throw error;
    // A CRD that was never established serves nothing, and has no instances. Of another there are perhaps some.
    return conditionOf(crd, "Established")?.["status"] === "True" ? undefined : [];
  }
}

/** Deletes this very object: another that took its name meanwhile stays. */
async function deleteExact(
  { client }: Context,
  { kind, metadata }: LiveObject,
  apiVersion: string,
  propagationPolicy: "Foreground" | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace, uid } = metadata;
  try {
    await client.delete({ apiVersion, kind, name, namespace }, { preconditions: { uid }, propagationPolicy, signal });
  } catch (error) {
    if (!isApiError(error, "NotFound", "Conflict")) throw error;
  }
}
