import { isObject, type JsonValue } from "@xfn/functionio";
import { isApiError, type LiveObject, type ObjectReference, type Outcome } from "@xfn/kubernetes";
import { CompositeError, refused, together } from "../objects/composite-error.ts";
import { conditionOf } from "../objects/conditions.ts";
import { deleteConnectionSecret, secretPlaceOf } from "../objects/connection-secrets.ts";
import { CRDS } from "../objects/kinds.ts";
import { FINALIZER_COMPOSITE } from "../objects/labels.ts";
import { textAt } from "../objects/read-objects.ts";
import { describeReference, recordedReferences, referenceTo } from "../objects/references.ts";
import { servedVersions } from "../objects/served-versions.ts";
import { writeStatus } from "./composite-status.ts";
import { deleteComposed } from "./delete-composed.ts";
import { readRecorded } from "./read-recorded.ts";
import type { Work } from "./reconcile-context.ts";

/** Somebody may take the last finalizer off a composed resource without our being told, where its kind cannot be watched. */
const LOOK_AGAIN_MS = 10_000;

/**
 * Ends an XR that is being deleted: deletes what it has composed and controls, and its connection secret, and lets it go. With
 * the policy Foreground it goes when all of that is gone; with Background when the deletion of all of that has begun; with
 * Orphan nothing is deleted.
 *
 * The garbage collector would do most of it. But it cannot once the XR's own kind is gone, as when its definition is deleted.
 *
 * @throws {CompositeError} if the server refuses to delete something, or does not list a kind that it serves; all else has been
 *   asked to go by then, and the XR stays
 * @throws {ApiError} `Conflict` if the XR has changed since it was read
 */
export async function deleteComposite(work: Work): Promise<Outcome | undefined> {
  const finalizers = finalizersOf(work.xr);
  if (!finalizers.includes(FINALIZER_COMPOSITE)) return undefined;
  const foreground = finalizers.includes("foregroundDeletion");
  if (!finalizers.includes("orphan")) {
    const { remaining, failures } = await deleteAll(work, foreground ? "Foreground" : "Background");
    if (foreground && failures.length > 0) throw together(failures);
    if (foreground && remaining > 0) {
      const message = `Waiting for ${remaining} composed resources to be deleted`;
      await writeStatus(work, { conditions: [{ type: "Ready", status: "False", reason: "Deleting", message }] });
      return { requeueAfterMs: LOOK_AGAIN_MS };
    }
    await deleteConnectionSecret(work.context, work.xr, secretPlaceOf(work.xr), work.signal);
    if (failures.length > 0) throw together(failures);
  }
  await release(work);
  return undefined;
}

/** Deletes what can be deleted: one that cannot keeps no other from going. */
async function deleteAll(
  work: Work,
  policy: "Background" | "Foreground",
): Promise<{ remaining: number; failures: readonly CompositeError[] }> {
  let remaining = 0;
  const failures: CompositeError[] = [];
  let listed: Promise<readonly LiveObject[]> | undefined;
  // There may be thousands: read once, and only where something is not served.
  const crds = (): Promise<readonly LiveObject[]> =>
    (listed ??= work.context.client.list(CRDS, { signal: work.signal }).then(({ items }) => items));
  for (const reference of recordedReferences(work.xr)) {
    try {
      const found = await readReferenced(work, reference, crds);
      const became = found === undefined || found === "going" ? found : await deleteComposed(work, found, policy);
      if (became === "going") remaining++;
    } catch (error) {
      if (!(error instanceof CompositeError)) throw error;
      failures.push(error);
    }
  }
  return { remaining, failures };
}

async function readReferenced(
  work: Work,
  reference: ObjectReference,
  crds: () => Promise<readonly LiveObject[]>,
): Promise<LiveObject | "going" | undefined> {
  try {
    const kind = await work.context.client.kind(reference.apiVersion, reference.kind, { signal: work.signal });
    return await readRecorded(work, kind, reference);
  } catch (error) {
    if (isApiError(error, "Forbidden")) throw refused(error, `cannot delete ${describeReference(reference)}`, false);
    if (!isApiError(error, "KindNotServed")) throw error;
    const crd = crdOf(reference, await crds());
    // With its CRD every object of a kind went.
    if (crd === undefined) return undefined;
    if (crd.metadata["deletionTimestamp"] !== undefined) return "going";
    const served = apiVersionsOf(crd);
    const other = served[0];
    // A server does not list the kind for a moment after it has taken the CRD, and one of several servers for longer than the others.
    if (other === undefined || served.includes(reference.apiVersion))
      throw refused(error, `cannot delete ${describeReference(reference)}`, false);
    // It is there in each version that is served, whichever it was recorded in.
    return readReferenced(work, { ...reference, apiVersion: other }, crds);
  }
}

/** The CRD of a kind, whatever its versions. */
function crdOf({ apiVersion, kind }: ObjectReference, crds: readonly LiveObject[]): LiveObject | undefined {
  return crds.find(
    (crd) =>
      textAt(crd, "spec", "names", "kind") === kind &&
      textAt(crd, "spec", "group") === apiVersion.split("/")[0] &&
      conditionOf(crd, "Established")?.["status"] === "True",
  );
}

function apiVersionsOf(crd: LiveObject): string[] {
  return servedVersions(crd).map((version) => `${textAt(crd, "spec", "group")}/${textAt(version, "name")}`);
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
