import { someOf } from "@xfn/errors";
import { type JsonObject, type KubernetesObject, textAt, textsAt } from "@xfn/json";
import { isApiError, type LiveObject, type ObjectReference } from "@xfn/kubernetes";
import type { Texts } from "../kinds/fields.ts";
import type { ApplyCache } from "../objects/apply-cache.ts";
import type { Context } from "../objects/context.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { FUNCTION_REVISIONS } from "../objects/kinds.ts";
import { controllerOf, isBeingDeleted, isControlledBy } from "../objects/owner.ts";
import { findLive } from "../objects/read-objects.ts";
import { describeReference, referenceTo } from "../objects/references.ts";
import { inParallel } from "../plan/in-parallel.ts";
import { adoptionProblem, handOverLabel } from "./adopt-object.ts";
import { isAdmission } from "./own-admission.ts";
import { type WebhookService, withOwnConversion } from "./own-conversion.ts";
import { PackageInstallError } from "./registry/install-error.ts";
import { claimOf, withoutControl } from "./revision-owners.ts";
import { servedElsewhere } from "./served-elsewhere.ts";

/** The number of objects that a message names. */
const MAX_NAMED = 5;

/** An object that a revision writes. */
interface Planned {
  readonly intent: KubernetesObject;
  readonly existing: LiveObject | undefined;
}

/** The owner of the established objects, and its webhooks. */
interface Establishing {
  readonly revision: LiveObject;
  readonly siblings: readonly LiveObject[];
  readonly webhooks?: WebhookService | undefined;
}

/**
 * Creates or updates the objects of a revision's package, and makes the revision their controller. Checks all of them
 * before the first write. If another owner controls one of the objects, or the API server rejects one, nothing changes.
 *
 * An object without a controller is adopted if a package installed it or it has no users: see {@link adoptionProblem}.
 *
 * @param siblings the other revisions of the package
 * @param webhooks where the package's own runtime serves webhooks; undefined if no runtime does
 * @returns `status.objectRefs`
 * @throws {PackageInstallError} `NameTaken` or `NotEstablished`
 * @throws {ApiError}
 */
export async function establishObjects(
  context: Context,
  applies: ApplyCache,
  { revision, siblings, webhooks }: Establishing,
  objects: readonly JsonObject[],
  signal: AbortSignal,
): Promise<JsonObject[]> {
  const intents = objects.map((object) => intentOf(withOwnConversion(object, webhooks), revision));
  const found = await inParallel(intents, (intent) => existingOf(context, intent, signal));
  await requireAdoptable(context, revision, found, signal);
  const planned: Planned[] = [];
  const references: JsonObject[] = [];
  const taken: string[] = [];
  for (const [index, intent] of intents.entries()) {
    const existing = found[index];
    const claim = claimOf(revision, siblings, existing);
    const reference = referenceTo(intent);
    if (claim.may) {
      const { metadata } = intent;
      planned.push({
        intent: { ...intent, metadata: { ...metadata, ownerReferences: claim.ownerReferences } },
        existing,
      });
    } else if (claim.by === "other") taken.push(`${describeReference(reference)} of the ${claim.controller}`);
    else if (existing !== undefined) references.push(recordOf(existing));
  }
  if (taken.length > 0) throw new PackageInstallError("NameTaken", takenMessage(taken));
  const options = { fieldManager: FIELD_MANAGERS.packageRevision, signal };
  const changed = planned.filter(
    ({ intent, existing }) => existing === undefined || !applies.isApplied(intent, existing, options),
  );
  const { client } = context;
  await inParallel(changed, async ({ intent }) =>
    client.apply(intent, { ...options, dryRun: true }).catch((error: unknown) => refused(intent, error)),
  );
  const written = await inParallel(planned, async ({ intent, existing }) =>
    applies
      .apply(client, intent, existing, { ...options, onlyIfUnchanged: true })
      .catch((error: unknown) => refused(intent, error)),
  );
  if (changed.length > 0) client.forgetKinds();
  return [...references, ...written.map(({ object }) => recordOf(object))];
}

/**
 * Gives up control of the objects that a revision established. The revision remains an owner, so that the objects live
 * as long as a revision or the package exists. Deletes admission webhooks that no newer revision has taken over: the
 * runtime that serves them ends, and the API server would then reject what they check.
 *
 * @throws {ApiError}
 */
export async function releaseObjects(context: Context, revision: LiveObject, signal: AbortSignal): Promise<void> {
  await inParallel(establishedBy(revision), async (reference) => {
    const existing = await findLive(context, reference, signal).catch(unlessNotServed);
    if (existing === undefined || isBeingDeleted(existing) || !isControlledBy(existing, revision)) return;
    const { uid, resourceVersion } = existing.metadata;
    if (isAdmission(existing)) {
      const options = { preconditions: { uid, resourceVersion }, signal };
      await context.client.delete(reference, options).catch(unlessGone);
      return;
    }
    const ownerReferences = withoutControl(existing, revision.metadata.uid);
    const options = { fieldManager: FIELD_MANAGERS.packageRevision, signal };
    await context.client.patch(reference, "merge", { metadata: { resourceVersion, ownerReferences } }, options);
  });
}

