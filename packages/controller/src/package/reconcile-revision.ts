import { type JsonObject, someOf } from "@xfn/functionio";
import type { LiveObject, Reconcile, ResourceKind } from "@xfn/kubernetes";
import type { Dependency, PackageKind } from "@xfn/package";
import { type Condition, conditionOf, isTrue, withConditions } from "../objects/conditions.ts";
import type { Context } from "../objects/context.ts";
import { referenceOf } from "../objects/kinds.ts";
import { ANNOTATION_PAUSED } from "../objects/labels.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { findLive, objectAt, textAt } from "../objects/read-objects.ts";
import { checkPackage, hostEndpoint } from "./check-package.ts";
import { isActive, skipsDependencies } from "./package-conditions.ts";
import { PackageInstallError } from "./registry/install-error.ts";
import { disownRuntime, ensureRuntime, isJoined, isOwnedRuntime, knownRuntime } from "./runtime-object.ts";
import { changedFields, setPackageStatus } from "./set-status.ts";

const VALID: Condition = { type: "RevisionHealthy", status: "True", reason: "HealthyPackageRevision" };
const SERVED: Condition = { type: "RuntimeHealthy", status: "True", reason: "HealthyPackageRevision" };

/** An event names this many dependencies. */
const MAX_NAMED = 10;

/** A kind of revisions, and the kind of package that each must have. */
export interface RevisionKinds {
  readonly revisionKind: ResourceKind;
  readonly packageKind: PackageKind;
}

/** A part of a revision's status. */
interface Part {
  readonly conditions: readonly Condition[];
  readonly fields: JsonObject;
}

/** A package that is not valid. */
interface Refusal {
  /** What was checked: see {@link subjectOf}. */
  readonly subject: string;
  readonly part: Part;
}

/**
 * Reconciles revisions of packages with a function: checks the package, and makes its function callable. The key is the
 * revision's name. With `--enable-function-runtimes`, an active revision owns a FunctionRuntime.
 *
 * The package of a digest never changes, so each is read once. A registry that is down later changes nothing.
 */
export function packageRevisionReconciler(context: Context, kinds: RevisionKinds): Reconcile {
  /** Packages that are not valid, by revision: they are not read again with each poll. */
  const refused = new Map<string, Refusal>();
  return async (name, signal) => {
    const cached = context.informers.peek(kinds.revisionKind)?.get(name);
    if (cached !== undefined && isRevisionSettled(context, cached, refused.get(name))) return undefined;
    const revision = await findLive(context, referenceOf(kinds.revisionKind, name), signal);
    if (revision === undefined || isBeingDeleted(revision)) refused.delete(name);
    if (revision === undefined || isBeingDeleted(revision) || isPaused(revision)) return undefined;
    let failure: PackageInstallError | undefined;
    const failed = (type: string, error: unknown): Part => {
      if (signal.aborted || !(error instanceof PackageInstallError)) throw error;
      failure ??= error;
      const condition: Condition = {
        type,
        status: "False",
        reason: "UnhealthyPackageRevision",
        message: error.message,
      };
      return { conditions: [condition], fields: {} };
    };
    const subject = subjectOf(revision);
    let checked: Part;
    try {
      if (refused.get(name)?.subject !== subject) refused.delete(name);
      checked = refused.get(name)?.part ?? (await check(context, kinds, revision, signal));
    } catch (error) {
      checked = failed("RevisionHealthy", error);
      if (failure?.code === "InvalidPackage") refused.set(name, { subject, part: checked });
    }
    const runtime = await serve(context, revision, signal).catch((error) => failed("RuntimeHealthy", error));
    const fields = { ...checked.fields, endpoint: null, ...runtime.fields };
    await setPackageStatus(context, revision, [...checked.conditions, ...runtime.conditions], fields, signal);
    // The same package is refused again, so a retry is of no use.
    if (failure !== undefined && failure.code !== "InvalidPackage") throw failure;
    return undefined;
  };
}

function isPaused({ metadata }: LiveObject): boolean {
  return metadata.annotations?.[ANNOTATION_PAUSED] === "true";
}

function imageOf(revision: LiveObject): string {
  return textAt(revision, "spec", "image") ?? "";
}

function ignoresConstraints(revision: LiveObject): boolean {
  return objectAt(revision, "spec")["ignoreCrossplaneConstraints"] === true;
}

