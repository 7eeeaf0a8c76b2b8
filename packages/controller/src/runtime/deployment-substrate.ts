import { someOf } from "@xfn/errors";
import { type KubernetesObject, objectAt, textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { namesOf } from "../kinds/package-fields.ts";
import type { Context } from "../objects/context.ts";
import {
  DEPLOYMENTS,
  FUNCTION_RUNTIMES,
  PROVIDER_REVISIONS,
  PROVIDER_RUNTIMES,
  RUNTIME_CONFIGS,
  SECRETS,
  SERVICE_ACCOUNTS,
  SERVICES,
  typeMeta,
} from "../objects/kinds.ts";
import { LABEL_RUNTIME, labelValue } from "../objects/labels.ts";
import { controllerOf, controllerReferenceTo, ownerReferencesOf } from "../objects/owner.ts";
import { findCached } from "../objects/read-objects.ts";
import { PackageInstallError } from "../package/registry/install-error.ts";
import { AUTHORITY_SECRET, encode, ensureAuthority, secretText, usableAuthority } from "./authority.ts";
import type { CertificateRequest, KeyPair } from "./certificates.ts";
import { certificatesOf, deploymentProblem, isRolledOut } from "./deployment-health.ts";
import { GRPC_PORT, type Manifests, manifestsOf, secretNamesOf, serviceName, type Workload } from "./manifests.ts";
import type { ProviderRoles } from "./provider-roles.ts";
import { fulfilTls, planTls, type TlsContent, type TlsPair, type TlsState } from "./tls-secrets.ts";
import {
  applyWorkload,
  deleteWorkload,
  hashOf,
  isApplied,
  liveWorkload,
  type ReadWorkload,
} from "./workload-objects.ts";

/** The DeploymentRuntimeConfig of runtimes that name none, as in Crossplane. It need not exist. */
const DEFAULT_CONFIG = "default";

/** A message names this many CRDs. */
const MAX_NAMED = 5;

/** Whether Deployments run a runtime. Providers have no other substrate. */
export function usesDeployment({ functionSubstrate = "Runner" }: Context, runtime: LiveObject): boolean {
  if (runtime.kind === PROVIDER_RUNTIMES.kind || functionSubstrate === "Deployment") return true;
  return (FUNCTION_RUNTIMES.of(runtime).spec.runtimeConfigRef.name ?? DEFAULT_CONFIG) !== DEFAULT_CONFIG;
}

/** The endpoint of a runtime that a Deployment runs, as Crossplane writes it. */
function endpointOf(workload: Workload): string {
  return `dns:///${serviceName(workload)}.${workload.namespace}:${GRPC_PORT}`;
}

/** The objects of a runtime, as they are. */
interface Observed {
  readonly server: LiveObject | undefined;
  readonly client: LiveObject | undefined;
  readonly service: LiveObject | undefined;
  readonly deployment: LiveObject | undefined;
}

/**
 * The state of a runtime's workload as far as the caches show.
 *
 * @returns undefined if something must be read or written; else the endpoint, or why it does not serve
 */
export async function knownWorkload(
  context: Context,
  runtime: LiveObject,
  roles: ProviderRoles,
  signal: AbortSignal,
): Promise<{ readonly endpoint: string } | { readonly problem: string } | undefined> {
  const { workloads, now } = context;
  const image = FUNCTION_RUNTIMES.of(runtime).status.resolvedPackage;
  const caches = workloads?.caches();
  if (caches === undefined || image === undefined) return undefined;
  const read: ReadWorkload = async (kind, name) => caches(kind)?.get(name, context.namespace);
  const authority = usableAuthority(await read(SECRETS, AUTHORITY_SECRET), now());
  const workload = await workloadOf(context, runtime, image, signal);
  if (authority === undefined || workload === undefined) return undefined;
  const observed = await observe(read, workload);
  const state = tlsState(context, workload, observed, authority);
  if (planTls(state) !== undefined) return undefined;
  const manifests = manifestsOf(workload, certificatesHash(workload, observed));
  for (const manifest of objectsOf(manifests)) {
    const kind = [DEPLOYMENTS, SERVICES, SERVICE_ACCOUNTS].find((one) => one.kind === manifest.kind);
    const existing = kind && (await read(kind, manifest.metadata?.name ?? ""));
    if (!isApplied(existing, manifest)) return undefined;
  }
  if (workload.kind === "Provider" && !roles.areSettled(runtime, accountOf(manifests))) return undefined;
  const { deployment } = observed;
  const problem = deployment && deploymentProblem(deployment);
  return problem === undefined ? { endpoint: endpointOf(workload) } : { problem };
}

/**
 * Creates or updates the objects that run a runtime: Secrets, ServiceAccount, Service and Deployment.
 *
 * @param image with a digest
 * @returns the endpoint
 * @throws {PackageInstallError} `NameTaken`, or `NoRuntime` until a pod is available
 */
export async function ensureWorkload(
  context: Context,
  runtime: LiveObject,
  { image, roles }: { readonly image: string; readonly roles: ProviderRoles },
  signal: AbortSignal,
): Promise<string> {
  context.workloads?.watch();
  const workload = await workloadOf(context, runtime, image, signal);
  if (workload === undefined) {
    const name = FUNCTION_RUNTIMES.of(runtime).spec.runtimeConfigRef.name ?? "";
    const message = `there is no DeploymentRuntimeConfig ${name}; create it, or remove spec.runtimeConfigRef`;
    throw new PackageInstallError("NoRuntime", message, { retryable: true });
  }
  const authority = await ensureAuthority(context, signal);
  const read = liveWorkload(context, signal);
  const observed = await observe(read, workload);
  const secrets = await ensureSecrets(context, runtime, { workload, observed, authority }, signal);
  const manifests = manifestsOf(workload, certificatesHash(workload, secrets));
  const wanted = new Set<string>([secrets.server, secrets.client].map(({ metadata }) => `Secret/${metadata.name}`));
  const pending = workload.kind === "Provider" ? await roles.ensure(runtime, accountOf(manifests), signal) : [];
  let deployment: LiveObject | undefined;
  for (const manifest of objectsOf(manifests)) {
    const kind = [DEPLOYMENTS, SERVICES, SERVICE_ACCOUNTS].find((one) => one.kind === manifest.kind) ?? DEPLOYMENTS;
    const name = manifest.metadata?.name ?? "";
    wanted.add(`${kind.kind}/${name}`);
    const existing = await read(kind, name);
    const isSame = existing !== undefined && isApplied(existing, manifest);
    const stored = isSame ? existing : await applyWorkload(context, runtime, manifest, existing, signal);
    if (kind === DEPLOYMENTS) deployment = stored;
  }
  await deleteWorkload(context, runtime, wanted, signal);
  if (pending.length > 0) throw notServed(pending);
  const problem = deployment && deploymentProblem(deployment);
  if (problem !== undefined) throw new PackageInstallError("NoRuntime", problem);
  return endpointOf(workload);
}

/** A provider gets no rights on kinds that the API server does not serve yet. */
function notServed(crds: readonly string[]): PackageInstallError {
  const message = `the API server does not serve the kinds of the CRDs ${someOf(crds, MAX_NAMED)} yet`;
  return new PackageInstallError("NoRuntime", message, { retryable: true });
}

/** The workload of a runtime; undefined if its DeploymentRuntimeConfig does not exist. */
async function workloadOf(
  context: Context,
  runtime: LiveObject,
  image: string,
  signal: AbortSignal,
): Promise<Workload | undefined> {
  const { spec } = FUNCTION_RUNTIMES.of(runtime);
  const name = spec.runtimeConfigRef.name ?? DEFAULT_CONFIG;
  const config = await findCached(context, RUNTIME_CONFIGS, name, signal);
  if (config === undefined && name !== DEFAULT_CONFIG) return undefined;
  return {
    kind: runtime.kind === PROVIDER_RUNTIMES.kind ? "Provider" : "Function",
    runtime: runtime.metadata.name,
    namespace: context.namespace,
    owner: controllerReferenceTo(runtime),
    image,
    pullPolicy: spec.pullPolicy,
    pullSecrets: namesOf(spec.pullSecrets),
    config: RUNTIME_CONFIGS.of(config).spec.toJSON(),
    revision: await firstRevision(context, runtime, signal),
  };
}

/** The first ProviderRevision that owns a runtime; undefined if none does. */
async function firstRevision(
  context: Context,
  runtime: LiveObject,
  signal: AbortSignal,
): Promise<Workload["revision"]> {
  const owner = ownerReferencesOf(runtime).find(({ kind }) => kind === PROVIDER_REVISIONS.kind);
  const revision = await findCached(context, PROVIDER_REVISIONS, textAt(owner, "name") ?? "", signal);
  if (revision === undefined) return undefined;
  const { name, uid } = revision.metadata;
  return { provider: controllerOf(revision)?.name ?? name, name, uid };
}

async function observe(read: ReadWorkload, workload: Workload): Promise<Observed> {
  const names = secretNamesOf(workload.runtime);
  const deploymentName = manifestsOf(workload, "").deployment.metadata.name;
  const [server, client, service, deployment] = await Promise.all([
    read(SECRETS, names.server),
    read(SECRETS, names.client),
    read(SERVICES, serviceName(workload)),
    read(DEPLOYMENTS, deploymentName),
  ]);
  return { server, client, service, deployment };
}

function tlsState({ now }: Context, workload: Workload, observed: Observed, authority: KeyPair): TlsState {
  const { deployment } = observed;
  const isCurrent = deployment !== undefined && certificatesOf(deployment) === certificatesHash(workload, observed);
  return {
    authority,
    server: contentOf(observed.server),
    client: contentOf(observed.client),
    isRolledOut: isCurrent && isRolledOut(deployment),
    requests: requestsOf(workload),
    now: now(),
  };
}

async function ensureSecrets(
  context: Context,
  runtime: LiveObject,
  { workload, observed, authority }: { workload: Workload; observed: Observed; authority: KeyPair },
  signal: AbortSignal,
): Promise<TlsPair<LiveObject>> {
  const state = tlsState(context, workload, observed, authority);
  const plan = planTls(state);
  const names = secretNamesOf(workload.runtime);
  if (plan === undefined && observed.server !== undefined && observed.client !== undefined)
    return { server: observed.server, client: observed.client };
  const contents = plan && (await fulfilTls(plan, state));
  const apply = async (end: "server" | "client"): Promise<LiveObject> => {
    const before = contentOf(observed[end]);
    const content = contents?.[end] ?? before;
    const existing = observed[end];
    if (existing !== undefined && sameContent(before, content)) return existing;
    return await applyWorkload(context, runtime, secretOf(workload, names[end], content), existing, signal);
  };
  // The server trusts what the client gets next.
  const server = await apply("server");
  return { server, client: await apply("client") };
}

function secretOf(workload: Workload, name: string, content: TlsContent | undefined): KubernetesObject {
  const { cert = "", key = "", ca = "" } = content ?? {};
  return {
    ...typeMeta(SECRETS),
    metadata: {
      name,
      namespace: workload.namespace,
      labels: { [LABEL_RUNTIME]: labelValue(workload.runtime) },
      ownerReferences: [workload.owner],
    },
    type: "Opaque",
    data: { "tls.crt": encode(cert), "tls.key": encode(key), "ca.crt": encode(ca) },
  };
}

function contentOf(secret: LiveObject | undefined): TlsContent | undefined {
  if (secret === undefined) return undefined;
  return {
    cert: secretText(secret, "tls.crt"),
    key: secretText(secret, "tls.key"),
    ca: secretText(secret, "ca.crt"),
  };
}

function sameContent(one: TlsContent | undefined, other: TlsContent | undefined): boolean {
  return one?.cert === other?.cert && one?.key === other?.key && one?.ca === other?.ca;
}

/** Identifies the content with which pods start: a new one replaces them. */
function certificatesHash({ kind }: Workload, { server, client }: Pick<Observed, "server" | "client">): string {
  return hashOf([server, kind === "Provider" ? client : undefined].map((one) => one && objectAt(one, "data")));
}

function requestsOf(workload: Workload): TlsPair<CertificateRequest> {
  const { namespace } = workload;
  const name = serviceName(workload);
  const host = `${name}.${namespace}`;
  return {
    server: { usage: "server", names: [host, name, `${host}.svc`, `${host}.svc.cluster.local`] },
    client: { usage: "client", names: ["xfn-controller"] },
  };
}

/** The service account of the pods. */
function accountOf({ deployment }: Manifests): string {
  return textAt(deployment, "spec", "template", "spec", "serviceAccountName") ?? "";
}

/** Pods need the account and the Service, so the Deployment is last. */
function objectsOf({ serviceAccount, service, deployment }: Manifests): KubernetesObject[] {
  return [...(serviceAccount ? [serviceAccount] : []), service, deployment];
}

/** Whether a status names the endpoint of a Deployment. */
export function isDeploymentEndpoint({ endpoint }: { readonly endpoint: string | undefined }): boolean {
  return endpoint?.startsWith("dns:///") === true;
}
