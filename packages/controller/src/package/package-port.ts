import type { Client, EventRecorder, Informers } from "@xfn/kubernetes";
import type { VersionChanges } from "@xfn/package";
import type { FunctionHost, FunctionSubstrate, WorkloadWatches } from "../objects/context.ts";
import { PackageImages } from "./registry/package-images.ts";
import type { RegistryAccess } from "./registry/registry-access.ts";

/** The API server, with the rights of the controller. */
export interface Cluster {
  readonly client: Client;
  readonly informers: Informers;
  readonly events: EventRecorder;
  /** The controller's own namespace. */
  readonly namespace: string;
}

/** How packages run. */
export interface Hosting {
  /** Whether each version of a package has a FunctionRuntime or a ProviderRuntime (`--enable-function-runtimes`). */
  readonly hasRuntimes: boolean;
  /** The substrate of FunctionRuntimes that name no DeploymentRuntimeConfig (`--function-substrate`). */
  readonly substrate: FunctionSubstrate;
  /** The runner that hosts functions; undefined if functions are disabled. */
  readonly host: FunctionHost | undefined;
  /** Whether the CRDs of Providers become ManagedResourceDefinitions. */
  readonly convertsCrds: boolean;
  /** The time in milliseconds for which the runtimes of a CompositionRevision stay after its last use. */
  readonly graceMs: number;
}

/** The needs of the reconcilers of packages, their revisions and their runtimes. */
export interface PackagePort {
  readonly cluster: Cluster;
  readonly images: PackageImages;
  readonly hosting: Hosting;
  readonly workloads: WorkloadWatches;
  /** The changes of packages that other packages need in another version (`--enable-dependency-version-upgrades`). */
  readonly dependencyChanges: VersionChanges;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** The dependencies and settings of {@link packagePort}. */
export interface PackageOptions extends RegistryAccess, Cluster {
  readonly functionRuntimes?: boolean | undefined;
  readonly functionSubstrate?: FunctionSubstrate | undefined;
  readonly functionHost?: FunctionHost | undefined;
  /** Default: none. */
  readonly dependencyChanges?: VersionChanges | undefined;
  /** Default: false. */
  readonly managedResources?: boolean | undefined;
  /** Default: 10 minutes. */
  readonly runtimeGraceMs?: number | undefined;
  /** Default: none, so that changes are noticed at the next poll. */
  readonly workloads?: WorkloadWatches | undefined;
}

const DEFAULT_GRACE_MS = 600_000;
const NO_WATCHES: WorkloadWatches = { watch: () => undefined, caches: () => undefined };

export function packagePort(options: PackageOptions): PackagePort {
  const { client, informers, events, namespace, now, workloads = NO_WATCHES } = options;
  const {
    functionRuntimes: hasRuntimes = false,
    functionSubstrate: substrate = "Runner",
    functionHost: host,
    managedResources: convertsCrds = false,
  } = options;
  return {
    cluster: { client, informers, events, namespace },
    images: new PackageImages(options),
    hosting: { hasRuntimes, substrate, host, convertsCrds, graceMs: options.runtimeGraceMs ?? DEFAULT_GRACE_MS },
    workloads,
    dependencyChanges: options.dependencyChanges ?? "none",
    now,
  };
}
