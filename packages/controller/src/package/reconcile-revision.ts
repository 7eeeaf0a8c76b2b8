import { textAt } from "@xfn/json";
import type { LiveObject, Reconcile } from "@xfn/kubernetes";
import { type Condition, conditionOf, isTrue, withConditions } from "../objects/conditions.ts";
import type { Context } from "../objects/context.ts";
import {
  CONFIGURATION_REVISIONS,
  FUNCTION_REVISIONS,
  FUNCTION_RUNTIMES,
  PROVIDER_REVISIONS,
  referenceOf,
} from "../objects/kinds.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { findLive, isPaused } from "../objects/read-objects.ts";
import { hostEndpoint } from "./host-endpoint.ts";
import type { WebhookServices } from "./own-conversion.ts";
import { isActive } from "./package-conditions.ts";
import type { PackageKinds } from "./package-kinds.ts";
import { changedFields, type Part, setPackageStatus } from "./plan-status.ts";
import { imageSettings, whenConfigsListed } from "./registry/image-configs.ts";
import { asInstallError, type PackageInstallError } from "./registry/install-error.ts";
import { DependencyResolver } from "./resolve-dependencies.ts";
import { ignoresConstraints, imageOf, RevisionContents, VALID } from "./revision-content.ts";
import { disownRuntime, ensureRuntime, isJoined, isOwnedRuntime, knownRuntime } from "./runtime-object.ts";

const SERVED: Condition = { type: "RuntimeHealthy", status: "True", reason: "HealthyPackageRevision" };

/** A provider without its program counts as installed, because its CRDs are useful. */
const NO_PROVIDER_RUNTIME: Condition = {
  type: "RuntimeHealthy",
  status: "False",
  reason: "UnhealthyPackageRevision",
  message:
    "nothing runs the program of the provider; start the controller with --enable-function-runtimes, or run it yourself",
};

const UNVERIFIED: Condition = { type: "Verified", status: "False", reason: "SignatureVerificationFailed" };

/** The refusal of an invalid package. */
interface Refusal {
  /** The checked subject: see {@link subjectOf}. */
  readonly subject: string;
  readonly part: Part;
}

/**
 * Reconciles revisions of packages: checks the package, installs its dependencies, establishes its objects, and makes
 * its function callable. The key is the revision's name. With `--enable-function-runtimes`, an active revision of a
 * Function owns a FunctionRuntime.
 *
 * The package of a digest never changes, so each is read once. A later outage of the registry has no effect.
 */
export function packageRevisionReconciler(
  context: Context,
  kinds: PackageKinds,
  resolver: DependencyResolver = new DependencyResolver(context),
  webhooks?: WebhookServices,
): Reconcile {
  const contents = new RevisionContents(context, kinds, resolver, webhooks);
  /** Invalid packages by revision, so that polls do not read them again. */
  const refused = new Map<string, Refusal>();
  return async (name, signal) => {
    await whenConfigsListed(context, signal);
    const cached = context.informers.peek(kinds.revisionKind)?.get(name);
    if (cached !== undefined && isRevisionSettled(context, contents, cached, refused.get(name))) return undefined;
    const revision = await findLive(context, referenceOf(kinds.revisionKind, name), signal);
    if (revision === undefined || isBeingDeleted(revision)) refused.delete(name);
    if (revision === undefined || isBeingDeleted(revision) || isPaused(revision)) return undefined;
    let failure: PackageInstallError | undefined;
    const failed = (type: string, caught: unknown): Part => {
      const error = asInstallError(caught);
      if (signal.aborted || error === undefined) throw caught;
      failure ??= error;
      const condition: Condition = {
        type,
        status: "False",
        reason: "UnhealthyPackageRevision",
        message: error.message,
      };
      return { conditions: [condition], fields: {} };
    };
    const subject = subjectOf(context, revision);
    let checked: Part;
    try {
      if (refused.get(name)?.subject !== subject) refused.delete(name);
      checked = refused.get(name)?.part ?? (await contents.install(revision, signal));
    } catch (error) {
      checked = failed("RevisionHealthy", error);
      if (failure?.code === "Unverified")
        checked = { ...checked, conditions: [...checked.conditions, { ...UNVERIFIED, message: failure.message }] };
      if (failure?.code === "InvalidPackage") refused.set(name, { subject, part: checked });
    }
    const runtime = await serve(context, revision, signal).catch((error) => failed("RuntimeHealthy", error));
    const fields = { ...checked.fields, endpoint: null, ...runtime.fields };
    await setPackageStatus(context, revision, [...checked.conditions, ...runtime.conditions], fields, signal);
    // The same package would be refused again, so do not retry.
    if (failure !== undefined && failure.code !== "InvalidPackage") throw failure;
    return undefined;
  };
}

