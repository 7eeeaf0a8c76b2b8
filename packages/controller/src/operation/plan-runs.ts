import { type JsonObject, objectAt, textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { OPERATIONS, type RunsSpec } from "../kinds/operations.ts";
import { conditionOf, timestamp } from "../objects/conditions.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { referenceOf, typeMeta } from "../objects/kinds.ts";
import { controllerReferenceTo, isBeingDeleted } from "../objects/owner.ts";
import { referenceTo } from "../objects/references.ts";
import type { Action } from "../plan/action.ts";
import { hasSucceeded } from "./plan-operation.ts";

// The parts that CronOperations and WatchOperations share.

/** Crossplane's defaults, for objects of its CRDs. */
const KEPT = { succeeded: 3, failed: 1 };

/** The Operations of an owner. */
export interface Runs {
  /** Those that have not ended, in the order of their names. */
  readonly unfinished: readonly LiveObject[];
  /** Deletions of those beyond the history limits. */
  readonly collect: readonly Action[];
  /** When the last one was created and the last one succeeded, in milliseconds; NaN if there is none. */
  readonly lastCreated: number;
  readonly lastSuccess: number;
}

export function runsOf(operations: readonly LiveObject[], spec: RunsSpec): Runs {
  const live = operations.filter((one) => !isBeingDeleted(one));
  const ended = live
    .filter((one) => hasSucceeded(one) !== undefined)
    .toSorted((a, b) => createdAt(b) - createdAt(a) || (b.metadata.name < a.metadata.name ? -1 : 1));
  const { successfulHistoryLimit = KEPT.succeeded, failedHistoryLimit = KEPT.failed } = spec;
  const old = [
    ...ended.filter((one) => hasSucceeded(one) === true).slice(successfulHistoryLimit),
    ...ended.filter((one) => hasSucceeded(one) === false).slice(failedHistoryLimit),
  ];
  const successes = ended.filter((one) => hasSucceeded(one) === true);
  return {
    unfinished: live
      .filter((one) => hasSucceeded(one) === undefined)
      .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)),
    collect: old.map((one) => deletionOf(one, "the history limits are reached")),
    lastCreated: latest(operations.map(createdAt)),
    lastSuccess: latest(
      successes.map((one) => Date.parse(textAt(conditionOf(one, "Succeeded"), "lastTransitionTime") ?? "")),
    ),
  };
}

/** The latest of some times; NaN if there is none. */
export function latest(times: readonly number[]): number {
  const known = times.filter((time) => !Number.isNaN(time));
  return known.length === 0 ? Number.NaN : Math.max(...known);
}

function createdAt({ metadata }: LiveObject): number {
  return Date.parse(textAt(metadata, "creationTimestamp") ?? "");
}

/** The fields of the status of an owner. Times never go back when Operations are deleted. */
export function runsStatus(
  { unfinished, lastCreated, lastSuccess }: Pick<Runs, "unfinished" | "lastCreated" | "lastSuccess">,
  before: { readonly lastScheduleTime: string | undefined; readonly lastSuccessfulTime: string | undefined },
): JsonObject {
  const later = (time: number, known: string | undefined): JsonObject["time"] => {
    const last = latest([time, Date.parse(known ?? "")]);
    return Number.isNaN(last) ? null : timestamp(last);
  };
  return {
    runningOperationRefs: unfinished.map(({ metadata: { name } }) => ({ name })),
    lastScheduleTime: later(lastCreated, before.lastScheduleTime),
    lastSuccessfulTime: later(lastSuccess, before.lastSuccessfulTime),
  };
}

export function deletionOf(operation: LiveObject, why: string): Action {
  const on = referenceTo(operation);
  const manager = FIELD_MANAGERS.operation;
  return { as: "own", on, manager, why, do: "delete", seen: operation, guard: "uid" };
}

/** The identity of an Operation that an owner creates. */
export interface NewOperation {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec: JsonObject;
  readonly why: string;
}

/** Creates an Operation from the template of its owner. */
export function creationOf(owner: LiveObject, { operationTemplate }: RunsSpec, wanted: NewOperation): Action {
  const { name, spec, why } = wanted;
  const { labels, annotations } = operationTemplate.metadata;
  const object = {
    ...typeMeta(OPERATIONS),
    metadata: {
      name,
      labels: { ...labels, ...wanted.labels },
      ...notEmpty("annotations", { ...annotations, ...wanted.annotations }),
      ownerReferences: [controllerReferenceTo(owner)],
    },
    spec,
  };
  return { as: "own", on: referenceOf(OPERATIONS, name), manager: FIELD_MANAGERS.operation, why, do: "create", object };
}

function notEmpty(field: string, map: Readonly<Record<string, string>>): JsonObject {
  return Object.keys(map).length === 0 ? {} : { [field]: map };
}

export function templateSpec({ operationTemplate }: RunsSpec): JsonObject {
  return objectAt(operationTemplate.toJSON(), "spec");
}
