import { createHash } from "node:crypto";
import { WATCHED_RESOURCE, withWatchedResource } from "@xfn/composition";
import { apiVersionOf, type LiveObject, type ResourceKind } from "@xfn/kubernetes";
import { WATCH_OPERATIONS } from "../kinds/operations.ts";
import type { WatchedChange } from "../objects/context.ts";
import { labelValue } from "../objects/labels.ts";
import type { Action } from "../plan/action.ts";
import { creationOf, deletionOf, type Runs, templateSpec } from "./plan-runs.ts";

// Names as in Crossplane.
const LABEL_WATCH = "ops.crossplane.io/watchoperation";
/** The version of a deleted object. */
const DELETED_VERSION = "ops.crossplane.io/synthetic-deleted";

/**
 * The number of unfinished Operations of one WatchOperation. Further changes wait, and the changes of one object are
 * merged into its last one. So a burst of changes cannot fill the API server.
 */
const MAX_UNFINISHED = 100;

/** The Operations that a WatchOperation deletes and creates now. */
export interface WatchPlan {
  readonly replaced: readonly Action[];
  readonly creations: readonly { readonly change: WatchedChange; readonly action: Action }[];
  /** The changes that get no Operation. */
  readonly dropped: readonly WatchedChange[];
}

/** @param existing the names of Operations that exist */
export function planWatch(
  operation: LiveObject,
  { runs, existing }: { readonly runs: Runs; readonly existing: ReadonlySet<string> },
  kind: ResourceKind,
  changes: readonly WatchedChange[],
): WatchPlan {
  const { spec } = WATCH_OPERATIONS.of(operation);
  const fresh = changes.filter((change) => !existing.has(nameOf(operation, kind, change)));
  const known = changes.filter((change) => !fresh.includes(change));
  const isBusy = runs.unfinished.length > 0;
  const chosen = chooseChanges(spec.concurrencyPolicy, fresh, runs.unfinished.length);
  const waits = spec.concurrencyPolicy === "Allow" || spec.concurrencyPolicy === undefined;
  const replaced = spec.concurrencyPolicy === "Replace" && chosen.length > 0 && isBusy ? runs.unfinished : [];
  return {
    replaced: replaced.map((one) => deletionOf(one, "a new Operation replaces it")),
    creations: chosen.map((change) => ({ change, action: creation(operation, kind, change) })),
    dropped: [...known, ...(waits ? [] : fresh.filter((change) => !chosen.includes(change)))],
  };
}

/** With Replace, each new Operation would replace the one before. */
function chooseChanges(
  policy: string | undefined,
  changes: readonly WatchedChange[],
  unfinished: number,
): readonly WatchedChange[] {
  if (policy === "Replace") return changes.slice(-1);
  if (policy === "Forbid") return unfinished > 0 ? [] : changes.slice(0, 1);
  return changes.slice(0, Math.max(0, MAX_UNFINISHED - unfinished));
}

function versionOf({ object, isDeleted }: WatchedChange): string {
  return isDeleted ? DELETED_VERSION : object.metadata.resourceVersion;
}

/** The same for the same version of an object, so that each has one Operation. */
function nameOf(operation: LiveObject, { group, version, kind }: ResourceKind, change: WatchedChange): string {
  const { name, namespace = "", uid } = change.object.metadata;
  const text = [`${group}/${version}, Kind=${kind}`, namespace, name, uid, versionOf(change)].join("/");
  return `${operation.metadata.name}-${createHash("sha256").update(text).digest("hex").slice(0, 7)}`;
}

function creation(operation: LiveObject, kind: ResourceKind, change: WatchedChange): Action {
  const { spec } = WATCH_OPERATIONS.of(operation);
  const { name, namespace } = change.object.metadata;
  const watched = { apiVersion: apiVersionOf(kind), kind: kind.kind, name, ...(namespace && { namespace }) };
  const annotations = Object.entries({ ...watched, resourceVersion: versionOf(change) });
  return creationOf(operation, spec, {
    name: nameOf(operation, kind, change),
    labels: { [LABEL_WATCH]: labelValue(operation.metadata.name) },
    annotations: Object.fromEntries(
      annotations.map(([key, value]) => [`${WATCHED_RESOURCE}-${key.toLowerCase()}`, value]),
    ),
    spec: withWatchedResource(templateSpec(spec), watched),
    why: change.isDeleted ? "a watched object was deleted" : "a watched object changed",
  });
}