/** Everything that determines whether a revision's package is valid. */
function subjectOf(context: Context, revision: LiveObject): string {
  return `${imageSettings(context, imageOf(revision)).image}${ignoresConstraints(revision) ? ", for any Crossplane" : ""}`;
}

/**
 * Whether a reconcile would change nothing, according to the cache.
 *
 * @param refusal of a package that the revision had or has
 */
function isRevisionSettled(
  context: Context,
  contents: RevisionContents,
  revision: LiveObject,
  refusal: Refusal | undefined,
): boolean {
  if (isBeingDeleted(revision)) return false;
  if (isPaused(revision)) return true;
  if (!isRuntimeSettled(context, revision)) return false;
  const isRefused = refusal?.subject === subjectOf(context, revision);
  const conditions = isRefused ? refusal.part.conditions : [VALID];
  // The write of a refusal may have failed.
  if (withConditions(revision, conditions, context.now()) !== undefined) return false;
  return isRefused || contents.isSettled(revision);
}

function isRuntimeSettled(context: Context, revision: LiveObject): boolean {
  const { functionHost, functionRuntimes = false, now } = context;
  if (revision.kind === CONFIGURATION_REVISIONS.kind) return true;
  if (revision.kind === PROVIDER_REVISIONS.kind && !functionRuntimes)
    return !isActive(revision) || withConditions(revision, [NO_PROVIDER_RUNTIME], now()) === undefined;
  const runtime = functionRuntimes ? knownRuntime(context, imageOf(revision), revision) : undefined;
  const isOwned = runtime !== undefined && isOwnedRuntime(runtime, revision);
  if (!isActive(revision)) return !isOwned && FUNCTION_REVISIONS.of(revision).status.endpoint === undefined;
  if (functionRuntimes && !(isOwned && isJoined(runtime, revision))) return false;
  const { conditions, fields } = isOwned
    ? mirrored(runtime)
    : { conditions: [SERVED], fields: { endpoint: functionHost?.endpoint ?? null } };
  const isSame = Object.keys(changedFields(revision, { endpoint: null, ...fields })).length === 0;
  return isSame && withConditions(revision, conditions, now()) === undefined;
}

/** Makes the function of an active revision callable. @throws {PackageInstallError} */
async function serve(context: Context, revision: LiveObject, signal: AbortSignal): Promise<Part> {
  const image = imageOf(revision);
  const { functionRuntimes = false } = context;
  if (revision.kind === CONFIGURATION_REVISIONS.kind) return { conditions: [], fields: {} };
  if (revision.kind === PROVIDER_REVISIONS.kind && !functionRuntimes)
    return { conditions: isActive(revision) ? [NO_PROVIDER_RUNTIME] : [], fields: {} };
  if (!isActive(revision)) {
    if (functionRuntimes) await disownRuntime(context, image, revision, signal);
    return { conditions: [], fields: {} };
  }
  if (functionRuntimes) return mirrored(await ensureRuntime(context, image, revision, signal));
  return { conditions: [SERVED], fields: { endpoint: await hostEndpoint({ host: context.functionHost }) } };
}

/** The state of a runtime, as the state of its revision. */
function mirrored(runtime: LiveObject): Part {
  const endpoint = FUNCTION_RUNTIMES.of(runtime).status.endpoint;
  if (isTrue(runtime, "Healthy") && endpoint !== undefined) return { conditions: [SERVED], fields: { endpoint } };
  const why = textAt(conditionOf(runtime, "Healthy"), "message") ?? "it is being prepared";
  const message = `the ${runtime.kind} ${runtime.metadata.name} is not healthy: ${why}`;
  const condition: Condition = { type: "RuntimeHealthy", status: "False", reason: "UnhealthyPackageRevision", message };
  return { conditions: [condition], fields: {} };
}
