import type { Layout } from "@xfn/composition";
import { textAt } from "@xfn/json";
import { ApiError, isApiError, type LiveObject, type ObjectReference } from "@xfn/kubernetes";
import { asCompositeError } from "../../objects/composite-error.ts";
import { isTrue } from "../../objects/conditions.ts";
import { CRDS } from "../../objects/kinds.ts";
import { isBeingDeleted } from "../../objects/owner.ts";
import { describeReference, recordedReferences } from "../../objects/references.ts";
import { servedVersions } from "../../objects/served-versions.ts";
import type { ReconcileReader } from "../state/reconcile-reader.ts";
import { readRecorded } from "./read-recorded.ts";

/** The state of a recorded composed resource during the deletion of its XR. */
export type RecordedState =
  | { readonly is: "found"; readonly object: LiveObject }
  | { readonly is: "gone" }
  /** Its CRD is being deleted, and the object with it. */
  | { readonly is: "deleting" }
  | { readonly is: "unreadable"; readonly error: Error };

/**
 * Reads every object that an XR has recorded. An object that cannot be read does not prevent the deletion of the
 * others.
 *
 * @throws {unknown} an error that is not an answer of the server, such as an abort
 */
export async function recordedStates(
  { composition, own }: { readonly composition: ReconcileReader; readonly own: ReconcileReader },
  xr: LiveObject,
  layout: Layout,
): Promise<RecordedState[]> {
  let listed: Promise<readonly LiveObject[]> | undefined;
  // A cluster may have thousands of CRDs: list them once, and only if a kind is not served.
  const crds = (): Promise<readonly LiveObject[]> => (listed ??= own.listOf(CRDS));
  const states: RecordedState[] = [];
  for (const reference of recordedReferences(xr, layout)) {
    states.push(await stateOf(composition, xr, reference, crds));
  }
  return states;
}

async function stateOf(
  reader: ReconcileReader,
  xr: LiveObject,
  reference: ObjectReference,
  crds: () => Promise<readonly LiveObject[]>,
): Promise<RecordedState> {
  const { apiVersion, kind: name } = reference;
  try {
    const kind = await reader.kindOf(apiVersion, name);
    const object = await readRecorded(reader, xr, kind, reference);
    return object === undefined ? { is: "gone" } : { is: "found", object };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const action = `cannot delete ${describeReference(reference)}`;
    if (isApiError(error, "Forbidden")) return { is: "unreadable", error: asCompositeError(error, action, false) };
    if (!isApiError(error, "KindNotServed")) return { is: "unreadable", error };
    const crd = crdOf(reference, await crds());
    // Without a CRD, no objects exist.
    if (crd === undefined) return { is: "gone" };
    if (isBeingDeleted(crd)) return { is: "deleting" };
    const served = apiVersionsOf(crd);
    const [other] = served;
    // Discovery lags behind a new CRD, and the API servers of a cluster do not learn of it at the same time.
    if (other === undefined || served.includes(apiVersion))
      return { is: "unreadable", error: asCompositeError(error, action, false) };
    // The recorded version is no longer served, but the object exists in every served version.
    return await stateOf(reader, xr, { ...reference, apiVersion: other }, crds);
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
