import type { JsonObject, JsonValue } from "@xfn/json";
import type { LiveObject, Reconcile, ResourceKind } from "@xfn/kubernetes";
import type { PackageKind } from "@xfn/package";
import { type Condition, withConditions } from "../objects/conditions.ts";
import type { Context } from "../objects/context.ts";
import { FUNCTION_REVISIONS, FUNCTION_RUNTIMES, PROVIDER_RUNTIMES, referenceOf } from "../objects/kinds.ts";
import { isBeingDeleted, ownerReferencesOf } from "../objects/owner.ts";
import { findLive, isPaused } from "../objects/read-objects.ts";
import { hostEndpoint } from "../package/host-endpoint.ts";
import { setPackageStatus } from "../package/plan-status.ts";
import { checkPackage } from "../package/registry/check-package.ts";
import { asInstallError, type PackageInstallError } from "../package/registry/install-error.ts";
import { ensureWorkload, isDeploymentEndpoint, knownWorkload, usesDeployment } from "./deployment-substrate.ts";
import { ProviderRoles } from "./provider-roles.ts";
import { deleteWorkload } from "./workload-objects.ts";

const HEALTHY: Condition = { type: "Healthy", status: "True", reason: "HealthyRuntime" };

/** Reconciles FunctionRuntimes: checks the package, and makes its function callable. The key is the name. */
export function functionRuntimeReconciler(context: Context): Reconcile {
  return runtimeReconciler(context, { kind: FUNCTION_RUNTIMES, packageKind: "Function" });
}

/** Reconciles ProviderRuntimes: checks the package, and runs the provider. The key is the name. */
export function providerRuntimeReconciler(context: Context): Reconcile {
  return runtimeReconciler(context, { kind: PROVIDER_RUNTIMES, packageKind: "Provider" });
}

/** A kind of runtimes, and the kind of package that each runs. */
interface RuntimeKinds {
  readonly kind: ResourceKind;
  readonly packageKind: PackageKind;
}

/** A runtime without owners, which a user created, works too. */
function runtimeReconciler(context: Context, { kind, packageKind }: RuntimeKinds): Reconcile {
  /** Runtimes whose package is not valid: it is not read again. By UID, with what was checked. */
  const refused = new Map<string, boolean>();
  const roles = new ProviderRoles(context);
  return async (name, signal) => {
    const cached = context.informers.peek(kind)?.get(name);
    if (cached !== undefined && (await isSettled(context, cached, { refused, roles }, signal))) return undefined;
    const runtime = await findLive(context, referenceOf(kind, name), signal);
    if (cached !== undefined && cached.metadata.uid !== runtime?.metadata.uid) {
      refused.delete(cached.metadata.uid);
      roles.forget(cached.metadata.uid);
    }
    if (runtime === undefined || isBeingDeleted(runtime) || isPaused(runtime)) return undefined;
    let condition = HEALTHY;
    let fields: JsonObject = { endpoint: null };
    let failure: PackageInstallError | undefined;
    try {
      fields = { endpoint: null, ...(await check(context, runtime, packageKind, signal)) };
      fields = { ...fields, endpoint: await serve(context, runtime, { roles, ...fields }, signal) };
    } catch (caught) {
      const error = asInstallError(caught);
      if (signal.aborted || error === undefined) throw caught;
      failure = error;
      condition = unhealthy(error.message);
    }
    await setPackageStatus(context, runtime, [condition], fields, signal);
    // Only what the status says is settled.
    if (failure?.code === "InvalidPackage") refused.set(runtime.metadata.uid, hasFunctionRevision(runtime));
    if (failure !== undefined && failure.code !== "InvalidPackage" && failure.retryable) throw failure;
    return undefined;
  };
}

/** Makes the package of a runtime callable. @returns its endpoint @throws {PackageInstallError} */
async function serve(
  context: Context,
  runtime: LiveObject,
  { resolvedPackage, roles }: { readonly resolvedPackage?: JsonValue; readonly roles: ProviderRoles },
  signal: AbortSignal,
): Promise<string> {
  if (usesDeployment(context, runtime)) {
    const image =
      typeof resolvedPackage === "string" ? resolvedPackage : FUNCTION_RUNTIMES.of(runtime).status.resolvedPackage;
    return await ensureWorkload(context, runtime, { image: image ?? "", roles }, signal);
  }
  const endpoint = await hostEndpoint({ host: context.functionHost });
  // The runtime named a DeploymentRuntimeConfig before, or the flag was another.
  if (isDeploymentEndpoint(FUNCTION_RUNTIMES.of(runtime).status))
    await deleteWorkload(context, runtime, new Set<string>(), signal);
  return endpoint;
}

function unhealthy(message: string): Condition {
  return { type: "Healthy", status: "False", reason: "UnhealthyRuntime", message };
}

async function isSettled(
  context: Context,
  runtime: LiveObject,
  { refused, roles }: { readonly refused: ReadonlyMap<string, boolean>; readonly roles: ProviderRoles },
  signal: AbortSignal,
): Promise<boolean> {
  const { now, functionHost } = context;
  if (isBeingDeleted(runtime)) return false;
  if (isPaused(runtime) || refused.get(runtime.metadata.uid) === hasFunctionRevision(runtime)) return true;
  const has = (condition: Condition, endpoint: string | undefined): boolean =>
    withConditions(runtime, [condition], now()) === undefined &&
    FUNCTION_RUNTIMES.of(runtime).status.endpoint === endpoint;
  if (!usesDeployment(context, runtime)) return has(HEALTHY, functionHost?.endpoint);
  const known = await knownWorkload(context, runtime, roles, signal);
  if (known === undefined) return false;
  return "endpoint" in known ? has(HEALTHY, known.endpoint) : has(unhealthy(known.problem), undefined);
}

/** FunctionRevisions check whether a package is for this version of Crossplane: users can make them ignore that. */
function hasFunctionRevision(runtime: LiveObject): boolean {
  return ownerReferencesOf(runtime).some(({ kind }) => kind === FUNCTION_REVISIONS.kind);
}

/** The package of a runtime never changes, so it is resolved and checked once. @throws {PackageInstallError} */
async function check(
  context: Context,
  runtime: LiveObject,
  kind: PackageKind,
  signal: AbortSignal,
): Promise<JsonObject> {
  const { spec, status } = FUNCTION_RUNTIMES.of(runtime);
  if (status.resolvedPackage !== undefined) return {};
  const image = spec.package ?? "";
  const wanted = { image, kind, anyCrossplane: hasFunctionRevision(runtime) } as const;
  const { resolved } = await checkPackage(context, runtime, wanted, signal);
  return { resolvedPackage: resolved };
}
