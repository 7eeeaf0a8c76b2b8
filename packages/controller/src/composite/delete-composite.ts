import { isApiError, type LiveObject } from "@xfn/kubernetes";
import { asCompositeError, CompositeError, combineFailures } from "../objects/composite-error.ts";
import { compositeKindOf } from "../objects/definition-kinds.ts";
import { FINALIZER_COMPOSITE, FINALIZER_FOREGROUND, FINALIZER_ORPHAN, finalizersOf } from "../objects/finalizers.ts";
import { NAMESPACES, referenceOf } from "../objects/kinds.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { describeReference, recordedReferences, referenceTo } from "../objects/references.ts";
import { REQUEUE_AFTER_MS } from "../objects/requeue-after.ts";
import { SelectionError } from "../revision/selection-error.ts";
import type { Report } from "./apply/composite-status.ts";
import { deleteObjects } from "./apply/delete-objects.ts";
import { readConnectionSecret } from "./observe/read-connection-secret.ts";
import { recordedStates } from "./observe/recorded-state.ts";
import { type Propagation, planRelease } from "./plan/plan-deletion.ts";
import type { CompositePort, Subject } from "./state/composite-port.ts";
import type { ReconcileReader } from "./state/reconcile-reader.ts";

/**
 * Deletes the composed resources of an XR with the rights of its accounts, and removes its finalizer: see
 * {@link deleteWithRights}.
 *
 * Kubernetes deletes the accounts, roles and XRs of a namespace in any order, and rejects attempts to recreate them. It
 * also deletes the composed resources of these XRs, because they are in the same namespace. If an XR lacks the rights,
 * the controller only removes its finalizer, with the controller's own rights.
 *
 * @throws {CompositeError} if the server refuses a deletion, or does not list a kind that it serves. All other
 *   deletions have begun by then, and the XR remains
 * @throws {ApiError} `Conflict` if the XR has changed since it was read
 */
export async function deleteComposite(port: CompositePort, subject: Subject): Promise<Report> {
  const { actors, clock, writer } = port;
  const { definition, xr } = subject;
  try {
    await actors.xr.require(compositeKindOf(definition), xr, clock.signal);
    return await deleteWithRights(port, subject);
  } catch (error) {
    if (!(await isLeftToNamespace(actors.reader("own"), xr, error))) throw error;
    await writer.executeOrThrow(xr, planRelease(xr, { as: "own" })).catch((cause: unknown) => {
      if (isApiError(cause, "Conflict")) throw cause;
      const action =
        `cannot remove the finalizer ${FINALIZER_COMPOSITE} of ${describeReference(referenceTo(xr))}, whose namespace is ` +
        "being deleted with its roles; grant the controller the verb patch on this kind in a ClusterRole";
      throw asCompositeError(cause, action, false);
    });
    return {};
  }
}

/** Whether an XR lacks rights that the deletion of its namespace may have removed. */
async function isLeftToNamespace(reader: ReconcileReader, { metadata }: LiveObject, error: unknown): Promise<boolean> {
  const { namespace } = metadata;
  const isRefused =
    isApiError(error, "Forbidden") ||
    (error instanceof CompositeError && ["Forbidden", "ServiceAccountNotFound"].includes(error.code));
  if (namespace === undefined || !isRefused) return false;
  try {
    const found = await reader.readOnce(referenceOf(NAMESPACES, namespace));
    return found !== undefined && isBeingDeleted(found);
  } catch (cause) {
    // Without the right to read namespaces, report the first error.
    if (isApiError(cause, "Forbidden")) return false;
    throw cause;
  }
}

/**
 * Deletes the composed resources that an XR controls, and its connection secret, and then removes the XR's finalizer.
 * With the deletion policy Foreground it waits until everything is deleted; with Background it does not wait; with
 * Orphan it deletes nothing.
 *
 * The garbage collector does the same, except after the XR's own kind is gone, such as when its definition is deleted.
 *
 * @throws {CompositeError} if the server refuses a deletion, or does not list a kind that it serves. All other
 *   deletions have begun by then, and the XR remains
 * @throws {ApiError} `Conflict` if the XR has changed since it was read
 */
