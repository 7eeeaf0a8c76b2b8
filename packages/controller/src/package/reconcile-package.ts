import { textAt } from "@xfn/json";
import { isApiError, type LiveObject, type Reconcile } from "@xfn/kubernetes";
import { ImageError } from "@xfn/oci-rootfs";
import { type Condition, withConditions } from "../objects/conditions.ts";
import type { Context } from "../objects/context.ts";
import { hasElapsed } from "../objects/elapsed.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { FUNCTIONS, referenceOf } from "../objects/kinds.ts";
import { LABEL_PACKAGE, labelValue, selectorText } from "../objects/labels.ts";
import { isBeingDeleted, isControlledBy } from "../objects/owner.ts";
import { findLive, isPaused } from "../objects/read-objects.ts";
import { referenceTo } from "../objects/references.ts";
import { isActive, withReady } from "./package-conditions.ts";
import type { PackageKinds } from "./package-kinds.ts";
import { isAsPlanned, knownDigest, type PackagePlan, planPackage } from "./plan-package.ts";
import { askRegistry } from "./registry/ask-registry.ts";
import { imageSettings, whenConfigsListed } from "./registry/image-configs.ts";
import { asInstallError, PackageInstallError } from "./registry/install-error.ts";
import { digestIn } from "./registry/package-names.ts";
import { changedFields, setPackageStatus } from "./set-status.ts";

/**
 * With the pull policy Always, a registry is asked at this interval whether a tag has moved, as often as in Crossplane.
 */
const PULL_MS = 60_000;

/**
 * Reconciles the revisions of packages (https://docs.crossplane.io/latest/packages/functions/). The key is the
 * package's name.
 *
 * A tag is resolved to a digest once with the pull policy IfNotPresent, and every minute with Always. Existing
 * revisions are not changed until the package's digest is known, even if the registry fails.
 */
export function packageReconciler(context: Context, kinds: PackageKinds): Reconcile {
  const answers = new Map<string, Answer>();
  return async (name, signal) => {
    await whenConfigsListed(context, signal);
    const last = answers.get(name);
    if (isPackageSettled(context, kinds, name, last)) return dueIn(context, last);
    const object = await findLive(context, referenceOf(kinds.kind, name), signal);
    if (object === undefined || isBeingDeleted(object)) {
      answers.delete(name);
      return undefined;
    }
    if (isPaused(object)) return undefined;
    const labelSelector = selectorText({ [LABEL_PACKAGE]: labelValue(name) });
    const { items: revisions } = await context.client.list(kinds.revisionKind, { labelSelector, signal });
    try {
      const answer = isFresh(context, object, last) ? last : await resolve(context, object, signal);
      const { digest, note } = answer;
      if (pullPolicyOf(object) === "Always") answers.set(name, answer);
      const settings = imageSettings(context, FUNCTIONS.of(object).spec.package ?? "");
      const plan = planPackage({ object, revisionKind: kinds.revisionKind, digest, revisions, note, settings });
      await execute(context, object, plan, signal);
    } catch (caught) {
      const error = asInstallError(caught);
      if (signal.aborted || error === undefined) throw caught;
      const serving = revisions.find((revision) => isActive(revision) && isControlledBy(revision, object));
      const rest = serving === undefined ? "" : `; the revision ${serving.metadata.name} stays active`;
      await setPackageStatus(context, object, failedConditions(`${error.message}${rest}`, serving), {}, signal);
      throw error;
    }
    return pullPolicyOf(object) === "Always" ? dueIn(context, answers.get(name)) : undefined;
  };
}

/**
 * A registry's answer for a package with the pull policy Always. Events do not query the registry before the next query
 * is due.
 */
interface Answer {
  readonly uid: string;
  readonly source: string;
  /** In milliseconds since the epoch. */
  readonly at: number;
  readonly digest: string;
  readonly note?: string | undefined;
}

function isFresh({ now }: Context, object: LiveObject, answer: Answer | undefined): answer is Answer {
  if (answer === undefined || pullPolicyOf(object) !== "Always") return false;
  const isSame = answer.uid === object.metadata.uid && answer.source === FUNCTIONS.of(object).spec.package;
  return isSame && !hasElapsed(answer.at, now(), PULL_MS);
}

function dueIn({ now }: Context, answer: Answer | undefined): { requeueAfterMs: number } | undefined {
  const restMs = answer === undefined ? 0 : answer.at + PULL_MS - now();
  return restMs > 0 ? { requeueAfterMs: restMs } : undefined;
}

