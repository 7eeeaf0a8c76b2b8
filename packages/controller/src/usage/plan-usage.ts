import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { ANNOTATION_DETAILS } from "../kinds/usages.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { FINALIZER_USAGE, finalizersOf } from "../objects/finalizers.ts";
import { isBeingDeleted, ownerReferencesOf } from "../objects/owner.ts";
import { referenceTo } from "../objects/references.ts";
import type { Action } from "../plan/action.ts";
import { type Plan, planInOrder } from "../plan/plan.ts";
import { ANNOTATION_ATTEMPT, LABEL_IN_USE, specOf } from "./used-object.ts";

const PROTECTED: JsonObject = { metadata: { labels: { [LABEL_IN_USE]: "true" } } };

/** A usage with its objects, as observed. */
export interface ObservedUsage {
  readonly usage: LiveObject;
  /** The objects that a selector chose just now. */
  readonly chosen: readonly ("of" | "by")[];
  readonly used: LiveObject;
  /** Undefined if the usage has only a reason. */
  readonly using: LiveObject | undefined;
}

/** Plans the protection of an object. The finalizer precedes the label, so that no usage ends and leaves its label. */
export function planUsage({ usage, chosen, used, using }: ObservedUsage): Plan {
  const metadata: JsonObject = {};
  const finalizers = finalizersOf(usage);
  if (!finalizers.includes(FINALIZER_USAGE)) metadata["finalizers"] = [...finalizers, FINALIZER_USAGE];
  const details = detailsOf(usage, used, using);
  if (usage.metadata.annotations?.[ANNOTATION_DETAILS] !== details)
    metadata["annotations"] = { [ANNOTATION_DETAILS]: details };
  const owners = ownerReferencesOf(usage);
  if (using !== undefined && !owners.some(({ uid }) => uid === using.metadata.uid))
    metadata["ownerReferences"] = [...owners, ownerReferenceTo(using)];
  const choices = chosen.map((field) => {
    const { name } = (field === "of" ? used : (using ?? used)).metadata;
    return [field, { resourceRef: { name } }] as const;
  });
  const isSame = Object.keys(metadata).length === 0 && choices.length === 0;
  const body = { metadata, ...(choices.length > 0 && { spec: Object.fromEntries(choices) }) };
  return planInOrder("usage", [
    ...(isSame ? [] : [patchOf(usage, body, "it protects an object")]),
    ...(isLabelled(used) ? [] : [patchOf(used, PROTECTED, "a usage protects it", "uid")]),
  ]);
}

/** A usage that ends, with its object. */
export interface EndingUsage {
  readonly usage: LiveObject;
  /** Undefined if it does not exist. */
  readonly used: LiveObject | undefined;
  /** Whether another usage protects the object too. */
  readonly isStillUsed: boolean;
}

/** Plans to remove the label of an object that nothing uses any more. */
export function planUnprotect(usage: LiveObject, used: LiveObject): Plan {
  // The annotation of a deletion to repeat stays until the deletion.
  const forgets = policyOf(used) !== undefined && !isReplayed(usage, used);
  const metadata = {
    ...(isLabelled(used) && { labels: { [LABEL_IN_USE]: null } }),
    ...(forgets && { annotations: { [ANNOTATION_ATTEMPT]: null } }),
  };
  const isSame = Object.keys(metadata).length === 0;
  return planInOrder("usage", isSame ? [] : [patchOf(used, { metadata }, "no usage protects it", "uid")]);
}

/**
 * Plans the end of a usage after {@link planUnprotect}: repeats the deletion that was denied if the usage says so, and
 * removes the finalizer. If it is interrupted, the next reconcile plans the rest.
 */
export function planEnd({ usage, used, isStillUsed }: EndingUsage): Plan {
  const finalizers = finalizersOf(usage).filter((one) => one !== FINALIZER_USAGE);
  const release = patchOf(usage, { metadata: { finalizers } }, "it protects nothing any more");
  return planInOrder("usage", [...(used === undefined ? [] : lastWrites(usage, used, isStillUsed)), release]);
}

function lastWrites(usage: LiveObject, used: LiveObject, isStillUsed: boolean): Action[] {
  // Another usage found the label while this one removed it.
  if (isStillUsed) return isLabelled(used) ? [] : [patchOf(used, PROTECTED, "another usage protects it", "uid")];
  if (!isReplayed(usage, used)) return [];
  const why = "its deletion was denied while it was in use";
  return [{ ...common(used, why), do: "delete", seen: used, guard: "uid", propagation: policyOf(used) }];
}

function isReplayed(usage: LiveObject, used: LiveObject): boolean {
  return specOf(usage).replayDeletion === true && policyOf(used) !== undefined && !isBeingDeleted(used);
}

/** The propagation policy of a deletion that was denied. */
function policyOf({ metadata }: LiveObject): (typeof PROPAGATIONS)[number] | undefined {
  return PROPAGATIONS.find((one) => one === metadata.annotations?.[ANNOTATION_ATTEMPT]);
}

const PROPAGATIONS = ["Background", "Foreground", "Orphan"] as const;

/** Crossplane's texts, which its users' dashboards may show. */
function detailsOf(usage: LiveObject, used: LiveObject, using: LiveObject | undefined): string {
  const { reason = "undefined" } = specOf(usage);
  return using === undefined ? reason : `${title(using)} uses ${title(used)}`;
}

function title({ kind, metadata }: LiveObject): string {
  return `${kind}/${metadata.name}`;
}

function isLabelled({ metadata }: LiveObject): boolean {
  return metadata.labels?.[LABEL_IN_USE] === "true";
}

function ownerReferenceTo({ apiVersion, kind, metadata: { name, uid } }: LiveObject): JsonObject {
  return { apiVersion, kind, name, uid };
}

function patchOf(seen: LiveObject, body: JsonObject, why: string, guard: "uid" | "version" = "version"): Action {
  return { ...common(seen, why), do: "patch", body, seen, guard };
}

function common(object: LiveObject, why: string): Pick<Action, "as" | "on" | "manager" | "why"> {
  return { as: "own", on: referenceTo(object), manager: FIELD_MANAGERS.usage, why };
}
