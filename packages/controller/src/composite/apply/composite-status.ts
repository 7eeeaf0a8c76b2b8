import { publishesDetails } from "@xfn/composition";
import { isObject, type KubernetesObject, objectAt } from "@xfn/json";
import { type Condition, conditionIn, timestamp, withConditions } from "../../objects/conditions.ts";
import { FIELD_MANAGERS } from "../../objects/field-managers.ts";
import { statusIntent } from "../plan/composite-intent.ts";
import { shownConditions } from "../state/emit-events.ts";
import { applyChanged, type ReconcileContext } from "../state/reconcile-context.ts";

/** Input of {@link writeStatus}. */
export interface StatusUpdate {
  /** The desired XR. Absent: only the conditions change. */
  readonly desired?: KubernetesObject | undefined;
  readonly conditions: readonly Condition[];
  /** Whether this reconcile published connection details. */
  readonly published?: boolean;
}

/**
 * Writes an XR's status if it changes.
 *
 * @throws {ApiError} `Conflict` if the XR has changed since it was read: other writers own conditions of the same list
 */
export async function writeStatus(
  context: ReconcileContext,
  { desired, conditions, published }: StatusUpdate,
): Promise<void> {
  const { actors, xr, layout, secrets } = context;
  const now = context.now();
  const current = objectAt(xr, "status")["conditions"];
  // Messages of the controller can quote the messages of functions, servers and composed resources.
  const set = [
    ...(desired === undefined ? [] : shownConditions(context, conditionsOf(desired))),
    ...conditions.map((one) => secrets.scrubMessage(one)),
  ];
  // Of two of one type, the later wins. Setting both would give a new time to each.
  const all = [...new Map(set.map((condition) => [condition.type, condition])).values()];
  const details =
    published === true ? { lastPublishedTime: timestamp(now) } : objectAt(xr, "status", "connectionDetails");
  const isPublishing = publishesDetails(layout) && Object.keys(details).length > 0;
  const { name, namespace } = xr.metadata;
  const intent: KubernetesObject = {
    apiVersion: xr.apiVersion,
    kind: xr.kind,
    metadata: { name, ...(namespace !== undefined && { namespace }) },
    status: {
      ...statusIntent(xr, desired, layout),
      conditions: withConditions(xr, all, now) ?? current ?? [],
      ...(isPublishing && { connectionDetails: details }),
    },
  };
  // Conditions must tell what the account may not do.
  const { object } = await applyChanged(context, desired === undefined ? actors.own : actors.xr, intent, xr, {
    fieldManager: FIELD_MANAGERS.composite,
    subresource: "status",
    onlyIfUnchanged: true,
  });
  context.xr = object;
}

/** The types of condition that only the controller sets. */
const RESERVED: readonly unknown[] = ["Synced", "Ready", "Responsive"];

/** The conditions that a function sets. Their times are left out: the controller sets them. */
function conditionsOf(desired: KubernetesObject): Condition[] {
  const list = objectAt(desired, "status")["conditions"];
  return (Array.isArray(list) ? list : []).flatMap((one) => {
    const condition = isObject(one) ? conditionIn(one) : undefined;
    return condition === undefined || RESERVED.includes(condition.type) ? [] : [condition];
  });
}
