import type { FunctionCaller, TargetCertificates } from "@xfn/function-grpc";
import type { Cache, Client, EventRecorder, Informers, LiveObject, ResourceKind } from "@xfn/kubernetes";
import type { PackageContents, PackageKind, TrustedKey } from "@xfn/package";
import type { FunctionRunner, RegistryAuth, ResponseCache, WebhookCaller } from "@xfn/pipeline";
import type { Callers } from "@xfn/pipeline/recording";
import type { Logger } from "./logger.ts";

/** What every reconciler uses. */
export interface Context {
  readonly client: Client;
  readonly informers: Informers;
  readonly events: EventRecorder;
  readonly log: Logger;
  /** Watches on the kinds of composed resources. Absent in tests: changes are seen at the next poll. */
  readonly composed?: ComposedWatches | undefined;
  /** Watches on what functions require. Absent in tests: changes are seen at the next poll. */
  readonly required?: RequiredWatches | undefined;
  /** Why the instances of a definition cannot be listed, by its `definitionKey`. Absent in tests: they can. */
  readonly instanceProblems?: ((definition: string) => InstanceProblems) | undefined;
  /** Defers the ClusterRoles of definitions during a burst. Absent in tests: they are written at once. */
  readonly bursts?: DefinitionBursts | undefined;
  /** Runs functions. Absent: functions are disabled, and a Composition that has functions is not composed. */
  readonly runner?: FunctionRunner | undefined;
  /** Calls functions of type Webhook. Absent: functions are disabled, and a step with a webhook fails. */
  readonly webhooks?: WebhookCaller | undefined;
  /** The runners that steps may name in `container.runner.endpoint`. Absent: none. */
  readonly runners?: RunnerDirectory | undefined;
  /** The function packages of `mode: Pipeline`. Absent: functions are disabled. */
  readonly functions?: FunctionDirectory | undefined;
  /** Packages at registries. Absent: packages are disabled. */
  readonly packages?: PackageRegistry | undefined;
  /** Whether steps can name Functions of the API server (`--enable-packages`). Default: false. */
  readonly functionPackages?: boolean | undefined;
  /**
   * Whether each version of a function that steps or Functions name has a FunctionRuntime
   * (`--enable-function-runtimes`). Default: false.
   */
  readonly functionRuntimes?: boolean | undefined;
  /** What runs the FunctionRuntimes that name no DeploymentRuntimeConfig (`--function-substrate`). Default: Runner. */
  readonly functionSubstrate?: FunctionSubstrate | undefined;
  /** Watches on what runs functions and providers. Absent in tests: changes are seen at the next poll. */
  readonly workloads?: WorkloadWatches | undefined;
  /** How long the runtimes of a CompositionRevision stay after its last use, in milliseconds. Default: 10 minutes. */
  readonly runtimeGraceMs?: number | undefined;
  /** Whether `spec.rollout` of Compositions has an effect (`--enable-rollouts`). Default: false. */
  readonly rollouts?: boolean | undefined;
  /** Hosts the functions of packages. Absent: functions are disabled, and no package has a runtime. */
  readonly functionHost?: FunctionHost | undefined;
  /**
   * The types of conditions that functions show on the claim too, by the UID of the XR. The next reconcile of an XR
   * finds them again after a restart.
   */
  readonly claimConditions?: Map<string, ReadonlySet<string>> | undefined;
  /** Responses of functions that can be used again. Absent: each run calls every function. */
  readonly responses?: ResponseCache | undefined;
  /** Postpones runs of XRs that nothing waits for. Absent: each run begins at once. */
  readonly runOrder?: RunOrder | undefined;
  /** Recordings of runs (`--debug-recordings`). Absent: none. */
  readonly recordings?: RunRecordings | undefined;
  /**
   * Whether Compositions may compose core Secrets, and read Secrets that no controller owns
   * (`--allow-composed-secrets`). Default: false.
   */
  readonly allowComposedSecrets?: boolean | undefined;
  /** The controller's own namespace, from which pull secrets may be read. */
  readonly namespace: string;
  /** The controller's own service account, whose pull secrets apply to every image. Absent: there are none. */
  readonly serviceAccount?: string | undefined;
  /** Other namespaces from which pull secrets may be read (`--pull-secret-namespaces`). */
  readonly pullSecretNamespaces: readonly string[];
  /** The namespaces from which functions may get Secrets (`--credentials-secret-namespaces`). Default: none. */
  readonly credentialsSecretNamespaces?: readonly string[] | undefined;
  /** The time between two reconciles of an unchanged object, in milliseconds (`--poll-interval`). */
  readonly pollIntervalMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** The order of the runs of all XRs, each named by its UID. */
export interface RunOrder {
  began(uid: string): void;
  ended(uid: string): void;
  /**
   * How long to postpone a run that nothing waits for, in milliseconds; undefined: begin now.
   *
   * @param since the end of the run before, in milliseconds since the epoch
   */
  postponedMs(uid: string, since: number): number | undefined;
}

/** Defers the ClusterRoles of definitions while many definitions wait for their CRDs. Keys are `definitionKey`s. */
export interface DefinitionBursts {
  /** Reports whether a definition waits for its CRDs. */
  report(key: string, isPending: boolean): void;
  /** How long the roles of a definition must wait, in milliseconds. 0: they can be written now. */
  deferralMs(key: string): number;
  /** Forgets a definition that is deleted. */
  forget(key: string): void;
}

/** Keeps what the functions of chosen XRs receive and return. */
export interface RunRecordings {
  /** Whether the runs of an XR are recorded. */
  wants(xr: LiveObject): boolean;
  /** Runs something with callers that are recorded, and writes the recording, also of a run that fails. */
  record<T>(
    run: { readonly xr: LiveObject; readonly composition: string | undefined },
    callers: Callers,
    work: (callers: Callers) => Promise<T>,
  ): Promise<T>;
}

/** A function that a Deployment runs. */
export interface DeployedFunction {
  /** The name of its FunctionRuntime. */
  readonly runtime: string;
  readonly endpoint: string;
  /** Reads the certificates for a new connection, so that renewed ones are used. */
  readonly certificates: () => Promise<TargetCertificates>;
}

/** What runs functions: the runner on demand, or a Deployment for each version. */
export type FunctionSubstrate = "Runner" | "Deployment";

/** Watches on the objects that run functions and providers, in the controller's namespace. */
export interface WorkloadWatches {
  /** Starts the watches, unless they run. */
  watch(): void;
  /** The caches by kind; undefined until all are listed. */
  caches(): ((kind: ResourceKind) => Cache | undefined) | undefined;
}

/** Runners by their endpoint. */
export interface RunnerDirectory {
  /** The runner at an endpoint; undefined if steps may not name it. */
  at(endpoint: string): FunctionRunner | undefined;
}

/** The function packages that steps can call. */
export interface FunctionDirectory {
  /** The names of all Functions. */
  readonly names: readonly string[];
  /** The function of a name; undefined if there is none. */
  byName(name: string, use: PackageUse): FunctionCaller | undefined;
  /** The function of a package, which a runner serves. With a digest, responses of other versions are not reused. */
  byPackage(reference: string, use: PackageUse): FunctionCaller;
  /**
   * The function of a package that a Deployment runs. The calls of a package share a connection with mTLS.
   *
   * @param reference with a digest
   */
  byEndpoint(reference: string, deployed: DeployedFunction): FunctionCaller;
  /** Closes the connections to runtimes that are gone, after their calls. @param exists called with their names */
  closeUnused(exists: (runtime: string) => boolean): void;
}

/** The use of a package by one step of one run. */
export interface PackageUse {
  readonly step: string;
  /** Finds the credentials for the registry of a package; undefined if there are none. */
  readonly auth: (image: string) => Promise<RegistryAuth | undefined>;
}

/** Reads packages at registries. Every method throws `ImageError`, `read` also `PackageError`. */
export interface PackageRegistry {
  /** The digest that a reference names now. */
  digestOf(reference: string, auth: RegistryAuth | undefined, signal: AbortSignal): Promise<string>;
  /** The tags of a repository that are versions. */
  versions(source: string, auth: RegistryAuth | undefined, signal: AbortSignal): Promise<readonly string[]>;
  /**
   * Verifies that one of the keys signed an image.
   *
   * @param check the image with its digest, as it is pulled, and the name of it that users know
   * @throws SignatureError
   */
  verify(
    check: { readonly image: string; readonly name: string; readonly keys: readonly TrustedKey[] },
    auth: RegistryAuth | undefined,
    signal: AbortSignal,
  ): Promise<void>;
  /** Reads and checks a package of a kind. */
  read(
    reference: string,
    kind: PackageKind,
    auth: RegistryAuth | undefined,
    signal: AbortSignal,
  ): Promise<PackageContents>;
}

/** A runner that serves functions of packages on demand. */
export interface FunctionHost {
  /** The address of its gRPC server. */
  readonly endpoint: string;
  /** Connects. @throws Error if it does not answer within this time */
  ready(timeoutMs: number): Promise<void>;
}

/** Why instances of a definition cannot be listed or watched; undefined if they can. */
export interface InstanceProblems {
  readonly composites?: string | undefined;
  readonly claims?: string | undefined;
}

/** Objects that a run reads: one by its name, or all with some labels. */
export interface Selection {
  readonly kind: ResourceKind;
  /** Absent: cluster-scoped objects, or those of all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Whether a change of an object concerns the XR. Default: of each object. */
  readonly concerns?: ((object: LiveObject) => boolean) | undefined;
}

/** Why an XR needs selections: its functions require them (the default), or its reconciles read them by name. */
export type WatchPurpose = "required" | "inputs";

/** Watches on what functions require, shared by all XRs. */
export interface RequiredWatches {
  /**
   * Sets what an XR requires. A change of a selected object then reconciles the XR.
   *
   * @param purpose a name for these selections. Those of another purpose stay
   */
  watch(xr: LiveObject, selections: readonly Selection[], purpose?: WatchPurpose): void;
  forget(xrUid: string): void;
  /** The cache of a selection that is watched, listed and complete; undefined otherwise: read the objects live. */
  cache(selection: Selection): Cache | undefined;
}

/** The cache of a kind of composed resources. */
export interface ComposedCache extends Pick<Cache, "get"> {
  /** Whether an object of the cache is whole. Otherwise it has its identity, version and controller: read it live. */
  isWhole(object: LiveObject): boolean;
  /** Offers an object that was read because the cache has it not whole. @returns whether there is space for it */
  complete(object: LiveObject): boolean;
}

/** Watches on the kinds of composed resources, shared by all XRs. A watch lives as long as one XR needs it. */
export interface ComposedWatches {
  /**
   * Sets the kinds of an XR's composed resources; an empty list forgets the XR. A change of a resource that the XR
   * controls then reconciles the XR at once.
   */
  watch(xrUid: string, kinds: readonly ResourceKind[]): void;
  /** The cache of a kind that is watched and listed; undefined otherwise: read the object live. */
  cache(kind: ResourceKind): ComposedCache | undefined;
}
