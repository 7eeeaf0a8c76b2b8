import type { JsonObject, KubernetesObject } from "@xfn/functionio";
import { isObject } from "@xfn/functionio";
import { COMPOSITE_MANAGER, statusIntent } from "../objects/composite-intent.ts";
import { type Condition, withConditions } from "../objects/conditions.ts";
import { objectAt } from "../objects/read-objects.ts";
import { applyChanged, type Work } from "./reconcile-context.ts";

/** What {@link writeStatus} writes. */
export interface StatusUpdate {
  /** What is desired of the XR. Absent: its status stays, conditions apart. */
  readonly wanted?: KubernetesObject | undefined;
  readonly conditions: readonly Condition[];
  /** Connection details were published now. */
  readonly published?: boolean;
}

/**
 * Writes an XR's status if it says something else.
 *
 * @throws {ApiError} `Conflict` if the XR has changed since it was read: the conditions are one list, and others' stand in it too
 */
export async function writeStatus(work: Work, { wanted, conditions, published }: StatusUpdate): Promise<void> {
  const { xr, context } = work;
  const now = context.now();
  const current = objectAt(xr, "status")["conditions"];
  const all = [...(wanted === undefined ? [] : conditionsOf(wanted)), ...conditions];
  const set = withConditions(current, all, now) ?? current ?? [];
  const details = published === true ? { lastPublishedTime: timeOf(now) } : objectAt(xr, "status", "connectionDetails");
  const { name, namespace } = xr.metadata;
  const intent: KubernetesObject = {
    apiVersion: xr.apiVersion,
    kind: xr.kind,
    metadata: { name, ...(namespace !== undefined && { namespace }) },
    status: {
      ...statusIntent(xr, wanted),
      conditions: set,
      ...(Object.keys(details).length > 0 && { connectionDetails: details }),
    },
  };
  const { object } = await applyChanged(work, intent, xr, {
    fieldManager: COMPOSITE_MANAGER,
    subresource: "status",
    onlyIfUnchanged: true,
  });
  work.xr = object;
}

/** Types of condition that say what we found, whatever a function says. */
const OURS: readonly unknown[] = ["Synced", "Ready"];

/** The conditions of its own that a function sets; their times are ours to tell. */
function conditionsOf(wanted: KubernetesObject): Condition[] {
  const list = objectAt(wanted, "status")["conditions"];
  return (Array.isArray(list) ? list : []).flatMap((one) => {
    const condition = isObject(one) ? conditionIn(one) : undefined;
    return condition === undefined || OURS.includes(condition.type) ? [] : [condition];
  });
}

function conditionIn({ type, status, reason, message }: JsonObject): Condition | undefined {
  if (typeof type !== "string" || typeof reason !== "string") return undefined;
  if (status !== "True" && status !== "False" && status !== "Unknown") return undefined;
  return { type, status, reason, ...(typeof message === "string" && { message }) };
}

function timeOf(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19)}Z`;
}
