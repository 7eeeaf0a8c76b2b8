import type { JsonObject } from "@xfn/functionio";
import type { LiveObject, Reconcile } from "@xfn/kubernetes";
import { type Condition, withConditions } from "../objects/conditions.ts";
import type { Context } from "../objects/context.ts";
import { FUNCTION_REVISIONS, FUNCTION_RUNTIMES, referenceOf } from "../objects/kinds.ts";
import { ANNOTATION_PAUSED } from "../objects/labels.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { findLive, textAt } from "../objects/read-objects.ts";
import { checkPackage, hostEndpoint } from "../package/check-package.ts";
import { PackageInstallError } from "../package/registry/install-error.ts";
import { ownersOf } from "../package/runtime-object.ts";
import { setPackageStatus } from "../package/set-status.ts";

const HEALTHY: Condition = { type: "Healthy", status: "True", reason: "HealthyRuntime" };

/**
 * Reconciles FunctionRuntimes: checks the package, and lets the runner serve its function. The key is the name. A
 * runtime without owners, which a user created, works too.
 */
export function functionRuntimeReconciler(context: Context): Reconcile {
  /** Runtimes whose package is not valid: it is not read again. By UID, with what was checked. */
  const refused = new Map<string, boolean>();
  return async (name, signal) => {
    const cached = context.informers.peek(FUNCTION_RUNTIMES)?.get(name);
    if (cached !== undefined && isSettled(context, cached, refused)) return undefined;
    const runtime = await findLive(context, referenceOf(FUNCTION_RUNTIMES, name), signal);
    if (cached !== undefined && cached.metadata.uid !== runtime?.metadata.uid) refused.delete(cached.metadata.uid);
    if (runtime === undefined || isBeingDeleted(runtime) || isPaused(runtime)) return undefined;
    let condition = HEALTHY;
    let fields: JsonObject = { endpoint: null };
    let failure: PackageInstallError | undefined;
    try {
      fields = { endpoint: null, ...(await check(context, runtime, signal)) };
      fields = { ...fields, endpoint: await hostEndpoint(context) };
    } catch (error) {
      if (signal.aborted || !(error instanceof PackageInstallError)) throw error;
      failure = error;
      condition = { type: "Healthy", status: "False", reason: "UnhealthyRuntime", message: error.message };
    }
    await setPackageStatus(context, runtime, [condition], fields, signal);
    // Only what the status says is settled.
    if (failure?.code === "InvalidPackage") refused.set(runtime.metadata.uid, hasFunctionRevision(runtime));
    if (failure !== undefined && failure.code !== "InvalidPackage") throw failure;
    return undefined;
  };
}

function isPaused({ metadata }: LiveObject): boolean {
  return metadata.annotations?.[ANNOTATION_PAUSED] === "true";
}

function isSettled(
  { now, functionHost }: Context,
  runtime: LiveObject,
  refused: ReadonlyMap<string, boolean>,
): boolean {
  if (isBeingDeleted(runtime)) return false;
  if (isPaused(runtime) || refused.get(runtime.metadata.uid) === hasFunctionRevision(runtime)) return true;
  const isHealthy = withConditions(runtime, [HEALTHY], now()) === undefined;
  return isHealthy && textAt(runtime, "status", "endpoint") === functionHost?.endpoint;
}

/** FunctionRevisions check whether a package is for this version of Crossplane: users can make them ignore that. */
function hasFunctionRevision(runtime: LiveObject): boolean {
  return ownersOf(runtime).some(({ kind }) => kind === FUNCTION_REVISIONS.kind);
}

/** The package of a runtime never changes, so it is resolved and checked once. @throws {PackageInstallError} */
async function check(context: Context, runtime: LiveObject, signal: AbortSignal): Promise<JsonObject> {
  if (textAt(runtime, "status", "resolvedPackage") !== undefined) return {};
  const image = textAt(runtime, "spec", "package") ?? "";
  const wanted = { image, kind: "Function", anyCrossplane: hasFunctionRevision(runtime) } as const;
  const { resolved } = await checkPackage(context, runtime, wanted, signal);
  return { resolvedPackage: resolved };
}
