import { someOf } from "@xfn/errors";
import type { LiveObject, ResourceKind } from "@xfn/kubernetes";
import { FUNCTION_RUNTIMES, PROVIDER_RUNTIMES, SECRETS } from "../objects/kinds.ts";
import type { Cluster, Hosting, PackagePort } from "../package/package-port.ts";
import { PackageInstallError } from "../package/registry/install-error.ts";
import { execute, executeOrThrow } from "../plan/execute.ts";
import { firstFailure } from "../plan/outcome.ts";
import { isEmpty, planInOrder } from "../plan/plan.ts";
import type { Activation } from "./activation.ts";
import { AUTHORITY_SECRET, ensureAuthority, usableAuthority } from "./authority.ts";
import { deploymentProblem } from "./deployment-health.ts";
import {
  controlledObjects,
  DEFAULT_CONFIG,
  liveWorkloads,
  observeWorkload,
  type SeenWorkload,
} from "./observe-workload.ts";
import { planWorkload, refusedWrite, removed } from "./plan-workload.ts";
import type { ProviderRoles } from "./provider-roles.ts";
import { knownSecrets, nextSecrets } from "./workload-secrets.ts";

/** A message names this many CRDs. */
const MAX_NAMED = 5;

type Port = Pick<PackagePort, "cluster" | "now" | "workloads"> & { readonly roles: ProviderRoles };

/** Whether Deployments run a runtime. Providers have no other substrate. */
export function usesDeployment({ substrate }: Hosting, runtime: LiveObject): boolean {
  if (runtime.kind === PROVIDER_RUNTIMES.kind || substrate === "Deployment") return true;
  return (FUNCTION_RUNTIMES.of(runtime).spec.runtimeConfigRef.name ?? DEFAULT_CONFIG) !== DEFAULT_CONFIG;
}

/** The endpoint of a workload, or why no pod serves. */
type Served = { readonly endpoint: string } | { readonly problem: string };

function servedBy({ endpoint }: SeenWorkload, deployment: LiveObject | undefined, activation: Activation): Served {
  if (activation === "pending") return { problem: "the objects of its package are not established yet" };
  const problem = activation === "active" && deployment && deploymentProblem(deployment);
  return problem ? { problem } : { endpoint };
}

/** The state of a runtime's workload according to the caches; undefined if something must be read or written. */
export async function recallWorkload(
  { cluster, workloads, roles, now }: Port,
  runtime: LiveObject,
  activation: Activation,
): Promise<Served | undefined> {
  const image = FUNCTION_RUNTIMES.of(runtime).status.resolvedPackage;
  const caches = workloads.caches();
  const authority = usableAuthority(caches?.(SECRETS)?.get(AUTHORITY_SECRET, cluster.namespace), now());
  if (caches === undefined || image === undefined || authority === undefined) return undefined;
  const read = async (kind: ResourceKind, name: string): Promise<LiveObject | undefined> =>
    caches(kind)?.get(name, cluster.namespace);
  const seen = await observeWorkload({ cluster, read, list: async () => [] }, runtime, image, activation !== "active");
  if (seen === undefined) return undefined;
  const secrets = knownSecrets(seen, authority, now());
  if (secrets === undefined || !isEmpty(planWorkload(seen, secrets))) return undefined;
  if (seen.workload.kind === "Provider" && !roles.areWritten(runtime, seen.podAccount)) return undefined;
  return servedBy(seen, seen.deployment, activation);
}

/**
 * Creates or updates the objects that run a runtime: Secrets, ServiceAccount, Service and Deployment.
 *
 * @param image with a digest
 * @throws {PackageInstallError} `NameTaken` or `NoRuntime`
 */
export async function ensureWorkload(
  { cluster, workloads, roles, now }: Port,
  runtime: LiveObject,
  { image, activation }: { readonly image: string; readonly activation: Activation },
  signal: AbortSignal,
): Promise<Served> {
  workloads.watch();
  const seen = await observeWorkload(liveWorkloads(cluster, signal), runtime, image, activation !== "active");
  if (seen === undefined) throw missingConfig(runtime);
  const authority = await ensureAuthority({ ...cluster, now }, signal);
  const plan = planWorkload(seen, await nextSecrets(seen, authority, now()));
  const pending = seen.workload.kind === "Provider" ? await roles.ensure(runtime, seen.podAccount, signal) : [];
  const outcome = await execute(plan, { actors: { own: cluster }, signal });
  const failure = firstFailure(outcome);
  if (failure !== undefined) throw refusedWrite(failure.action, failure.error);
  if (plan.refusal !== undefined) throw plan.refusal;
  if (pending.length > 0) throw notServed(pending);
  return servedBy(seen, outcome.latest(plan.deployment) ?? seen.deployment, activation);
}

/** Deletes the objects of a runtime that a runner serves now. */
export async function deleteWorkload(cluster: Cluster, runtime: LiveObject, signal: AbortSignal): Promise<void> {
  const controlled = await controlledObjects(cluster, runtime, signal);
  await executeOrThrow(planInOrder("workload", controlled.map(removed)), { actors: { own: cluster }, signal });
}

function missingConfig(runtime: LiveObject): PackageInstallError {
  const name = FUNCTION_RUNTIMES.of(runtime).spec.runtimeConfigRef.name ?? "";
  const message = `there is no DeploymentRuntimeConfig ${name}; create it, or remove spec.runtimeConfigRef`;
  return new PackageInstallError("NoRuntime", message, { retryable: true });
}

/** A provider gets no rights on kinds that the API server does not serve yet. */
function notServed(crds: readonly string[]): PackageInstallError {
  const message = `the API server does not serve the kinds of the CRDs ${someOf(crds, MAX_NAMED)} yet`;
  return new PackageInstallError("NoRuntime", message, { retryable: true });
}

/** Whether a status names the endpoint of a Deployment. */
export function isDeploymentEndpoint({ endpoint }: { readonly endpoint: string | undefined }): boolean {
  return endpoint?.startsWith("dns:///") === true;
}
