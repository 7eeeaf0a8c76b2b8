import { createHash } from "node:crypto";
import { type JsonObject, type KubernetesObject, mergePatch, objectAt, textAt } from "@xfn/json";
import type { LiveObject, ResourceKind } from "@xfn/kubernetes";
import { revisionName } from "@xfn/package";
import { type Condition, isTrue } from "../objects/conditions.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { FUNCTION_REVISIONS, FUNCTIONS, typeMeta } from "../objects/kinds.ts";
import { LABEL_PACKAGE, labelValue } from "../objects/labels.ts";
import { controllerReferenceTo, isBeingDeleted, isControlledBy } from "../objects/owner.ts";
import { referenceTo } from "../objects/references.ts";
import type { Action } from "../plan/action.ts";
import { planInOrder } from "../plan/plan.ts";
import { inOrder, type Note, type NotedPlan } from "./carry-out.ts";
import {
  healthyCondition,
  installedCondition,
  isActive,
  isHealthy,
  numberOf,
  withReady,
} from "./package-conditions.ts";
import { type Part, planStatus } from "./plan-status.ts";
import type { ImageSettings } from "./registry/image-configs.ts";
import { pinnedReference } from "./registry/package-names.ts";

/** Fields that a package and its revision share. */
const SHARED_FIELDS = [
  "packagePullSecrets",
  "packagePullPolicy",
  "ignoreCrossplaneConstraints",
  "skipDependencyResolution",
  "commonLabels",
  "commonAnnotations",
  "runtimeConfigRef",
] as const;

/** A package as observed. */
export interface SeenPackage {
  readonly object: LiveObject;
  readonly revisionKind: ResourceKind;
  /** All revisions with the label of the package. */
  readonly revisions: readonly LiveObject[];
  /** The settings from ImageConfigs for the package. */
  readonly settings: ImageSettings;
}

/** The package that `spec.package` names. */
export interface ResolvedPackage {
  readonly digest: string;
  /** Why the registry did not answer a request for a newer package. */
  readonly note?: string | undefined;
}

/**
 * Plans the revisions and the status of a package.
 *
 * @param now milliseconds since the epoch
 */
export function planPackage(seen: SeenPackage, resolved: ResolvedPackage, now: number): NotedPlan {
  return inOrder(planRevisions(seen, resolved), planStatus(seen.object, statusOf(seen, resolved), now));
}

/**
 * Plans the revisions of a package. As in Crossplane, a changed spec makes a revision. The current revision has the
 * highest number. The order leaves a serving revision after a crash between two writes.
 *
 * Unlike in Crossplane, an older revision stays active until the current one is active and healthy. A failed upgrade
 * then does not break working XRs.
 */
function planRevisions(seen: SeenPackage, { digest }: ResolvedPackage): NotedPlan {
  const { object, revisionKind } = seen;
  const { name, current, others } = revisionsOf(seen, digest);
  const image = pinnedReference(FUNCTIONS.of(object).spec.package ?? "", digest);
  const spec = { ...sharedFields(object), image, ...stateOf(object, current), revision: numberFor(current, others) };
  const change = current && changeOf(current, spec);
  const isReady = current !== undefined && change === undefined && isActive(current) && canReplace(current);
  const outdated = isReady ? others.filter(isActive) : [];
  const notes = new Map<Action, Note[]>();
  const noted = (action: Action, reason: string): Action => {
    notes.set(action, [{ type: "Normal", reason, message: action.why }]);
    return action;
  };
  const changed = (revision: LiveObject, body: JsonObject): Action => {
    const state = textAt(body, "desiredState");
    const why = `the revision ${revision.metadata.name} is now ${state?.toLowerCase() ?? "as its package"}`;
    const action: Action = {
      ...writeOf(revision, why),
      do: "patch",
      body: { spec: body },
      seen: revision,
      guard: "version",
    };
    return state === undefined ? action : noted(action, "TransitionRevision");
  };
  const created = (revision: KubernetesObject): Action[] => [
    // The package may be gone: the registry answered after it was read.
    { ...writeOf(object, "a revision is created"), do: "confirm", seen: object },
    noted(
      { ...writeOf(revision, `created the revision ${name}`), do: "create", object: revision },
      "InstallPackageRevision",
    ),
  ];
  const removed = (revision: LiveObject): Action => {
    const why = `deleted the revision ${revision.metadata.name}: spec.revisionHistoryLimit`;
    return noted({ ...writeOf(revision, why), do: "delete", seen: revision, guard: "uid" }, "GarbageCollect");
  };
  const { stages } = planInOrder("revisions", [
    ...(current === undefined ? created(revisionOf(object, revisionKind, name, spec)) : []),
    ...(change === undefined || current === undefined ? [] : [changed(current, change)]),
    ...outdated.map((revision) => changed(revision, { desiredState: "Inactive" })),
    ...expired(object, others).map(removed),
  ]);
  return { stages, notes };
}

/** The status of a package, according to its revisions before the plan. */
function statusOf(seen: SeenPackage, { digest, note }: ResolvedPackage): Part {
  const { object, settings } = seen;
  const { name, current, others } = revisionsOf(seen, digest);
  const serving = others.find((revision) => isActive(revision) && isHealthy(revision));
  return {
    conditions: withReady([installedCondition(current, note), healthyCondition(current, serving)]),
    fields: {
      currentRevision: name,
      currentIdentifier: FUNCTIONS.of(object).spec.package ?? "",
      resolvedPackage: settings.image,
      appliedImageConfigRefs: appliedBy(settings),
    },
  };
}

