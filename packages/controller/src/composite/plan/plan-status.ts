import { type Layout, publishesDetails } from "@xfn/composition";
import { SYSTEM_CONDITIONS } from "@xfn/functionio";
import { type JsonObject, type KubernetesObject, objectAt, objectsAt, textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import type { ApplyCache } from "../../objects/apply-cache.ts";
import { type Condition, conditionIn, timestamp, withConditions } from "../../objects/conditions.ts";
import { FIELD_MANAGERS } from "../../objects/field-managers.ts";
import { ANNOTATION_RECONCILE_REQUESTED } from "../../objects/labels.ts";
import { isPaused } from "../../objects/read-objects.ts";
import { referenceTo } from "../../objects/references.ts";
import type { Action } from "../../plan/action.ts";
import type { Plan } from "../../plan/plan.ts";
import type { ActorName } from "../state/composite-actors.ts";
import { statusIntent } from "./composite-intent.ts";
import { giveUpPublishTime } from "./take-over-xr.ts";

/** The update of an XR's status by one reconcile. */
export interface StatusUpdate {
  /** The desired XR. Absent: only the conditions change. */
  readonly desired?: KubernetesObject | undefined;
  readonly conditions: readonly Condition[];
  /** Whether this reconcile published connection details. */
  readonly published?: boolean;
}

/** Input of {@link planStatus}. */
export interface StatusInput extends StatusUpdate {
  readonly xr: LiveObject;
  readonly layout: Layout;
  readonly applies: ApplyCache;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Plans to write an XR's status if it changes. Other writers own conditions of the same list, so the XR must not have
 * changed since it was read.
 */
export function planStatus(input: StatusInput): Plan<ActorName> {
  const { xr, layout, desired, applies } = input;
  const { name, namespace } = xr.metadata;
  const intent: KubernetesObject = {
    apiVersion: xr.apiVersion,
    kind: xr.kind,
    metadata: { name, ...(namespace !== undefined && { namespace }) },
    status: statusOf(input),
  };
  const manager = FIELD_MANAGERS.composite;
  // Conditions must report the rights that the account lacks, so the controller writes them with its own rights.
  const as = desired === undefined ? "own" : "xr";
  const given = publishesDetails(layout) ? giveUpPublishTime(xr, as) : undefined;
  const isApplied = applies.isApplied(intent, given?.object ?? xr, { fieldManager: manager, subresource: "status" });
  const why = "the status or a condition differs";
  const common = { on: referenceTo(xr), part: "status", seen: xr, guard: "version" } as const;
  const actions: Action<ActorName>[] = [
    ...(given === undefined ? [] : [given.action]),
    ...(isApplied ? [] : [{ ...common, do: "apply", as, why, manager, intent } as const]),
    ...(isPublished(input) ? [{ ...common, ...publishTime(input), do: "patch", as: "xr" } as const] : []),
  ];
  return { stages: actions.length === 0 ? [] : [{ name: "status", actions, onFailure: "stop" }] };
}

function isPublished({ layout, published }: StatusInput): boolean {
  return published === true && publishesDetails(layout);
}

/** The write of the time of publishing: see `giveUpPublishTime` for the reason why the status lacks it. */
function publishTime({ now }: StatusInput): { body: JsonObject; manager: string; why: string } {
  const connectionDetails = { lastPublishedTime: timestamp(now) };
  return { body: { status: { connectionDetails } }, manager: FIELD_MANAGERS.xr, why: "the connection secret changed" };
}

function statusOf({ xr, layout, desired, conditions, now }: StatusInput): KubernetesObject {
  const current = objectAt(xr, "status")["conditions"];
  // If two conditions have one type, the later one wins. Setting both would give each a new transition time.
  const all = [...new Map(conditions.map((condition) => [condition.type, condition])).values()];
  const handled = handledRequest(xr);
  return {
    ...statusIntent(xr, desired, layout),
    conditions: withConditions(xr, all, now) ?? current ?? [],
    ...(handled !== undefined && { lastHandledReconcileAt: handled }),
  };
}

/** The last token of a reconcile request that a reconcile handles; undefined if there never was one. */
function handledRequest(xr: LiveObject): string | undefined {
  return newRequest(xr) ?? textAt(xr, "status", "lastHandledReconcileAt");
}

/** The token of a reconcile request that no reconcile has handled yet. As in Crossplane, paused XRs handle none. */
export function newRequest(xr: LiveObject): string | undefined {
  const requested = xr.metadata.annotations?.[ANNOTATION_RECONCILE_REQUESTED];
  const isNew = requested !== textAt(xr, "status", "lastHandledReconcileAt");
  return isNew && !isPaused(xr) ? requested : undefined;
}

/** The conditions that a function sets, without their times: the controller sets those. */
export function conditionsOf(desired: KubernetesObject): Condition[] {
  return objectsAt(desired, "status", "conditions").flatMap((one) => {
    const condition = conditionIn(one);
    return condition === undefined || SYSTEM_CONDITIONS.has(condition.type) ? [] : [condition];
  });
}
