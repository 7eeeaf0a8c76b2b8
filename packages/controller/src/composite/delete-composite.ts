import { textAt } from "@xfn/json";
import { isApiError, type LiveObject, type ObjectReference, type Outcome } from "@xfn/kubernetes";
import type { Actor } from "../account/actor.ts";
import { asCompositeError, CompositeError, combineFailures } from "../objects/composite-error.ts";
import { isTrue } from "../objects/conditions.ts";
import { deleteConnectionSecret, secretReferenceOf } from "../objects/connection-secrets.ts";
import { compositeKindOf } from "../objects/definition-kinds.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { FINALIZER_COMPOSITE, FINALIZER_FOREGROUND, FINALIZER_ORPHAN, finalizersOf } from "../objects/finalizers.ts";
import { CRDS, NAMESPACES, referenceOf } from "../objects/kinds.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";
import { describeReference, recordedReferences, referenceTo } from "../objects/references.ts";
import { REQUEUE_AFTER_MS } from "../objects/requeue-after.ts";
import { servedVersions } from "../objects/served-versions.ts";
import { selectRevision } from "../revision/select-revision.ts";
import { SelectionError } from "../revision/selection-error.ts";
import { writeStatus } from "./apply/composite-status.ts";
import { deleteComposed } from "./apply/delete-composed.ts";
import { readRecorded } from "./observe/read-recorded.ts";
import { type ReconcileContext, revisionReader } from "./state/reconcile-context.ts";

/**
 * Deletes what an XR composed with the rights of its accounts, and removes its finalizer: see {@link deleteWithRights}.
 *
 * Kubernetes deletes the accounts and roles of a namespace in any order with its XRs, and refuses to create them again.
 * It deletes what these XRs composed too, because that is in the same namespace. So an XR that lacks the rights only
 * loses its finalizer, with the controller's own rights.
 *
 * @throws {CompositeError} if the server refuses a deletion, or does not list a kind that it serves. All other
 *   deletions have begun by then, and the XR remains
 * @throws {ApiError} `Conflict` if the XR has changed since it was read
 */
export async function deleteComposite(context: ReconcileContext): Promise<Outcome | undefined> {
  const { actors, definition, signal, xr } = context;
  try {
    await actors.xr.require(compositeKindOf(definition), xr, signal);
    return await deleteWithRights(context);
  } catch (error) {
    if (!(await isLeftToNamespace(context, error))) throw error;
    await removeFinalizer(context, actors.own).catch((cause: unknown) => {
      if (isApiError(cause, "Conflict")) throw cause;
      const action =
        `cannot remove the finalizer ${FINALIZER_COMPOSITE} of ${describeReference(referenceTo(xr))}, whose namespace is ` +
        "being deleted with its roles; grant the controller the verb patch on this kind in a ClusterRole";
      throw asCompositeError(cause, action, false);
    });
    return undefined;
  }
}

/** Whether an XR lacks rights that the deletion of its namespace may have withdrawn. */
async function isLeftToNamespace(context: ReconcileContext, error: unknown): Promise<boolean> {
  const { namespace } = context.xr.metadata;
  const isRefused =
    isApiError(error, "Forbidden") ||
    (error instanceof CompositeError && ["Forbidden", "ServiceAccountNotFound"].includes(error.code));
  if (namespace === undefined || !isRefused) return false;
  try {
    const found = await findLive(context.actors.own, referenceOf(NAMESPACES, namespace), context.signal);
    return found !== undefined && isBeingDeleted(found);
  } catch (cause) {
    // Without the right to read namespaces, the first error counts.
    if (isApiError(cause, "Forbidden")) return false;
    throw cause;
  }
}

/**
 * Deletes what an XR composed and controls, and its connection secret, and then removes the XR's finalizer. With the
 * deletion policy Foreground it waits until everything is deleted; with Background it does not wait; with Orphan it
 * deletes nothing.
 *
 * The garbage collector does the same, but not after the XR's own kind is gone, as when its definition is deleted.
 *
 * @throws {CompositeError} if the server refuses a deletion, or does not list a kind that it serves. All other
 *   deletions have begun by then, and the XR remains
 * @throws {ApiError} `Conflict` if the XR has changed since it was read
 */
async function deleteWithRights(context: ReconcileContext): Promise<Outcome | undefined> {
  const finalizers = finalizersOf(context.xr);
  if (!finalizers.includes(FINALIZER_COMPOSITE)) return undefined;
  const isForeground = finalizers.includes(FINALIZER_FOREGROUND);
  if (!finalizers.includes(FINALIZER_ORPHAN)) {
    const unselected = await useComposingAccount(context);
    const deletion = await deleteAll(context, isForeground ? "Foreground" : "Background");
    const { remaining } = deletion;
    const failure = unselected && deletion.failure ? withoutAccount(deletion.failure, unselected) : deletion.failure;
    if (isForeground && failure !== undefined) throw failure;
    if (isForeground && remaining > 0) {
      const message = `Waiting for ${remaining} composed resources to be deleted`;
      await writeStatus(context, { conditions: [{ type: "Ready", status: "False", reason: "Deleting", message }] });
      return { requeueAfterMs: REQUEUE_AFTER_MS.composedDeletion };
    }
    await deleteConnectionSecret(
      context.actors.xr,
      context.xr,
      secretReferenceOf(context.xr, context.layout),
      context.signal,
    );
    if (failure !== undefined) throw failure;
  }
  await removeFinalizer(context, context.actors.xr);
  return undefined;
}

