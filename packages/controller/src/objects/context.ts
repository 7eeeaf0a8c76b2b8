import type { Step } from "@xfn/composition";
import type { FunctionCaller, TargetCertificates } from "@xfn/function-grpc";
import type { Severity } from "@xfn/functionio";
import type { Cache, LiveObject, ResourceKind } from "@xfn/kubernetes";
import type { Authority, PackageContents, PackageKind } from "@xfn/package";
import type { FunctionRunner, RegistryAuth } from "@xfn/pipeline";
import type { Callers } from "@xfn/pipeline/recording";

/** The end of a function's call, for metrics. */
export interface EndedFunction {
  /** The image, the URL without its query, or the name of a Function. */
  readonly name: string;
  /** The code of an error; `OK` without one, `FatalResult` after a fatal result. */
  readonly code: string;
  /** The most severe result. */
  readonly severity: Severity;
  readonly milliseconds: number;
}

/** When the breaker slows writes, and when it stops. */
export interface BreakerLimits {
  /** The repeated writes of one object that are a fight (`--circuit-breaker-burst`). */
  readonly burst: number;
  /** The repeated writes per second that do not count (`--circuit-breaker-refill-rate`). */
  readonly refillRate: number;
  /** A fight ends after this time in milliseconds without a write (`--circuit-breaker-cooldown`). */
  readonly cooldownMs: number;
}

/** The order in which the runs of all XRs begin. The UID identifies an XR. */
export interface RunOrder {
  began(uid: string): void;
  ended(uid: string): void;
  /**
   * The delay in milliseconds of a run for which no caller waits; undefined if it must begin now.
   *
   * @param since the end of the previous run, in milliseconds since the epoch
   */
  postponedMs(uid: string, since: number): number | undefined;
}

/** Defers the ClusterRoles of definitions while many definitions wait for their CRDs. Keys are `definitionKey`s. */
export interface DefinitionBursts {
  /** Reports whether a definition waits for its CRDs. */
  report(key: string, isPending: boolean): void;
  /** The time in milliseconds for which the roles of a definition must wait; 0 if they can be written now. */
  deferralMs(key: string): number;
  /** Forgets a deleted definition. */
  forget(key: string): void;
}

/** Records the requests and responses of functions for selected XRs. */
export interface RunRecordings {
  /** Whether the runs of an XR are recorded. */
  wants(xr: LiveObject): boolean;
  /** Runs a function with recorded callers, and writes the recording even if the run fails. */
  record<T>(
    run: { readonly xr: LiveObject; readonly composition: string | undefined },
    callers: Callers,
    work: (callers: Callers) => Promise<T>,
  ): Promise<T>;
}

/** A run whose calls an inspector receives. */
export interface InspectedRun {
  /** The XR, or an Operation. */
  readonly object: LiveObject;
  /** The name of the Composition; undefined for an Operation. */
  readonly composition: string | undefined;
  readonly steps: readonly Step[];
  /** The values of the Secrets that the run has read. */
  readonly secrets: () => Iterable<Uint8Array>;
}

/** Tells a pipeline inspector of the calls of functions. */
export interface PipelineInspector {
  /** Wraps the callers of one run. */
  inspect<T extends Partial<Callers>>(run: InspectedRun, callers: T): T;
}

/** A message that the inspector did not get. */
export interface DroppedMessage {
  readonly functionName: string;
  readonly type: "request" | "response";
  /** `Overloaded`, `TooLarge`, `Unreachable`, or the code of a `FunctionCallError`. */
  readonly reason: string;
}

/** A function that runs in a Deployment. */
export interface DeployedFunction {
  /** The name of its FunctionRuntime. */
  readonly runtime: string;
  readonly endpoint: string;
  /** Reads the certificates for a new connection, so that renewed ones are used. */
  readonly certificates: () => Promise<TargetCertificates>;
}

/** The substrate that runs functions: the runner on demand, or a Deployment for each version. */
export type FunctionSubstrate = "Runner" | "Deployment";

/** Watches on the objects that run functions and providers, in the controller's namespace. */
export interface WorkloadWatches {
  /** Starts the watches, unless they are already running. */
  watch(): void;
  /** The caches by kind; undefined until all kinds are listed. */
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
  /** The function with a name; undefined if it does not exist. */
  byName(name: string, use: PackageUse): FunctionCaller | undefined;
  /** The function of a package that a runner serves. With a digest, responses of other versions are not reused. */
  byPackage(reference: string, use: PackageUse): FunctionCaller;
  /**
   * The function of a package that runs in a Deployment. All calls of a package share one mTLS connection.
   *
   * @param reference with a digest
   */
  byEndpoint(reference: string, deployed: DeployedFunction): FunctionCaller;
  /** Closes the connections to deleted runtimes after their calls. @param exists called with the names of runtimes */
  closeUnused(exists: (runtime: string) => boolean): void;
}

