import { isObject, type JsonValue } from "@xfn/functionio";
import { isApiError, type LiveObject, type Outcome } from "@xfn/kubernetes";
import { deleteConnectionSecret, secretPlaceOf } from "../connection-secrets.ts";
import { FINALIZER_COMPOSITE } from "../names.ts";
import { writeStatus } from "./composite-status.ts";
import { deleteComposed } from "./delete-composed.ts";
import { recordedReferences, referenceTo } from "./references.ts";
import { readKnown, type Work } from "./work.ts";

/** Somebody may take the last finalizer off a composed resource without our being told, where its kind cannot be watched. */
const LOOK_AGAIN_MS = 10_000;

/**
 * Ends an XR that is being deleted: deletes what it has composed and controls, and its connection secret, and lets it go. With
 * the policy Foreground it goes when all of that is gone; with Background when the deletion of all of that has begun; with
 * Orphan nothing is deleted.
 *
 * The garbage collector would do most of it. But it cannot once the XR's own kind is gone, as when its definition is deleted.
 *
 * @throws {CompositeError} if the server refuses to delete something; the XR stays then
 * @throws {ApiError} `Conflict` if the XR has changed since it was read
 */
export async function deleteComposite(work: Work): Promise<Outcome | undefined> {
  const finalizers = finalizersOf(work.xr);
  if (!finalizers.includes(FINALIZER_COMPOSITE)) return undefined;
  const foreground = finalizers.includes("foregroundDeletion");
  if (!finalizers.includes("orphan")) {
    const remaining = await deleteAll(work, foreground ? "Foreground" : "Background");
    if (foreground && remaining > 0) {
      const message = `Waiting for ${remaining} composed resources to be deleted`;
      await writeStatus(work, { conditions: [{ type: "Ready", status: "False", reason: "Deleting", message }] });
      return { requeueAfterMs: LOOK_AGAIN_MS };
    }
    await deleteConnectionSecret(work.context, work.xr, secretPlaceOf(work.xr), work.signal);
  }
  await release(work);
  return undefined;
}

async function deleteAll(work: Work, policy: "Background" | "Foreground"): Promise<number> {
  let remaining = 0;
  for (const reference of recordedReferences(work.xr)) {
    const object = await readReferenced(work, reference);
    if (object !== undefined && (await deleteComposed(work, object, policy)) === "going") remaining++;
  }
  return remaining;
}

async function readReferenced(work: Work, reference: ReturnType<typeof referenceTo>): Promise<LiveObject | undefined> {
  try {
    const kind = await work.context.client.kind(reference.apiVersion, reference.kind, { signal: work.signal });
    return await readKnown(work, kind, reference);
  } catch (error) {
    // With its CRD every object of a kind went.
    if (isApiError(error, "KindNotServed")) return undefined;
    throw error;
  }
}

async function release({ xr, context, signal }: Work): Promise<void> {
  const finalizers = finalizersOf(xr).filter((one) => one !== FINALIZER_COMPOSITE);
  const { resourceVersion } = xr.metadata;
  try {
    await context.client.patch(
      referenceTo(xr),
      "merge",
      { metadata: { resourceVersion, finalizers } },
      { signal, fieldManager: "apiextensions.crossplane.io/composite" },
    );
  } catch (error) {
    if (!isApiError(error, "NotFound")) throw error;
  }
}

function finalizersOf(xr: LiveObject): JsonValue[] {
  const finalizers = isObject(xr.metadata) ? xr.metadata["finalizers"] : undefined;
  return Array.isArray(finalizers) ? finalizers : [];
}