/** What decides whether a revision's package is valid. */
function subjectOf(revision: LiveObject): string {
  return `${imageOf(revision)}${ignoresConstraints(revision) ? ", for any Crossplane" : ""}`;
}

/**
 * Whether a reconcile would change nothing, as far as the cache shows.
 *
 * @param refusal of a package that the revision had or has
 */
function isRevisionSettled(context: Context, revision: LiveObject, refusal: Refusal | undefined): boolean {
  if (isBeingDeleted(revision)) return false;
  if (isPaused(revision)) return true;
  if (!isRuntimeSettled(context, revision)) return false;
  const isRefused = refusal?.subject === subjectOf(revision);
  const conditions = isRefused ? refusal.part.conditions : [VALID];
  // The write of a refusal may have failed.
  if (withConditions(revision, conditions, context.now()) !== undefined) return false;
  return isRefused || textAt(revision, "status", "resolvedImage") === imageOf(revision);
}

function isRuntimeSettled(context: Context, revision: LiveObject): boolean {
  const { functionHost, functionRuntimes = false, now } = context;
  const runtime = functionRuntimes ? knownRuntime(context, imageOf(revision), revision) : undefined;
  const isOwned = runtime !== undefined && isOwnedRuntime(runtime, revision);
  if (!isActive(revision)) return !isOwned && textAt(revision, "status", "endpoint") === undefined;
  if (functionRuntimes && !(isOwned && isJoined(runtime, revision))) return false;
  const { conditions, fields } = isOwned
    ? mirrored(runtime)
    : { conditions: [SERVED], fields: { endpoint: functionHost?.endpoint ?? null } };
  const isSame = Object.keys(changedFields(revision, { endpoint: null, ...fields })).length === 0;
  return isSame && withConditions(revision, conditions, now()) === undefined;
}

/** Checks the package of a revision, unless its status says that this was done. @throws {PackageInstallError} */
async function check(
  context: Context,
  { packageKind }: RevisionKinds,
  revision: LiveObject,
  signal: AbortSignal,
): Promise<Part> {
  const image = imageOf(revision);
  const isKnown = textAt(revision, "status", "resolvedImage") === image && isTrue(revision, "RevisionHealthy");
  if (isKnown) return { conditions: [VALID], fields: {} };
  const anyCrossplane = ignoresConstraints(revision);
  const wanted = { image, kind: packageKind, anyCrossplane };
  const { capabilities, dependencies } = await checkPackage(context, revision, wanted, signal);
  if (!skipsDependencies(revision)) warnOfDependencies(context, revision, dependencies);
  const foundDependencies = dependencies.length === 0 ? null : dependencies.length;
  return {
    conditions: [VALID],
    fields: { resolvedImage: image, capabilities: [...capabilities], foundDependencies },
  };
}

/** A function may need none of them to run, so it is installed. */
function warnOfDependencies({ events }: Context, revision: LiveObject, dependencies: readonly Dependency[]): void {
  if (dependencies.length === 0) return;
  const names = dependencies.map((one) => `${one.kind} ${one.package} ${one.constraint}`);
  const message = `the package depends on ${someOf(names, MAX_NAMED)}: dependencies are not installed with a package`;
  events.record(revision, { type: "Warning", reason: "ResolveDependencies", message });
}

/** Makes the function of an active revision callable. @throws {PackageInstallError} */
async function serve(context: Context, revision: LiveObject, signal: AbortSignal): Promise<Part> {
  const image = imageOf(revision);
  const { functionRuntimes = false } = context;
  if (!isActive(revision)) {
    if (functionRuntimes) await disownRuntime(context, image, revision, signal);
    return { conditions: [], fields: {} };
  }
  if (functionRuntimes) return mirrored(await ensureRuntime(context, image, revision, signal));
  return { conditions: [SERVED], fields: { endpoint: await hostEndpoint(context) } };
}

/** The state of a runtime as that of its revision. */
function mirrored(runtime: LiveObject): Part {
  const endpoint = textAt(runtime, "status", "endpoint");
  if (isTrue(runtime, "Healthy") && endpoint !== undefined) return { conditions: [SERVED], fields: { endpoint } };
  const why = textAt(conditionOf(runtime, "Healthy"), "message") ?? "it is being prepared";
  const message = `the FunctionRuntime ${runtime.metadata.name} is not healthy: ${why}`;
  const condition: Condition = { type: "RuntimeHealthy", status: "False", reason: "UnhealthyPackageRevision", message };
  return { conditions: [condition], fields: {} };
}
