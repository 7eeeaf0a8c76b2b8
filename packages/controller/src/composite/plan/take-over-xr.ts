import { isObject, type JsonObject, objectAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { lastApplied } from "../../objects/applied-fields.ts";
import { FIELD_MANAGERS } from "../../objects/field-managers.ts";
import { mergeFields } from "../../objects/managed-fields.ts";
import { referenceTo } from "../../objects/references.ts";
import type { TakeOver } from "./take-over.ts";

/**
 * Plans to take over the fields of an XR that an older version of the controller applied under the name with which
 * Crossplane applies an XR's references. Otherwise Crossplane's next apply would remove them, such as a pinned revision.
 *
 * @returns undefined if there is nothing to take over
 */
export function takeOverXr(xr: LiveObject): TakeOver | undefined {
  const entries = xr.metadata["managedFields"];
  if (!Array.isArray(entries)) return undefined;
  const former = entries.find((entry) => isObject(entry) && isFormer(entry));
  if (!isObject(former)) return undefined;
  const fieldsV1: JsonObject = {};
  mergeFields(fieldsV1, objectAt(former, "fieldsV1"));
  mergeFields(fieldsV1, lastApplied(xr, FIELD_MANAGERS.xr, "")?.fields ?? {});
  const rest = entries.filter((entry) => entry !== former && !isOwn(entry));
  const managedFields = [...rest, { ...former, manager: FIELD_MANAGERS.xr, fieldsV1 }];
  return {
    object: { ...xr, metadata: { ...xr.metadata, managedFields } },
    action: {
      do: "patch",
      as: "xr",
      on: referenceTo(xr),
      manager: FIELD_MANAGERS.xr,
      why: "an older version owns fields under Crossplane's name",
      body: { metadata: { managedFields } },
      seen: xr,
      guard: "version",
    },
  };
}

function isOwn(entry: unknown): boolean {
  return isObject(entry as JsonObject) && isApplyOf(entry as JsonObject, FIELD_MANAGERS.xr);
}

/** Crossplane itself applies no metadata of an XR under this name. */
function isFormer(entry: JsonObject): boolean {
  return isApplyOf(entry, FIELD_MANAGERS.composite) && "f:metadata" in objectAt(entry, "fieldsV1");
}

function isApplyOf({ manager, operation, subresource = "" }: JsonObject, name: string): boolean {
  return manager === name && operation === "Apply" && subresource === "";
}
