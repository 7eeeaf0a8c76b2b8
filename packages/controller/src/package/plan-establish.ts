import { someOf } from "@xfn/errors";
import { type JsonObject, type KubernetesObject, objectAt, textAt, textsAt } from "@xfn/json";
import type { LiveObject, ObjectReference } from "@xfn/kubernetes";
import type { Texts } from "../kinds/fields.ts";
import type { ApplyCache } from "../objects/apply-cache.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { FUNCTION_REVISIONS } from "../objects/kinds.ts";
import { isBeingDeleted, isControlledBy } from "../objects/owner.ts";
import { describeReference, referenceTo } from "../objects/references.ts";
import type { Action } from "../plan/action.ts";
import { PARALLEL } from "../plan/in-parallel.ts";
import type { Plan } from "../plan/plan.ts";
import { isManagedDefinition } from "./managed/managed-definition.ts";
import { PackageInstallError } from "./registry/install-error.ts";
import { claimOf, withoutControl } from "./revision-owners.ts";
import { isAdmission } from "./webhooks/own-admission.ts";
import { type WebhookService, withOwnConversion } from "./webhooks/own-conversion.ts";

/** The number of objects that a message names. */
export const MAX_NAMED = 5;

/** The owner of the established objects, and its webhooks. */
export interface Establishing {
  readonly revision: LiveObject;
  /** The other revisions of the package. */
  readonly siblings: readonly LiveObject[];
  /** Where the package's own runtime serves webhooks; undefined if no runtime does. */
  readonly webhooks: WebhookService | undefined;
}

/** An object of a package, as it must be and as it is. */
interface Seen {
  readonly intent: KubernetesObject;
  readonly existing: LiveObject | undefined;
  /** The CRD of a ManagedResourceDefinition that does not exist: an earlier revision may have established it. */
  readonly crd?: LiveObject | undefined;
}

/** The writes of a package's objects. */
export interface EstablishPlan {
  readonly plan: Plan;
  /** All objects that exist after the plan. */
  readonly kept: readonly { readonly reference: ObjectReference; readonly existing: LiveObject | undefined }[];
}

/**
 * Plans the objects of a revision's package. Leaves those that a newer revision controls.
 *
 * @throws {PackageInstallError} `NameTaken` if another owner controls an object
 */
export function planEstablish(
  { revision, siblings }: Pick<Establishing, "revision" | "siblings">,
  seen: readonly Seen[],
  applies: Pick<ApplyCache, "isApplied">,
): EstablishPlan {
  const fieldManager = FIELD_MANAGERS.packageRevision;
  const actions: Action[] = [];
  const newer: Seen[] = [];
  const own: Seen[] = [];
  const taken: string[] = [];
  for (const one of seen) {
    const { existing, crd } = one;
    const intent = withState(one);
    const claim = claimOf(revision, siblings, existing ?? crd);
    if (!claim.may) {
      if (claim.by === "newer") newer.push(one);
      else taken.push(`${describeReference(referenceTo(existing ?? crd ?? intent))} of the ${claim.controller}`);
      continue;
    }
    own.push(one);
    const owned = { ...intent, metadata: { ...intent.metadata, ownerReferences: claim.ownerReferences } };
    if (existing !== undefined && applies.isApplied(owned, existing, { fieldManager })) continue;
    actions.push({
      ...writeOf(intent, "the package has it"),
      do: "apply",
      intent: owned,
      seen: existing,
      guard: "version",
    });
  }
  if (taken.length > 0) throw new PackageInstallError("NameTaken", takenMessage(taken));
  const kept = [...newer, ...own].map(({ intent, existing }) => ({ reference: referenceTo(intent), existing }));
  return { plan: inLanes(actions), kept };
}

/** A definition stays active, and so does an existing CRD: its instances need their provider. */
function withState({ intent, existing, crd }: Seen): KubernetesObject {
  const isActive = crd !== undefined || textAt(existing, "spec", "state") === "Active";
  if (!isActive || !isManagedDefinition(intent)) return intent;
  return { ...intent, spec: { ...objectAt(intent, "spec"), state: "Active" } };
}

/**
 * Plans the end of a revision's control of its objects. The revision remains an owner, so that the objects live as long
 * as a revision or the package exists. Deletes admission webhooks that no newer revision has taken over: the runtime
 * that serves them ends, and the API server would then reject what they check.
 */
export function planRelease(revision: LiveObject, objects: readonly LiveObject[]): Plan {
  const own = objects.filter((object) => !isBeingDeleted(object) && isControlledBy(object, revision));
  return inLanes(
    own.map((seen): Action => {
      const common = { ...writeOf(seen, "its revision is inactive"), seen, guard: "version" } as const;
      if (isAdmission(seen)) return { ...common, do: "delete" };
      const ownerReferences = withoutControl(seen, revision.metadata.uid);
      return { ...common, do: "patch", body: { metadata: { ownerReferences } } };
    }),
  );
}

function inLanes(actions: readonly Action[]): Plan {
  return { stages: [{ name: "objects", actions, onFailure: "stop", lanes: PARALLEL }] };
}

function writeOf(object: KubernetesObject, why: string): Pick<Action, "as" | "manager" | "on" | "why"> {
  return { as: "own", manager: FIELD_MANAGERS.packageRevision, on: referenceTo(object), why };
}

/** The established objects according to a revision's status; undefined if none were established yet. */
export function objectRefsOf(revision: LiveObject): readonly Texts<"apiVersion" | "kind" | "name">[] | undefined {
  const { status } = FUNCTION_REVISIONS.of(revision);
  return status.toJSON()["objectRefs"] === undefined ? undefined : status.objectRefs;
}

/** An object of a package, without fields that the API server sets. @throws {PackageInstallError} `NotEstablished` */
export function intentOf(
  object: JsonObject,
  { revision, webhooks }: Pick<Establishing, "revision" | "webhooks">,
): KubernetesObject {
  const { status: _, metadata: __, ...rest } = withOwnConversion(object, webhooks);
  const { commonLabels, commonAnnotations } = FUNCTION_REVISIONS.of(revision).spec;
  const labels = { ...textsAt(object, "metadata", "labels"), ...commonLabels };
  const annotations = { ...textsAt(object, "metadata", "annotations"), ...commonAnnotations };
  return {
    ...rest,
    metadata: {
      name: textAt(object, "metadata", "name") ?? "",
      ...(Object.keys(labels).length > 0 && { labels }),
      ...(Object.keys(annotations).length > 0 && { annotations }),
    },
  };
}

/** The entry of an object in `status.objectRefs`. */
export function recordOf({ apiVersion, kind, metadata: { name, uid } }: LiveObject): JsonObject {
  return { apiVersion, kind, name, uid };
}

function takenMessage(taken: readonly string[]): string {
  return (
    `cannot take over objects that another owner controls: ${someOf(taken, MAX_NAMED)}; remove them from this package, or delete that owner, ` +
    "which may delete them"
  );
}
