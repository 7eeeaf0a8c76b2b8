import type { LiveObject } from "@xfn/kubernetes";
import { type Condition, conditionOf, RECONCILE_ERROR } from "../../objects/conditions.ts";
import type { Failure } from "../state/explain-failure.ts";
import type { Shown } from "../state/shown.ts";

/** The conditions of an XR after a reconcile: those of its functions, and the controller's own. */
export function conditionsAfter(
  shown: Shown,
  failure: Failure | undefined,
  readiness: Condition | undefined,
): Condition[] {
  const own = [responsiveCondition(shown), syncedCondition(failure), ...(readiness === undefined ? [] : [readiness])];
  return [...shown.conditions, ...own];
}

export function pausedConditions(shown: Shown): Condition[] {
  return [responsiveCondition(shown), { type: "Synced", status: "False", reason: "ReconcilePaused" }];
}

/** The condition `Synced`. As in Crossplane, all failures have one reason; the message begins with the code. */
function syncedCondition(failure: Failure | undefined): Condition {
  const type = "Synced";
  if (failure === undefined) return { type, status: "True", reason: "ReconcileSuccess" };
  return { type, status: "False", reason: RECONCILE_ERROR, message: `${failure.reason}: ${failure.message}` };
}

/** The condition `Responsive`: false while the circuit breaker delays writes because of a fight. */
function responsiveCondition({ fights }: Shown): Condition {
  const type = "Responsive";
  if (fights.length > 0) return { type, status: "False", reason: "WatchCircuitOpen", message: fights.join("; ") };
  return { type, status: "True", reason: "WatchCircuitClosed" };
}

/** The condition `Cached`, which an XR has once composed resources were read live for lack of a watch or of space. */
export function cachedCondition({ uncached, unwatched }: Shown, xr: LiveObject): Condition[] {
  const type = "Cached";
  const [lost] = [...unwatched].toSorted(([a], [b]) => (a < b ? -1 : 1));
  if (lost !== undefined) {
    const message =
      `the controller cannot watch the kind ${lost[0]} of composed resources, so it notices their changes late, at ` +
      `polls: ${lost[1]}`;
    return [{ type, status: "False", reason: "WatchFailed", message }];
  }
  if (uncached.size === 0)
    return conditionOf(xr, type) === undefined ? [] : [{ type, status: "True", reason: "CacheAvailable" }];
  const message =
    `the objects of ${[...uncached].toSorted().join(" and ")} are too large for the controller's cache, so each ` +
    "reconcile reads those of this resource from the API server; make the objects smaller, or give the controller more memory";
  return [{ type, status: "False", reason: "CacheFull", message }];
}