/** Plans the status of a package that cannot be installed. */
export function planFailed({ object, revisions }: SeenPackage, { message: why }: Error, now: number): NotedPlan {
  const serving = revisions.find((revision) => isActive(revision) && isControlledBy(revision, object));
  const message = serving === undefined ? why : `${why}; the revision ${serving.metadata.name} stays active`;
  const installed: Condition = { type: "Installed", status: "False", reason: "UnpackingPackage", message };
  const healthy: Condition = { type: "Healthy", status: "False", reason: "UnhealthyPackageRevision", message };
  // The health of a revision that still serves has not changed.
  const conditions = withReady(serving === undefined ? [installed, healthy] : [installed]);
  return planStatus(object, { conditions, fields: {} }, now);
}

/** `status.appliedImageConfigRefs` of a package. */
function appliedBy({ applied, verification }: ImageSettings): JsonObject[] | null {
  if (verification === undefined) return applied;
  return [...(applied ?? []), { name: verification.config, reason: "VerifyImage" }];
}

/** The revision of a package with a digest, and the other revisions of its package. */
export function revisionsOf(
  { object, revisions }: SeenPackage,
  digest: string,
): { readonly name: string; readonly current: LiveObject | undefined; readonly others: readonly LiveObject[] } {
  const named = nameOf(object, digest);
  const own = revisions.filter((revision) => isControlledBy(revision, object) && !isBeingDeleted(revision));
  const current = own.find(({ metadata }) => metadata.name === named) ?? unchanged(object, digest, own);
  const name = current?.metadata.name ?? named;
  return { name, current, others: own.filter((revision) => revision !== current) };
}

/** The name that Crossplane 2.4 gives the revision of a package with a digest. */
function nameOf({ metadata }: LiveObject, digest: string): string {
  const content = `${digest.slice(digest.indexOf(":") + 1)}|${Number(metadata["generation"] ?? 0)}`;
  return revisionName(metadata.name, createHash("sha256").update(content).digest("hex"));
}

/**
 * The newest revision that is as the package wants it. Unlike in Crossplane, a rollback uses it again, and a change of
 * fields that revisions lack makes none, because a new revision needs the registry. Also keeps the revision that an
 * older version of this controller or of Crossplane named after the digest alone.
 */
function unchanged(object: LiveObject, digest: string, own: readonly LiveObject[]): LiveObject | undefined {
  const source = FUNCTIONS.of(object).spec.package ?? "";
  const image = pinnedReference(source, digest);
  const olderName = revisionName(object.metadata.name, digest);
  return own
    .filter((revision) => {
      const has = FUNCTION_REVISIONS.of(revision).spec.image;
      return has === image || (has === source && revision.metadata.name === olderName);
    })
    .filter((revision) => changeOf(revision, sharedFields(object)) === undefined)
    .toSorted((a, b) => numberOf(a) - numberOf(b))
    .at(-1);
}

function writeOf(object: KubernetesObject, why: string): Pick<Action, "as" | "manager" | "on" | "why"> {
  return { as: "own", manager: FIELD_MANAGERS.package, on: referenceTo(object), why };
}

/**
 * Whether a revision can replace the older one. The controller calls functions, so only functions must be running
 * first.
 */
function canReplace(revision: LiveObject): boolean {
  return revision.kind === FUNCTION_REVISIONS.kind ? isHealthy(revision) : isTrue(revision, "RevisionHealthy");
}

function sharedFields(object: LiveObject): JsonObject {
  const spec = objectAt(object, "spec");
  const fields: JsonObject = {};
  for (const field of SHARED_FIELDS) if (spec[field] !== undefined) fields[field] = spec[field];
  return fields;
}

function stateOf(object: LiveObject, current: LiveObject | undefined): JsonObject {
  const isManual = FUNCTIONS.of(object).spec.revisionActivationPolicy === "Manual";
  if (!isManual) return { desiredState: "Active" };
  return { desiredState: current !== undefined && isActive(current) ? "Active" : "Inactive" };
}

function numberFor(current: LiveObject | undefined, others: readonly LiveObject[]): number {
  const highest = Math.max(0, ...others.map(numberOf));
  return current !== undefined && numberOf(current) > highest ? numberOf(current) : highest + 1;
}

/** The merge patch of a revision's spec. Leaves fields that the package lacks, such as the TLS fields, unchanged. */
function changeOf(revision: LiveObject, wanted: JsonObject): JsonObject | undefined {
  const spec = objectAt(revision, "spec");
  const managed: JsonObject = {};
  for (const field of [...SHARED_FIELDS, ...Object.keys(wanted)]) {
    const value = spec[field];
    if (value !== undefined) managed[field] = value;
  }
  return mergePatch(managed, wanted);
}

function revisionOf(object: LiveObject, kind: ResourceKind, name: string, spec: JsonObject): KubernetesObject {
  return {
    ...typeMeta(kind),
    metadata: {
      name,
      labels: { [LABEL_PACKAGE]: labelValue(object.metadata.name) },
      ownerReferences: [controllerReferenceTo(object)],
    },
    spec,
  };
}

/**
 * The oldest inactive revisions beyond the history limit. As in Crossplane, the current revision does not count towards
 * the limit.
 */
function expired(object: LiveObject, others: readonly LiveObject[]): LiveObject[] {
  const limit = FUNCTIONS.of(object).spec.revisionHistoryLimit ?? 1;
  if (limit === 0) return [];
  const oldest = others.filter((revision) => !isActive(revision)).toSorted((a, b) => numberOf(a) - numberOf(b));
  return oldest.slice(0, Math.max(0, others.length - limit));
}
