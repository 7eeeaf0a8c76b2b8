import { type JsonObject, objectAt, objectsAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { lastApplied } from "../../objects/applied-fields.ts";
import { FIELD_MANAGERS } from "../../objects/field-managers.ts";
import { mergeFields } from "../../objects/managed-fields.ts";
import type { ActorName } from "../state/composite-actors.ts";
import { type TakeOver, withOwners } from "./take-over.ts";

/**
 * Plans to take over the fields of an XR that older versions of the controller applied. They used the name with which
 * Crossplane applies references, so Crossplane's next apply would remove the fields, such as a pinned revision.
 *
 * @returns undefined if there is nothing to take over
 */
export function takeOverXr(xr: LiveObject): TakeOver | undefined {
  const entries = objectsAt(xr, "metadata", "managedFields");
  const former = entries.find((entry) => isFormer(entry));
  if (former === undefined) return undefined;
  const fieldsV1: JsonObject = {};
  mergeFields(fieldsV1, objectAt(former, "fieldsV1"));
  mergeFields(fieldsV1, lastApplied(xr, FIELD_MANAGERS.xr, "")?.fields ?? {});
  const rest = entries.filter((entry) => entry !== former && !isOwn(entry));
  const managedFields = [...rest, { ...former, manager: FIELD_MANAGERS.xr, fieldsV1 }];
  return withOwners(xr, managedFields, { as: "xr", manager: FIELD_MANAGERS.xr, why: WHY });
}

/**
 * Plans to give up the time of publishing, which older versions applied with the status. Crossplane's next apply would
 * remove it, and leave an empty `connectionDetails` that the API server refuses. Without an owner, it stays.
 *
 * @param as the writer of the status
 * @returns undefined if the controller does not own the time
 */
export function giveUpPublishTime(xr: LiveObject, as: ActorName): TakeOver | undefined {
  const entries = objectsAt(xr, "metadata", "managedFields");
  const owner = entries.find(
    (entry) => isApplyOf(entry, FIELD_MANAGERS.composite, "status") && DETAILS in objectAt(entry, "fieldsV1", STATUS),
  );
  if (owner === undefined) return undefined;
  const { [DETAILS]: _, ...status } = objectAt(owner, "fieldsV1", STATUS);
  const kept = { ...owner, fieldsV1: { ...objectAt(owner, "fieldsV1"), [STATUS]: status } };
  // Not a write of the status: there, the API server ignores changed owners.
  return withOwners(
    xr,
    entries.map((entry) => (entry === owner ? kept : entry)),
    { as, manager: FIELD_MANAGERS.xr, why: WHY },
  );
}

const WHY = "an older version owns fields under Crossplane's name";
const STATUS = "f:status";
const DETAILS = "f:connectionDetails";

function isOwn(entry: JsonObject): boolean {
  return isApplyOf(entry, FIELD_MANAGERS.xr);
}

/** Crossplane itself applies no metadata of an XR under this name. */
function isFormer(entry: JsonObject): boolean {
  return isApplyOf(entry, FIELD_MANAGERS.composite) && "f:metadata" in objectAt(entry, "fieldsV1");
}

function isApplyOf({ manager, operation, subresource = "" }: JsonObject, name: string, part = ""): boolean {
  return manager === name && operation === "Apply" && subresource === part;
}