/** The established objects according to a revision's status; undefined if none were established yet. */
export function objectRefsOf(revision: LiveObject): readonly Texts<"apiVersion" | "kind" | "name">[] | undefined {
  const { status } = FUNCTION_REVISIONS.of(revision);
  return status.toJSON()["objectRefs"] === undefined ? undefined : status.objectRefs;
}

function establishedBy(revision: LiveObject): ObjectReference[] {
  return (objectRefsOf(revision) ?? []).flatMap((one) => {
    const { apiVersion, kind, name } = one;
    return apiVersion === undefined || kind === undefined || name === undefined ? [] : [{ apiVersion, kind, name }];
  });
}

/** The object as the package defines it, without fields that the API server sets. */
function intentOf(object: JsonObject, revision: LiveObject): KubernetesObject {
  const { status: _, metadata: __, ...rest } = object;
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

async function existingOf(
  context: Context,
  intent: KubernetesObject,
  signal: AbortSignal,
): Promise<LiveObject | undefined> {
  const reference = referenceTo(intent);
  const existing = await findLive(context, reference, signal).catch((error: unknown) => refused(intent, error));
  if (existing === undefined) await requireUnserved(context, intent, signal);
  if (existing === undefined || !isBeingDeleted(existing)) return existing;
  const message = `the ${describeReference(reference)} of the package is being deleted; the controller waits for it`;
  throw new PackageInstallError("NotEstablished", message, { retryable: true });
}

/** @throws {PackageInstallError} `NameTaken` if an object must not be adopted */
async function requireAdoptable(
  context: Context,
  revision: LiveObject,
  objects: readonly (LiveObject | undefined)[],
  signal: AbortSignal,
): Promise<void> {
  const unowned = objects.filter((one) => one !== undefined).filter((one) => controllerOf(one) === undefined);
  const problems = await inParallel(unowned, (one) => adoptionProblem(context, revision, one, signal));
  const refusals = unowned.flatMap((one, index) => {
    const problem = problems[index];
    return problem === undefined ? [] : [`${describeReference(referenceTo(one))}, because ${problem}`];
  });
  if (refusals.length === 0) return;
  const message =
    `cannot adopt objects that exist: ${someOf(refusals, MAX_NAMED)}; remove them from this package, delete them, or label them ` +
    `${handOverLabel(revision)} to hand them over to it`;
  throw new PackageInstallError("NameTaken", message, { retryable: true });
}

function recordOf({ apiVersion, kind, metadata: { name, uid } }: LiveObject): JsonObject {
  return { apiVersion, kind, name, uid };
}

/** @throws {PackageInstallError} `NotEstablished` if the API server already serves the kind of a new CRD */
async function requireUnserved({ client }: Context, crd: KubernetesObject, signal: AbortSignal): Promise<void> {
  const version = await servedElsewhere(client, crd, signal);
  if (version === undefined) return;
  const message =
    `the package has the ${describeReference(referenceTo(crd))}, which does not exist, but this API server serves its ` +
    `kind in ${version}: an aggregated API does, or the CRD was just deleted; use a package without it`;
  throw new PackageInstallError("NotEstablished", message, { retryable: true });
}

function takenMessage(taken: readonly string[]): string {
  return (
    `cannot take over objects that another owner controls: ${someOf(taken, MAX_NAMED)}; remove them from this package, or delete that owner, ` +
    "which may delete them"
  );
}

/** @throws {PackageInstallError} if the object is the cause, otherwise the original error */
function refused(intent: KubernetesObject, error: unknown): never {
  const what = describeReference(referenceTo(intent));
  const options = { cause: error, retryable: true };
  if (isApiError(error, "KindNotServed")) {
    const message = `the package has the ${what}, and this API server does not serve ${intent.apiVersion ?? ""}`;
    throw new PackageInstallError("NotEstablished", `${message}; use a package without it`, options);
  }
  if (isApiError(error, "Invalid")) {
    const message = `the API server rejects the ${what} of the package: ${error.message}; correct the package`;
    throw new PackageInstallError("NotEstablished", message, options);
  }
  if (isApiError(error, "Forbidden")) {
    const message = `the controller may not write the ${what} of the package: ${error.message}; extend its ClusterRole`;
    throw new PackageInstallError("NotEstablished", message, options);
  }
  throw error;
}

function unlessGone(error: unknown): void {
  if (!isApiError(error, "NotFound")) throw error;
}

function unlessNotServed(error: unknown): undefined {
  if (!isApiError(error, "KindNotServed")) throw error;
  return undefined;
}