/** Whether a reconcile would change nothing, according to the caches of packages and revisions. */
function isPackageSettled(
  context: Context,
  { kind, revisionKind }: PackageKinds,
  name: string,
  answer: Answer | undefined,
): boolean {
  const { informers, now } = context;
  const object = informers.peek(kind)?.get(name);
  const revisions = informers.peek(revisionKind)?.list();
  if (object === undefined || revisions === undefined || isBeingDeleted(object)) return false;
  if (isPaused(object)) return true;
  const digest = knownDigest(object);
  const isAsked = pullPolicyOf(object) === "Always";
  if (digest === undefined || (isAsked && !isFresh(context, object, answer))) return false;
  const settings = imageSettings(context, FUNCTIONS.of(object).spec.package ?? "");
  const plan = planPackage({
    object,
    revisionKind,
    digest,
    revisions,
    note: isAsked ? answer?.note : undefined,
    settings,
  });
  const isSame = Object.keys(changedFields(object, plan.status)).length === 0;
  return isSame && isAsPlanned(plan) && withConditions(object, plan.conditions, now()) === undefined;
}

function pullPolicyOf(object: LiveObject): string {
  return FUNCTIONS.of(object).spec.packagePullPolicy ?? "IfNotPresent";
}

/** The digest of the package that `spec.package` names. @throws {PackageInstallError} */
async function resolve(context: Context, object: LiveObject, signal: AbortSignal): Promise<Answer> {
  const source = FUNCTIONS.of(object).spec.package ?? "";
  const asked = { uid: object.metadata.uid, source, at: context.now() };
  const known = knownDigest(object);
  const policy = pullPolicyOf(object);
  const action = `cannot resolve spec.package ${source}`;
  const pinned = pinnedIn(source, action) ?? (policy === "Always" ? undefined : known);
  if (pinned !== undefined) return { ...asked, digest: pinned };
  if (policy === "Never") {
    const message = `${action}: with the packagePullPolicy Never, spec.package must have a digest; add it, or use IfNotPresent`;
    throw new PackageInstallError("Unavailable", message);
  }
  try {
    const ask = { image: source, action };
    const digest = await askRegistry(
      context,
      object,
      ask,
      (from, auth, image) => from.digestOf(image, auth, signal),
      signal,
    );
    return { ...asked, digest };
  } catch (error) {
    // The package is installed; only its registry does not answer now.
    if (!(error instanceof PackageInstallError) || known === undefined) throw error;
    return { ...asked, digest: known, note: `cannot check for a newer package: ${error.message}` };
  }
}

function pinnedIn(source: string, action: string): string | undefined {
  try {
    return digestIn(source);
  } catch (cause) {
    if (!(cause instanceof ImageError)) throw cause;
    throw new PackageInstallError("Unavailable", `${action}: ${cause.rawMessage}`, { cause });
  }
}

/** Executes the plan in an order that leaves a serving revision after a crash between two writes. */
async function execute(context: Context, object: LiveObject, plan: PackagePlan, signal: AbortSignal): Promise<void> {
  const { client, events } = context;
  const options = { fieldManager: FIELD_MANAGERS.package, signal };
  if (plan.create !== undefined) {
    const { name = "" } = plan.create.metadata ?? {};
    try {
      await client.create(plan.create, options);
    } catch (error) {
      if (!isApiError(error, "AlreadyExists")) throw error;
      const existing = await findLive(context, referenceTo(plan.create), signal);
      // Another controller was faster, or the server's list for the cache lags. The next reconcile sees the revision.
      if (existing !== undefined && isControlledBy(existing, object)) return;
      const message = `the ${plan.create.kind ?? ""} ${name} exists and does not belong to it; delete that object`;
      throw new PackageInstallError("NameTaken", message, { cause: error });
    }
    events.record(object, {
      type: "Normal",
      reason: "InstallPackageRevision",
      message: `created the revision ${name}`,
    });
  }
  for (const { revision, spec } of plan.changes) {
    const { resourceVersion, name } = revision.metadata;
    await client.patch(referenceTo(revision), "merge", { metadata: { resourceVersion }, spec }, options);
    const state = textAt(spec, "desiredState");
    if (state === undefined) continue;
    const message = `the revision ${name} is now ${state.toLowerCase()}`;
    events.record(object, { type: "Normal", reason: "TransitionRevision", message });
  }
  for (const revision of plan.remove) {
    const { uid, name } = revision.metadata;
    await client.delete(referenceTo(revision), { preconditions: { uid }, signal }).catch(unlessGone);
    const message = `deleted the revision ${name}: spec.revisionHistoryLimit`;
    events.record(object, { type: "Normal", reason: "GarbageCollect", message });
  }
  await setPackageStatus(context, object, plan.conditions, plan.status, signal);
}

function unlessGone(error: unknown): void {
  if (!isApiError(error, "NotFound")) throw error;
}

function failedConditions(message: string, serving: LiveObject | undefined): Condition[] {
  const installed: Condition = { type: "Installed", status: "False", reason: "UnpackingPackage", message };
  // The health of a revision that still serves has not changed.
  if (serving !== undefined) return withReady([installed]);
  return withReady([installed, { type: "Healthy", status: "False", reason: "UnhealthyPackageRevision", message }]);
}