/** The use of a package by one step of one run. */
export interface PackageUse {
  readonly step: string;
  /** Finds the credentials for the registry of a package; undefined if there are none. */
  readonly auth: (image: string) => Promise<RegistryAuth | undefined>;
}

/** Reads packages from registries. Every method throws `ImageError`; `read` also throws `PackageError`. */
export interface PackageRegistry {
  /** The digest that a reference currently has. */
  digestOf(reference: string, auth: RegistryAuth | undefined, signal: AbortSignal): Promise<string>;
  /** The tags of a repository that are versions. */
  versions(source: string, auth: RegistryAuth | undefined, signal: AbortSignal): Promise<readonly string[]>;
  /**
   * Verifies that one of the authorities signed an image.
   *
   * @param check the image with its digest, as it is pulled, and its name for users
   * @throws SignatureError
   */
  verify(
    check: { readonly image: string; readonly name: string; readonly authorities: readonly Authority[] },
    auth: RegistryAuth | undefined,
    signal: AbortSignal,
  ): Promise<void>;
  /** The operator's trusted root of Sigstore, as it is now; undefined without one. */
  trustedRoot(): Promise<Uint8Array | undefined>;
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
  /** Connects. @throws {Error} if the runner does not answer within this time */
  ready(timeoutMs: number): Promise<void>;
}

/** Why instances of a definition cannot be listed or watched; undefined if they can. */
export interface InstanceProblems {
  readonly composites?: string | undefined;
  readonly claims?: string | undefined;
}

/** Objects that a run reads: one by name, or all with some labels. */
export interface Selection {
  readonly kind: ResourceKind;
  /** Absent: cluster-scoped objects, or those of all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Whether a change of an object concerns the XR. Default: always. */
  readonly concerns?: ((object: LiveObject) => boolean) | undefined;
}

/** Why an XR needs selections: its functions require them (the default), or its reconciles read them by name. */
export type WatchPurpose = "required" | "inputs";

/** Watches on the objects that functions require, shared by all XRs. */
export interface RequiredWatches {
  /**
   * Sets the selections that an XR requires. A change of a selected object then reconciles the XR.
   *
   * @param purpose the purpose of these selections. Selections with another purpose stay
   */
  watch(xr: LiveObject, selections: readonly Selection[], purpose?: WatchPurpose): void;
  forget(xrUid: string): void;
  /** The cache of a selection that is watched, listed and complete. Otherwise undefined: read the objects live. */
  cache(selection: Selection): Cache | undefined;
}

/** A change of a watched object that no reconcile has handled. */
export interface WatchedChange {
  /** The object, perhaps only its identity and version. */
  readonly object: LiveObject;
  readonly isDeleted: boolean;
}

/** The watch of a WatchOperation. */
export interface OperationWatch {
  /** Why the API server refuses the watch. */
  readonly problem: string | undefined;
  /** The number of watched objects; undefined before they are listed. */
  readonly count: number | undefined;
  /** The last change of each changed object. Existing objects count as changed when the watch starts. */
  changes(): readonly WatchedChange[];
  /** Forgets a change, unless the object has changed again. */
  handled(change: WatchedChange): void;
}

/** Watches on the objects that WatchOperations select. */
export interface OperationWatches {
  /** Watches a selection for a WatchOperation, instead of its earlier one. A change reconciles the WatchOperation. */
  watch(operation: LiveObject, selection: Selection): OperationWatch;
  forget(name: string): void;
}

/** The cache of a kind of composed resources. */
export interface ComposedCache extends Pick<Cache, "get"> {
  /**
   * Whether the cache has the whole object. Otherwise it has only its identity, version and controller: read it live.
   */
  isWhole(object: LiveObject): boolean;
  /** Offers an object that was read because the cache lacks its content. @returns whether the cache has space for it */
  complete(object: LiveObject): boolean;
}

/** Watches on the objects of managed resources, by the name of their ManagedResourceDefinition. */
export interface ManagedWatches {
  isWatched(definition: string): boolean;
  watch(definition: string, kind: ResourceKind): void;
  /** Whether there are objects; undefined until they are listed. */
  hasObjects(definition: string): boolean | undefined;
  /** Ends a watch. */
  forget(definition: string): void;
}

/** Watches on the kinds of composed resources, shared by all XRs. A watch lives as long as any XR needs it. */
export interface ComposedWatches {
  /**
   * Sets the kinds of an XR's composed resources; an empty list forgets the XR. A change of a resource that the XR
   * controls then reconciles the XR at once.
   */
  watch(xrUid: string, kinds: readonly ResourceKind[]): void;
  /** The cache of a kind whose watch works. Otherwise undefined: read the object live. */
  cache(kind: ResourceKind): ComposedCache | undefined;
  /** Why the API server refuses to list or watch a kind, if it has done so for minutes. */
  problem(kind: ResourceKind): string | undefined;
}
