import { objectsAt } from "@xfn/json";
import { type LiveObject, qualifiedKind, type ResourceKind } from "@xfn/kubernetes";
import { conditionIn } from "../objects/conditions.ts";

/** The number of objects of a kind whose condition has a status. */
export interface ConditionCount {
  readonly kind: string;
  readonly condition: string;
  readonly status: string;
  readonly count: number;
}

// Functions add conditions of their own, which would make any number of series.
const COUNTED: ReadonlySet<string> = new Set([
  "Ready",
  "Synced",
  "Responsive",
  "Established",
  "Offered",
  "Installed",
  "Healthy",
]);

/** Counts the objects of a kind by condition and status. Conditions of other types are not counted. */
export function countConditions(kind: ResourceKind, objects: readonly LiveObject[]): ConditionCount[] {
  const counts = new Map<string, { condition: string; status: string; count: number }>();
  for (const object of objects) {
    for (const one of objectsAt(object, "status", "conditions")) {
      const condition = conditionIn(one);
      if (condition === undefined || !COUNTED.has(condition.type)) continue;
      const { type, status: state } = condition;
      const entry = counts.get(`${type} ${state}`);
      if (entry === undefined) counts.set(`${type} ${state}`, { condition: type, status: state, count: 1 });
      else entry.count++;
    }
  }
  return [...counts.values()].map((count) => ({ kind: qualifiedKind(kind), ...count }));
}
