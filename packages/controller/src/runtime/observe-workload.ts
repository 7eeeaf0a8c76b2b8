import { textAt } from "@xfn/json";
import type { LiveObject, ResourceKind } from "@xfn/kubernetes";
import { namesOf } from "../kinds/package-fields.ts";
import {
  DEPLOYMENTS,
  FUNCTION_RUNTIMES,
  PROVIDER_REVISIONS,
  PROVIDER_RUNTIMES,
  RUNTIME_CONFIGS,
  referenceOf,
  SECRETS,
  SERVICE_ACCOUNTS,
  SERVICES,
} from "../objects/kinds.ts";
import { LABEL_RUNTIME, labelValue } from "../objects/labels.ts";
import { controllerOf, controllerReferenceTo, isControlledBy, ownerReferencesOf } from "../objects/owner.ts";
import { findCached, findLive } from "../objects/read-objects.ts";
import type { Cluster } from "../package/package-port.ts";
import { GRPC_PORT, manifestsOf, secretNamesOf, type Workload } from "./manifests.ts";

/** The DeploymentRuntimeConfig of runtimes that name none, as in Crossplane. It need not exist. */
export const DEFAULT_CONFIG = "default";

/** The kinds of the objects that run a package. */
const WORKLOAD_KINDS: readonly ResourceKind[] = [DEPLOYMENTS, SERVICES, SERVICE_ACCOUNTS, SECRETS];

/** Reads the objects of workloads. */
export interface WorkloadReader {
  /** Caches of kinds without a namespace. */
  readonly cluster: Cluster;
  /** Reads an object of the controller's namespace. */
  read(kind: ResourceKind, name: string): Promise<LiveObject | undefined>;
  /** Lists all objects that a runtime controls. */
  list(runtime: LiveObject): Promise<readonly LiveObject[]>;
}

/** The objects that run a package, as observed. */
export interface SeenWorkload {
  readonly runtime: LiveObject;
  readonly workload: Workload;
  /** The names of the Secrets. */
  readonly names: { readonly server: string; readonly client: string };
  readonly server: LiveObject | undefined;
  readonly client: LiveObject | undefined;
  readonly account: LiveObject | undefined;
  readonly service: LiveObject | undefined;
  readonly deployment: LiveObject | undefined;
  /** All objects that the runtime controls, also under names that it had before. */
  readonly controlled: readonly LiveObject[];
  /** The endpoint of the Service, as Crossplane writes it. */
  readonly endpoint: string;
  /** The service account of the pods. */
  readonly podAccount: string;
}

/**
 * Reads the objects of a workload; undefined if the DeploymentRuntimeConfig of the runtime does not exist.
 *
 * @param image with a digest
 * @param isIdle whether it must have no pods
 */
export async function observeWorkload(
  { cluster, read, list }: WorkloadReader,
  runtime: LiveObject,
  image: string,
  isIdle: boolean,
): Promise<SeenWorkload | undefined> {
  const configured = await workloadOf(cluster, runtime, image);
  if (configured === undefined) return undefined;
  const workload = { ...configured, isIdle };
  const names = secretNamesOf(workload.runtime);
  const manifests = manifestsOf(workload, "");
  const [server, client, account, service, deployment] = await Promise.all([
    read(SECRETS, names.server),
    read(SECRETS, names.client),
    manifests.serviceAccount && read(SERVICE_ACCOUNTS, manifests.serviceAccount.metadata.name),
    read(SERVICES, manifests.service.metadata.name),
    read(DEPLOYMENTS, manifests.deployment.metadata.name),
  ]);
  const controlled = await list(runtime);
  const endpoint = `dns:///${manifests.service.metadata.name}.${workload.namespace}:${GRPC_PORT}`;
  const podAccount = textAt(manifests.deployment, "spec", "template", "spec", "serviceAccountName") ?? "";
  return { runtime, workload, names, server, client, account, service, deployment, controlled, endpoint, podAccount };
}

/** Reads the objects of workloads from the API server. */
export function liveWorkloads(cluster: Cluster, signal: AbortSignal): WorkloadReader {
  return {
    cluster,
    read: (kind, name) => findLive(cluster, referenceOf(kind, name, cluster.namespace), signal),
    list: (runtime) => controlledObjects(cluster, runtime, signal),
  };
}

/** Lists all objects that a runtime controls. */
export async function controlledObjects(
  { client, namespace }: Pick<Cluster, "client" | "namespace">,
  runtime: LiveObject,
  signal: AbortSignal,
): Promise<LiveObject[]> {
  const labelSelector = `${LABEL_RUNTIME}=${labelValue(runtime.metadata.name)}`;
  const found: LiveObject[] = [];
  for (const kind of WORKLOAD_KINDS) {
    const { items } = await client.list(kind, { namespace, labelSelector, signal });
    found.push(...items.filter((object) => isControlledBy(object, runtime)));
  }
  return found;
}

async function workloadOf(cluster: Cluster, runtime: LiveObject, image: string): Promise<Workload | undefined> {
  const { spec } = FUNCTION_RUNTIMES.of(runtime);
  const name = spec.runtimeConfigRef.name ?? DEFAULT_CONFIG;
  const config = await findCached(cluster, RUNTIME_CONFIGS, name);
  if (config === undefined && name !== DEFAULT_CONFIG) return undefined;
  const owner = ownerReferencesOf(runtime).find(({ kind }) => kind === PROVIDER_REVISIONS.kind);
  const revision = await findCached(cluster, PROVIDER_REVISIONS, textAt(owner, "name") ?? "");
  return {
    kind: runtime.kind === PROVIDER_RUNTIMES.kind ? "Provider" : "Function",
    runtime: runtime.metadata.name,
    namespace: cluster.namespace,
    owner: controllerReferenceTo(runtime),
    image,
    pullPolicy: spec.pullPolicy,
    pullSecrets: namesOf(spec.pullSecrets),
    config: RUNTIME_CONFIGS.of(config).spec.toJSON(),
    revision: revision && {
      provider: controllerOf(revision)?.name ?? revision.metadata.name,
      name: revision.metadata.name,
      uid: revision.metadata.uid,
    },
  };
}
