import type { JsonObject } from "@xfn/json";
import type { LiveObject, Reconcile, ResourceKind } from "@xfn/kubernetes";
import type { PackageKind } from "@xfn/package";
import type { Condition } from "../objects/conditions.ts";
import { FUNCTION_REVISIONS, FUNCTION_RUNTIMES, PROVIDER_RUNTIMES, referenceOf } from "../objects/kinds.ts";
import { isBeingDeleted, ownerReferencesOf } from "../objects/owner.ts";
import { findLive, isPaused } from "../objects/read-objects.ts";
import { carryOut } from "../package/carry-out.ts";
import { hostEndpoint } from "../package/host-endpoint.ts";
import { withReady } from "../package/package-conditions.ts";
import type { PackagePort } from "../package/package-port.ts";
import { type Part, planStatus } from "../package/plan-status.ts";
import { asInstallError, PackageInstallError } from "../package/registry/install-error.ts";
import { isEmpty } from "../plan/plan.ts";
import { type Activation, activationConditions, activationOf } from "./activation.ts";
import {
  deleteWorkload,
  ensureWorkload,
  isDeploymentEndpoint,
  recallWorkload,
  usesDeployment,
} from "./deployment-substrate.ts";
import { ProviderRoles } from "./provider-roles.ts";

const HEALTHY: Condition = { type: "Healthy", status: "True", reason: "HealthyRuntime" };

/** Reconciles FunctionRuntimes: checks the package, and makes its function callable. The key is the name. */
export function functionRuntimeReconciler(port: PackagePort): Reconcile {
  return runtimeReconciler(port, { kind: FUNCTION_RUNTIMES, packageKind: "Function" });
}

/** Reconciles ProviderRuntimes: checks the package, and runs the provider. The key is the name. */
export function providerRuntimeReconciler(port: PackagePort): Reconcile {
  return runtimeReconciler(port, { kind: PROVIDER_RUNTIMES, packageKind: "Provider" });
}

/** A kind of runtimes, and the kind of package that each runs. */
interface RuntimeKinds {
  readonly kind: ResourceKind;
  readonly packageKind: PackageKind;
}

/** The refusal of an invalid package, which is not read again. */
interface Refusal {
  /** Whether the package could be for another version of Crossplane: see {@link hasFunctionRevision}. */
  readonly anyCrossplane: boolean;
  readonly part: Part;
}

/** A runtime without owners, which a user created, works too. */
function runtimeReconciler(port: PackagePort, { kind, packageKind }: RuntimeKinds): Reconcile {
  /** By the UID of the runtime. */
  const refused = new Map<string, Refusal>();
  const roles = new ProviderRoles(port.cluster);
  const { cluster, now } = port;
  return async (name, signal) => {
    const cached = cluster.informers.peek(kind)?.get(name);
    if (cached !== undefined && !isBeingDeleted(cached)) {
      if (isPaused(cached)) return undefined;
      const known = await recall(port, cached, roles, refused.get(cached.metadata.uid));
      if (known !== undefined && isEmpty(planStatus(cached, known, now()))) return undefined;
    }
    const runtime = await findLive(cluster, referenceOf(kind, name), signal);
    if (cached !== undefined && cached.metadata.uid !== runtime?.metadata.uid) {
      refused.delete(cached.metadata.uid);
      roles.forget(cached.metadata.uid);
    }
    if (runtime === undefined || isBeingDeleted(runtime) || isPaused(runtime)) return undefined;
    const { part, failure } = await serve(port, runtime, packageKind, roles, signal);
    await carryOut(cluster, runtime, planStatus(runtime, part, now()), signal);
    if (failure?.code === "InvalidPackage")
      refused.set(runtime.metadata.uid, { anyCrossplane: hasFunctionRevision(runtime), part });
    else if (failure?.retryable) throw failure;
    return undefined;
  };
}

/** The status of a runtime as far as it is known without a request. */
async function recall(
  { cluster, hosting, workloads, now }: PackagePort,
  runtime: LiveObject,
  roles: ProviderRoles,
  refusal: Refusal | undefined,
): Promise<Part | undefined> {
  if (refusal?.anyCrossplane === hasFunctionRevision(runtime)) return refusal.part;
  if (!usesDeployment(hosting, runtime)) return healthy(hosting.host?.endpoint);
  const activation = activationOf({ cluster, hosting }, runtime);
  const known = await recallWorkload({ cluster, workloads, roles, now }, runtime, activation);
  if (known === undefined) return undefined;
  const part = "endpoint" in known ? healthy(known.endpoint) : unhealthy(known.problem);
  return withActivation(part, runtime, activation);
}

/** The status of a runtime, and the failure that it reports. */
interface Reported {
  readonly part: Part;
  readonly failure?: PackageInstallError;
}

/** Checks the package of a runtime, and makes it callable. */
async function serve(
  { cluster, images, hosting, workloads, now }: PackagePort,
  runtime: LiveObject,
  packageKind: PackageKind,
  roles: ProviderRoles,
  signal: AbortSignal,
): Promise<Reported> {
  const { spec, status } = FUNCTION_RUNTIMES.of(runtime);
  const activation = activationOf({ cluster, hosting }, runtime);
  let fields: JsonObject = {};
  try {
    // The package of a runtime never changes, so it is resolved and checked once.
    let image = status.resolvedPackage;
    if (image === undefined) {
      const anyCrossplane = hasFunctionRevision(runtime);
      const wanted = { image: spec.package ?? "", kind: packageKind, anyCrossplane } as const;
      image = (await images.check(runtime, wanted, signal)).resolved;
      fields = { resolvedPackage: image };
    }
    if (usesDeployment(hosting, runtime)) {
      const served = await ensureWorkload({ cluster, workloads, roles, now }, runtime, { image, activation }, signal);
      if ("problem" in served) throw new PackageInstallError("NoRuntime", served.problem);
      return { part: withActivation(healthy(served.endpoint, fields), runtime, activation) };
    }
    const endpoint = await hostEndpoint(hosting);
    // The runtime named a DeploymentRuntimeConfig before, or the flag was another.
    if (isDeploymentEndpoint(status)) await deleteWorkload(cluster, runtime, signal);
    return { part: healthy(endpoint, fields) };
  } catch (caught) {
    const failure = asInstallError(caught);
    if (signal.aborted || failure === undefined) throw caught;
    return { part: withActivation(unhealthy(failure.message, fields), runtime, activation), failure };
  }
}

function healthy(endpoint: string | undefined, fields: JsonObject = {}): Part {
  return { conditions: withReady([HEALTHY]), fields: { ...fields, endpoint: endpoint ?? null } };
}

function unhealthy(message: string, fields: JsonObject = {}): Part {
  const condition: Condition = { type: "Healthy", status: "False", reason: "UnhealthyRuntime", message };
  return { conditions: withReady([condition]), fields: { ...fields, endpoint: null } };
}

function withActivation({ conditions, fields }: Part, runtime: LiveObject, activation: Activation): Part {
  return { conditions: [...conditions, ...activationConditions(runtime, activation)], fields };
}

/** FunctionRevisions check whether a package is for this version of Crossplane: users can make them ignore that. */
function hasFunctionRevision(runtime: LiveObject): boolean {
  return ownerReferencesOf(runtime).some(({ kind }) => kind === FUNCTION_REVISIONS.kind);
}
