import type { Layout } from "@xfn/composition";
import { someOf } from "@xfn/errors";
import type { LiveObject, ObjectReference } from "@xfn/kubernetes";
import { ageOf } from "../../objects/backup-age.ts";
import { CompositeError } from "../../objects/composite-error.ts";
import { FIELD_MANAGERS } from "../../objects/field-managers.ts";
import { FINALIZER_COMPOSITE } from "../../objects/finalizers.ts";
import { describeReference } from "../../objects/references.ts";

/** The field managers that record composed resources: those of this controller and of Crossplane. */
const RECORDERS: readonly unknown[] = [FIELD_MANAGERS.xr, FIELD_MANAGERS.composite, "crossplane"];

/** The number of objects that a message names. It counts the others. */
const MAX_NAMED = 5;

/**
 * Refuses to compose an XR of a backup while recorded objects are missing. The restore may still create them. The XR
 * has another UID, so new objects would have other names, and duplicate the infrastructure.
 *
 * @throws {CompositeError} `RestoreIncomplete`
 */
export function requireRestored(xr: LiveObject, missing: readonly ObjectReference[], layout: Layout): void {
  if (missing.length === 0 || !isRestored(xr, layout)) return;
  const field = layout.isLegacy ? "spec.resourceRefs" : "spec.crossplane.resourceRefs";
  throw new CompositeError(
    "RestoreIncomplete",
    `this object was restored from a backup, and the composed resources ${someOf(missing.map(describeReference), MAX_NAMED)} ` +
      `do not exist yet, so nothing is composed; restore them, or remove them from ${field} to have new ones created`,
  );
}

/**
 * Whether the record of an XR is older than the XR: Velero also restores managed fields. Or another program wrote both
 * the record and the controller's finalizer, which all XRs of a backup have. A user may write references, but not the
 * finalizer.
 */
export function isRestored(xr: LiveObject, { isLegacy }: Layout): boolean {
  const path = ["f:spec", ...(isLegacy ? [] : ["f:crossplane"]), "f:resourceRefs"];
  const record = ageOf(xr, { managers: RECORDERS, path });
  return record === "older" || (record === "foreign" && ageOf(xr, FINALIZER) === "foreign");
}

const FINALIZER = {
  managers: RECORDERS,
  path: ["f:metadata", "f:finalizers", `v:${JSON.stringify(FINALIZER_COMPOSITE)}`],
};
