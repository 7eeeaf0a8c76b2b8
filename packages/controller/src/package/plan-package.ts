import { type JsonObject, type KubernetesObject, mergePatch, objectAt } from "@xfn/json";
import type { LiveObject, ResourceKind } from "@xfn/kubernetes";
import { revisionName } from "@xfn/package";
import { type Condition, isTrue } from "../objects/conditions.ts";
import { FUNCTION_REVISIONS, FUNCTIONS, typeMeta } from "../objects/kinds.ts";
import { LABEL_PACKAGE, labelValue } from "../objects/labels.ts";
import { controllerReferenceTo, isBeingDeleted, isControlledBy } from "../objects/owner.ts";
import {
  healthyCondition,
  installedCondition,
  isActive,
  isHealthy,
  numberOf,
  withReady,
} from "./package-conditions.ts";
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

export interface PlanInput {
  readonly object: LiveObject;
  readonly revisionKind: ResourceKind;
  /** The digest of the package that `spec.package` names. */
  readonly digest: string;
  /** All revisions with the label of the package. */
  readonly revisions: readonly LiveObject[];
  /** Why the registry did not answer a request for a newer package. */
  readonly note?: string | undefined;
  /** The settings from ImageConfigs for the package. Default: no settings. */
  readonly settings?: ImageSettings | undefined;
}

/** The writes of a reconcile of a package, in this order. Empty if everything is as desired. */
export interface PackagePlan {
  readonly create: KubernetesObject | undefined;
  readonly changes: readonly { readonly revision: LiveObject; readonly spec: JsonObject }[];
  readonly remove: readonly LiveObject[];
  readonly status: JsonObject;
  readonly conditions: readonly Condition[];
}

/**
 * Plans the revisions and the status of a package. Each digest has one revision, and the revision that `spec.package`
 * names has the highest number.
 *
 * Unlike in Crossplane, an older revision stays active until the current one is active and healthy. A failed upgrade
 * then does not break working XRs.
 */
export function planPackage({ object, revisionKind, digest, revisions, note, settings }: PlanInput): PackagePlan {
  const source = FUNCTIONS.of(object).spec.package ?? "";
  const image = pinnedReference(source, digest);
  const name = revisionName(object.metadata.name, digest);
  const own = revisions.filter((revision) => isControlledBy(revision, object) && !isBeingDeleted(revision));
  const current = own.find(({ metadata }) => metadata.name === name);
  const others = own.filter((revision) => revision !== current);
  const spec = { ...sharedFields(object), image, ...stateOf(object, current), revision: numberFor(current, others) };
  const change = current && changeOf(current, spec);
  const isReady = current !== undefined && change === undefined && isActive(current) && canReplace(current);
  const outdated = isReady ? others.filter(isActive) : [];
  return {
    create: current === undefined ? revisionOf(object, revisionKind, name, spec) : undefined,
    changes: [
      ...(change === undefined || current === undefined ? [] : [{ revision: current, spec: change }]),
      ...outdated.map((revision) => ({ revision, spec: { desiredState: "Inactive" } })),
    ],
    remove: expired(object, current === undefined ? own.length + 1 : own.length, others),
    status: {
      currentRevision: name,
      currentIdentifier: source,
      resolvedPackage: pinnedReference(settings?.image ?? source, digest),
      appliedImageConfigRefs: settings?.applied ?? null,
    },
    conditions: withReady([
      installedCondition(current, note),
      healthyCondition(
        current,
        others.find((revision) => isActive(revision) && isHealthy(revision)),
      ),
    ]),
  };
}

/**
 * Whether a revision can replace the older one. The controller calls functions, so only functions must be running
 * first.
 */
function canReplace(revision: LiveObject): boolean {
  return revision.kind === FUNCTION_REVISIONS.kind ? isHealthy(revision) : isTrue(revision, "RevisionHealthy");
}

/** Whether a plan changes no revision. */
export function isAsPlanned({ create, changes, remove }: PackagePlan): boolean {
  return create === undefined && changes.length === 0 && remove.length === 0;
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
function expired(object: LiveObject, count: number, others: readonly LiveObject[]): LiveObject[] {
  const limit = FUNCTIONS.of(object).spec.revisionHistoryLimit ?? 1;
  if (limit === 0) return [];
  const oldest = others.filter((revision) => !isActive(revision)).toSorted((a, b) => numberOf(a) - numberOf(b));
  return oldest.slice(0, Math.max(0, count - limit - 1));
}

/** The digest in the status of a package for its `spec.package`; undefined if that has changed since. */
export function knownDigest(object: LiveObject): string | undefined {
  const { spec, status } = FUNCTIONS.of(object);
  return status.currentIdentifier === spec.package ? status.resolvedPackage?.split("@")[1] : undefined;
}