/**
 * Selects the account of the XR's Composition, with whose rights its composed resources are deleted. An XR without any
 * needs no account.
 *
 * @returns why no Composition is selected. The rights are then those of the XR: without a Composition, nothing says
 *   which account composed, and an XR whose Composition was deleted first must still be deletable
 * @throws {CompositeError} if the account may not be used
 */
async function useComposingAccount(context: ReconcileContext): Promise<SelectionError | undefined> {
  const { accounts, definition, layout, signal, xr } = context;
  if (recordedReferences(xr, layout).length === 0) return undefined;
  try {
    const { composition } = await selectRevision(revisionReader(context), definition, xr, signal);
    context.memory.inputs.noteAccount(composition.spec.serviceAccountRef);
    context.actors.composition = await accounts.actorOf(composition, xr, signal);
    return undefined;
  } catch (error) {
    if (error instanceof SelectionError) return error;
    throw error;
  }
}

/** Adds the way out of a deletion that may lack the rights of its Composition's account. */
function withoutAccount(failure: CompositeError, { message }: SelectionError): CompositeError {
  if (failure.code !== "Forbidden") return failure;
  const reason = `the service account of its Composition is unknown: ${message}`;
  return new CompositeError(failure.code, `${failure.message}; ${reason}`, { cause: failure });
}

/** Begins every deletion that is possible: a failed one does not keep the others from running. */
async function deleteAll(
  context: ReconcileContext,
  policy: "Background" | "Foreground",
): Promise<{ remaining: number; failure: CompositeError | undefined }> {
  let remaining = 0;
  const failures: CompositeError[] = [];
  let listed: Promise<readonly LiveObject[]> | undefined;
  // A cluster may have thousands of CRDs: list them once, and only if a kind is not served.
  const crds = (): Promise<readonly LiveObject[]> =>
    (listed ??= context.actors.own.client.list(CRDS, { signal: context.signal }).then(({ items }) => items));
  for (const reference of recordedReferences(context.xr, context.layout)) {
    try {
      const found = await readReferenced(context, reference, crds);
      const result = found === undefined || found === "deleting" ? found : await deleteComposed(context, found, policy);
      if (result === "deleting") remaining++;
    } catch (error) {
      if (!(error instanceof CompositeError)) throw error;
      failures.push(error);
    }
  }
  return { remaining, failure: combineFailures(failures) };
}

/** @returns "deleting" for an object whose CRD is being deleted */
async function readReferenced(
  context: ReconcileContext,
  reference: ObjectReference,
  crds: () => Promise<readonly LiveObject[]>,
): Promise<LiveObject | "deleting" | undefined> {
  const action = `cannot delete ${describeReference(reference)}`;
  try {
    const kind = await context.actors.composition.client.kind(reference.apiVersion, reference.kind, {
      signal: context.signal,
    });
    return await readRecorded(context, kind, reference);
  } catch (error) {
    if (isApiError(error, "Forbidden")) throw asCompositeError(error, action, false);
    if (!isApiError(error, "KindNotServed")) throw error;
    const crd = crdOf(reference, await crds());
    // Without a CRD there are no objects.
    if (crd === undefined) return undefined;
    if (isBeingDeleted(crd)) return "deleting";
    const served = apiVersionsOf(crd);
    const [other] = served;
    // Discovery lags behind a new CRD, and the servers of one cluster do not see it at the same time.
    if (other === undefined || served.includes(reference.apiVersion)) throw asCompositeError(error, action, false);
    // The recorded version is no longer served; the object exists in each served version.
    return readReferenced(context, { ...reference, apiVersion: other }, crds);
  }
}

/** The established CRD of a kind, in any of its versions. */
function crdOf({ apiVersion, kind }: ObjectReference, crds: readonly LiveObject[]): LiveObject | undefined {
  return crds.find(
    (crd) =>
      textAt(crd, "spec", "names", "kind") === kind &&
      textAt(crd, "spec", "group") === apiVersion.split("/")[0] &&
      isTrue(crd, "Established"),
  );
}

function apiVersionsOf(crd: LiveObject): string[] {
  return servedVersions(crd).map((version) => `${textAt(crd, "spec", "group")}/${textAt(version, "name")}`);
}

async function removeFinalizer({ xr, signal }: ReconcileContext, { client }: Actor): Promise<void> {
  const finalizers = finalizersOf(xr).filter((one) => one !== FINALIZER_COMPOSITE);
  const { resourceVersion } = xr.metadata;
  const body = { metadata: { resourceVersion, finalizers } };
  try {
    await client.patch(referenceTo(xr), "merge", body, { signal, fieldManager: FIELD_MANAGERS.composite });
  } catch (error) {
    if (!isApiError(error, "NotFound")) throw error;
  }
}
