import { type JsonObject, type KubernetesObject, sameJson } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { type Condition, withConditions } from "../objects/conditions.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { COMPOSITIONS, REVISIONS, typeMeta } from "../objects/kinds.ts";
import { ANNOTATION_ROLLOUT, LABEL_COMPOSITION_HASH, LABEL_COMPOSITION_NAME, labelValue } from "../objects/labels.ts";
import { controllerOf, controllerReferenceTo, isBeingDeleted, isControlledBy } from "../objects/owner.ts";
import { referenceTo } from "../objects/references.ts";
import type { Action } from "../plan/action.ts";
import { type CompositionCheck, compositionConditions, type Problem } from "./composition-state.ts";
import { numberOf } from "./read-revision.ts";
import { contentHash, hashLabel } from "./revision-name.ts";

/** The objects on which the revisions of a Composition depend. */
export interface SeenComposition {
  readonly composition: LiveObject;
  readonly check: CompositionCheck;
  /** Revisions of any Compositions. */
  readonly revisions: readonly LiveObject[];
  /** All InfrastructureDefinitions. */
  readonly definitions: readonly LiveObject[];
}

/** The revision that the content of a Composition must have. */
export interface PlannedRevision {
  /** The hash of the content. */
  readonly hash: string;
  /** The revision with this content; undefined if there is none, or the content has errors. */
  readonly current: LiveObject | undefined;
  /** The number that the content must get; undefined if it has it, or has errors. */
  readonly number: number | undefined;
}

/** Plans the revision of a Composition: the highest number belongs to its current content. */
export function planRevision({ check, composition, revisions }: SeenComposition): PlannedRevision {
  const hash = contentHash(composition);
  if (check.problem !== undefined) return { hash, current: undefined, number: undefined };
  const own = revisions.filter((revision) => isControlledBy(revision, composition));
  const current = own.find((revision) => hasHash(revision, hash));
  const newest = Math.max(0, ...own.filter((revision) => revision !== current).map(numberOf));
  // Also fixes two revisions with one number, as after a late create of an earlier leader.
  const isNewest = current !== undefined && numberOf(current) > newest;
  return { hash, current, number: isNewest ? undefined : newest + 1 };
}

/** The planned status of a Composition. */
export interface PlannedStatus {
  readonly conditions: readonly Condition[];
  /** Undefined if nothing changes. */
  readonly action: Action | undefined;
}

/**
 * Plans to write the conditions of a Composition if they differ.
 *
 * @param current the revision with the current content
 * @param problem of another kind than those that its content shows
 */
export function planStatus(
  { check, composition, definitions }: SeenComposition,
  current: LiveObject | undefined,
  now: number,
  problem?: Problem,
): PlannedStatus {
  const wanted = compositionConditions(definitions, composition, check, current, problem);
  const conditions = withConditions(composition, wanted, now);
  if (conditions === undefined) return { conditions: wanted, action: undefined };
  const change = { part: "status", body: { status: { conditions } } } as const;
  return { conditions: wanted, action: patchOf(composition, "a condition differs", change) };
}

/** Whether nothing changes a Composition or its revisions. */
export function isAsPlanned(seen: SeenComposition, now: number): boolean {
  const { current, number } = planRevision(seen);
  return number === undefined && planStatus(seen, current, now).action === undefined;
}

/** Plans to create a revision. @param isRolledOut whether `spec.rollout` of Compositions has an effect */
export function planCreate(
  composition: LiveObject,
  { hash, number = 1 }: PlannedRevision,
  name: string,
  isRolledOut: boolean,
): Action & { do: "create" } {
  const { metadata } = composition;
  const spec = COMPOSITIONS.of(composition).spec.toJSON();
  // Part of the create, so that no XR sees the revision without it. The first revision has no other to fall back to.
  const isRollout = isRolledOut && number > 1 && spec["rollout"] !== undefined;
  const object = {
    ...typeMeta(REVISIONS),
    metadata: {
      name,
      labels: {
        ...metadata.labels,
        [LABEL_COMPOSITION_NAME]: labelValue(metadata.name),
        [LABEL_COMPOSITION_HASH]: hashLabel(hash),
      },
      ...(isRollout && { annotations: { [ANNOTATION_ROLLOUT]: "true" } }),
      ownerReferences: [controllerReferenceTo(composition)],
    },
    spec: { ...modernSpec(spec), revision: number },
  };
  const manager = FIELD_MANAGERS.composition;
  return { as: "own", on: referenceTo(object), manager, why: "its content has no revision", do: "create", object };
}

/** Replaces `from` and `to` (Crossplane design document "Resource Composition") by the names of v1, for all readers. */
function modernSpec({ from, to, ...spec }: JsonObject): JsonObject {
  return { ...spec, ...(from !== undefined && { compositeTypeRef: from }), ...(to !== undefined && { resources: to }) };
}

/** Plans to give the revision of the current content a number. */
export function planRenumber(revision: LiveObject, number: number): Action {
  return patchOf(revision, "another revision is newer", { body: { spec: { revision: number } } });
}

/** Plans to make the current Composition the controller of a revision, with the number of a new one. */
export function planAdoption(existing: LiveObject, { metadata, ...desired }: KubernetesObject): Action {
  const { labels = {}, ownerReferences = [] } = metadata ?? {};
  const spec = { revision: REVISIONS.of(desired).spec.revision ?? 1 };
  return patchOf(existing, "an earlier Composition left it", { body: { metadata: { labels, ownerReferences }, spec } });
}

/** Whether a revision has the label of a content. */
export function hasHash({ metadata }: LiveObject, hash: string): boolean {
  return metadata.labels?.[LABEL_COMPOSITION_HASH] === hashLabel(hash);
}

/**
 * Whether an earlier Composition of the name left this revision: deleted with orphans, or restored from a backup. XRs
 * may be pinned to it. Compares the content, because any writer can set a label.
 */
export function isOrphan(existing: LiveObject, desired: KubernetesObject, composition: string): boolean {
  const owner = controllerOf(existing);
  const isOfName = owner === undefined || (owner.kind === COMPOSITIONS.kind && owner.name === composition);
  const { revision: _, ...content } = REVISIONS.of(existing).spec.toJSON();
  const { revision: __, ...spec } = REVISIONS.of(desired).spec.toJSON();
  return isOfName && !isBeingDeleted(existing) && sameJson(content, spec);
}

function patchOf(seen: LiveObject, why: string, change: { body: JsonObject; part?: "status" }): Action {
  const common = { as: "own", manager: FIELD_MANAGERS.composition, guard: "version" } as const;
  return { ...common, on: referenceTo(seen), why, do: "patch", seen, ...change };
}
