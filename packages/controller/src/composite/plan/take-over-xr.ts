import { type JsonObject, objectAt, objectsAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { lastApplied } from "../../objects/applied-fields.ts";
import { FIELD_MANAGERS } from "../../objects/field-managers.ts";
import { mergeFields } from "../../objects/managed-fields.ts";
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
  const why = "an older version owns fields under Crossplane's name";
  return withOwners(xr, managedFields, { as: "xr", manager: FIELD_MANAGERS.xr, why });
}

function isOwn(entry: JsonObject): boolean {
  return isApplyOf(entry, FIELD_MANAGERS.xr);
}

/** Crossplane itself applies no metadata of an XR under this name. */
function isFormer(entry: JsonObject): boolean {
  return isApplyOf(entry, FIELD_MANAGERS.composite) && "f:metadata" in objectAt(entry, "fieldsV1");
}

function isApplyOf({ manager, operation, subresource = "" }: JsonObject, name: string): boolean {
  return manager === name && operation === "Apply" && subresource === "";
}