async function deleteWithRights(port: CompositePort, subject: Subject): Promise<Report> {
  const { actors, writer } = port;
  const { layout, xr } = subject;
  const finalizers = finalizersOf(xr);
  if (!finalizers.includes(FINALIZER_COMPOSITE)) return {};
  const isForeground = finalizers.includes(FINALIZER_FOREGROUND);
  const isOrphan = finalizers.includes(FINALIZER_ORPHAN);
  const { remaining, failure } = isOrphan
    ? { remaining: 0, failure: undefined }
    : await deleteRecorded(port, subject, isForeground ? "Foreground" : "Background");
  if (isForeground && failure !== undefined) throw failure;
  if (isForeground && remaining > 0) {
    const message = `Waiting for ${remaining} composed resources to be deleted`;
    return {
      status: { conditions: [{ type: "Ready", status: "False", reason: "Deleting", message }] },
      outcome: () => ({ requeueAfterMs: REQUEUE_AFTER_MS.composedDeletion }),
    };
  }
  const secret = isOrphan ? undefined : await readConnectionSecret(actors.reader("xr"), xr, layout);
  await writer.executeOrThrow(xr, planRelease(xr, { secret, keepsFinalizer: failure !== undefined }));
  if (failure !== undefined) throw failure;
  return {};
}

/**
 * Selects the account of the XR's Composition, whose rights the deletion of composed resources needs. An XR without
 * composed resources needs no account.
 *
 * @returns why no Composition is selected. The deletion then uses the rights of the XR: without a Composition, the
 *   composing account is unknown, and the XR must still be deletable
 * @throws {CompositeError} if the account may not be used
 */
async function useComposingAccount(
  { actors }: CompositePort,
  { layout, xr }: Subject,
): Promise<SelectionError | undefined> {
  if (recordedReferences(xr, layout).length === 0) return undefined;
  try {
    const { composition } = await actors.select(xr);
    await actors.composeWith(composition, xr);
    return undefined;
  } catch (error) {
    if (error instanceof SelectionError) return error;
    throw error;
  }
}

/** Adds a way out to the error of a deletion that may lack the rights of its Composition's account. */
function withoutAccount(failure: CompositeError, { message }: SelectionError): CompositeError {
  if (failure.code !== "Forbidden") return failure;
  const reason = `the service account of its Composition is unknown: ${message}`;
  return new CompositeError(failure.code, `${failure.message}; ${reason}`, { cause: failure });
}

/** Begins every possible deletion: a failed one does not prevent the others. */
async function deleteRecorded(
  port: CompositePort,
  subject: Subject,
  propagation: Propagation,
): Promise<{ remaining: number; failure: CompositeError | undefined }> {
  const unselected = await useComposingAccount(port, subject);
  const { actors, shown, writer } = port;
  const { layout, xr } = subject;
  const reader = actors.reader("composition");
  const states = await recordedStates({ composition: reader, own: actors.reader("own") }, xr, layout);
  const found = states.flatMap((state) => (state.is === "found" ? [state.object] : []));
  const deletion = await deleteObjects({ reader, writer }, xr, found, propagation);
  for (const note of deletion.notes) shown.warn(note);
  const unreadable = states.flatMap((state) => (state.is === "unreadable" ? [state.error] : []));
  for (const error of unreadable) if (!(error instanceof CompositeError)) throw error;
  const failures = [...unreadable, ...deletion.failures].filter((error) => error instanceof CompositeError);
  const failure = combineFailures(failures);
  return {
    remaining: deletion.deleting + states.filter(({ is }) => is === "deleting").length,
    failure: unselected && failure ? withoutAccount(failure, unselected) : failure,
  };
}
