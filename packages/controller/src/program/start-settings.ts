import { DEFAULT_RATE_LIMIT } from "@xfn/kubernetes";
import {
  anyText,
  choice,
  duration,
  durationWithin,
  group,
  integer,
  type ListenAddress,
  listenAddress,
  many,
  memory,
  type OperationSettings,
  one,
  operationSettings,
  optional,
  type SettingsOf,
  settings,
  text,
  toggle,
  toggleOff,
} from "@xfn/program/settings";
import { type WebhookAddress, webhookAddress } from "../admission/webhook-address.ts";
import { BREAKER } from "../composite/state/fight-breaker.ts";
import type { NamedFunction } from "../functions/function-directory.ts";
import type { FunctionSubstrate } from "../objects/context.ts";
import { IN_PROCESS_SETTINGS, REGISTRY_SETTINGS, RUNNER_SETTINGS, type RunnerSettings } from "./runner-settings.ts";

/** Settings of `xfn-controller start`, read but not yet checked against each other. */
export interface StartConfig extends OperationSettings, RunnerSettings {
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  /** Requests per second, on average and in a burst. */
  readonly apiRate: number;
  readonly apiBurst: number;
  readonly enableCompositionFunctions: boolean;
  readonly enablePackages: boolean;
  readonly enableDependencyVersionUpgrades: boolean;
  readonly enableDependencyVersionDowngrades: boolean;
  readonly enableCustomToManagedResourceConversion: boolean;
  /** Names or patterns of ManagedResourceDefinitions, or `none`. */
  readonly activation: readonly string[];
  readonly enableFunctionRuntimes: boolean;
  readonly functionSubstrate: FunctionSubstrate;
  readonly enableRollouts: boolean;
  /** Milliseconds. */
  readonly runtimeGrace: number;
  readonly enableResourceComposition: boolean;
  readonly enableUsages: boolean;
  readonly enableOperations: boolean;
  readonly enableProviderDeletionProtection: boolean;
  readonly admissionWebhook: WebhookAddress | undefined;
  readonly admissionAddress: ListenAddress | undefined;
  /** The Functions that steps can name. */
  readonly function: readonly NamedFunction[];
  /** A `trusted_root.json` of Sigstore. */
  readonly trustedRoot: string | undefined;
  readonly functionTlsCa: string | undefined;
  readonly functionTlsCert: string | undefined;
  readonly functionTlsKey: string | undefined;
  readonly namespace: string | undefined;
  readonly serviceAccount: string | undefined;
  readonly pullSecretNamespaces: readonly string[];
  readonly credentialsSecretNamespaces: readonly string[];
  readonly webhookHosts: readonly string[];
  readonly allowComposedSecrets: boolean;
  readonly concurrency: number;
  /** Milliseconds. */
  readonly pollInterval: number;
  readonly circuitBreakerBurst: number;
  readonly circuitBreakerRefillRate: number;
  /** Milliseconds. */
  readonly circuitBreakerCooldown: number;
  /** Bytes. */
  readonly responseCache: number;
  readonly debugRecordings: string | undefined;
  readonly enablePipelineInspector: boolean;
  readonly pipelineInspectorSocket: string;
  readonly skipCrds: boolean;
  readonly leaderElection: boolean;
  readonly crossplaneMetrics: boolean;
  /** Milliseconds. */
  readonly leaseDuration: number;
}

const MAX_RATE = 100_000;

/** The flags, variables, defaults and readers. */
export const START_SETTINGS: SettingsOf<StartConfig> = settings({
  ...group("The API server", {
    kubeconfig: text(
      "<file>",
      "how to reach the API server; default: KUBECONFIG, else ~/.kube/config, else the pod's service account",
    ),
    context: text("<name>", "the context of that file; default: its current one"),
    apiRate: one(
      "<n>",
      "requests to the API server per second, on average",
      integer(1, MAX_RATE),
      String(DEFAULT_RATE_LIMIT.perSecond),
    ),
    apiBurst: one(
      "<n>",
      "requests to the API server in a burst",
      integer(1, MAX_RATE),
      String(DEFAULT_RATE_LIMIT.burst),
    ),
    namespace: optional(
      "<name>",
      "namespace of the lease and of pull secrets; default: the pod's, or the kubeconfig's, or crossplane-system",
      namespaceName,
    ),
  }),
  ...group("Functions", {
    enableCompositionFunctions: toggle(
      "run the functions of Compositions; without it, Compositions with functions are not composed",
    ),
    ...RUNNER_SETTINGS,
    function: many(
      "<name=source>",
      "a Function for steps of mode: Pipeline: NAME=ENDPOINT of its gRPC server, or NAME=PACKAGE for the runner",
      namedFunction,
      { shown: "none" },
    ),
    functionTlsCa: text("<file>", "CA of functions with an https:// endpoint"),
    functionTlsCert: text("<file>", "own certificate for these functions (mTLS)"),
    functionTlsKey: text("<file>", "its private key"),
    serviceAccount: optional(
      "<name>",
      "service account in that namespace, whose pull secrets apply to every image",
      objectName,
    ),
    pullSecretNamespaces: many(
      "<name>",
      "other namespaces from which Compositions may name pull secrets",
      namespaceName,
      { shown: "none" },
    ),
    credentialsSecretNamespaces: many(
      "<name>",
      "namespaces whose Secrets Compositions may give to functions as credentials",
      namespaceName,
      { shown: "none" },
    ),
    webhookHosts: many(
      "<host>",
      "hosts whose webhooks Compositions may call as functions: NAME, or *.DOMAIN such as *.functions.svc; NAME:PORT allows one port",
      hostPattern,
      { shown: "none" },
    ),
  }),
  ...group("With --runner in-process", IN_PROCESS_SETTINGS),
  ...group("Packages", {
    enablePackages: toggle(
      "install Functions, Configurations and Providers of pkg.crossplane.io; requires --enable-composition-functions",
    ),
    enableDependencyVersionUpgrades: toggle(
      "update a package to the oldest newer version that all packages that need it accept; requires --enable-packages",
    ),
    enableDependencyVersionDowngrades: toggle(
      "also update it to an older version if no newer one is accepted; requires --enable-packages",
    ),
    enableCustomToManagedResourceConversion: toggleOff(
      "with --enable-packages: CRDs of new revisions of Providers become ManagedResourceDefinitions, and are served when active",
    ),
    activation: many(
      "<pattern>",
      "the definitions that the policy default activates, which the first start creates; none: no such policy",
      anyText,
      { standard: ["*"], shown: "*" },
    ),
    trustedRoot: text(
      "<file>",
      "trusted_root.json of Sigstore, for the keyless signatures of ImageConfigs; read for each verification",
    ),
    enableFunctionRuntimes: toggle(
      "run each functionRef.package, pinned to a digest, with a FunctionRuntime; requires --enable-composition-functions",
    ),
    functionSubstrate: one(
      "<name>",
      "how FunctionRuntimes without a DeploymentRuntimeConfig run: Runner, on demand, or Deployment, with pods for " +
        "each version; requires --enable-function-runtimes",
      choice("Runner", "Deployment"),
      "Runner",
    ),
    runtimeGrace: one(
      "<duration>",
      "how long a CompositionRevision that no composite resource uses keeps its FunctionRuntimes",
      duration,
      // Long enough for a rollback that follows an upgrade.
      "10m",
    ),
    ...REGISTRY_SETTINGS,
  }),
  ...group("How it works", {
    concurrency: one(
      "<n>",
      "concurrent reconciles, over all kinds",
      integer(1, 1_000),
      // Reconciles mostly wait for the API server and for functions. More of them finish no sooner on a small API
      // server; fewer leave it idle.
      "32",
    ),
    pollInterval: one(
      "<duration>",
      "how often an unchanged object is reconciled, each at its own time in the interval",
      durationWithin(duration, { least: 1_000 }),
      // Watches report most changes at once; polling finds the others, such as changes in external systems.
      "1m",
    ),
    circuitBreakerBurst: one(
      "<n>",
      "writes of one composed resource that another writer changes back before they are slowed to one in 30 seconds",
      integer(1, 1_000),
      String(BREAKER.burst),
    ),
    circuitBreakerRefillRate: one(
      "<n>",
      "such writes per second that do not count towards the burst",
      integer(0, 1_000),
      String(BREAKER.refillRate),
    ),
    circuitBreakerCooldown: one(
      "<duration>",
      "how long no such write may happen before writes are not slowed any more",
      durationWithin(duration, { least: 1_000 }),
      "5m",
    ),
    responseCache: one(
      "<quantity>",
      "memory for responses of functions that are used again",
      memory,
      // A tenth of the memory that the controller may have in deploy/: some 12,000 responses of 4 kB.
      "48Mi",
    ),
    enableResourceComposition: toggle(
      "also serve InfrastructureDefinition, InfrastructurePublication and ApplicationDefinition",
    ),
    enableUsages: toggle(
      "serve Usage and ClusterUsage, which protect objects from deletion; requires --admission-webhook to take effect",
    ),
    enableOperations: toggle(
      "serve Operation, CronOperation and WatchOperation, which run functions once; requires --enable-composition-functions",
    ),
    enableProviderDeletionProtection: toggle(
      "protect Providers from deletion while there are managed resources of their kinds; requires --enable-packages, " +
        "--enable-usages and --admission-webhook",
    ),
    admissionWebhook: optional(
      "<service|url>",
      "how the API server reaches the admission webhook of --enable-usages: a Service of the controller's namespace with " +
        "port 9443, or https://HOST:PORT",
      webhookAddress,
    ),
    // The API server connects from another machine.
    admissionAddress: one("<[host:]port>", "HTTPS for the admission webhook", listenAddress, "0.0.0.0:9443"),
    allowComposedSecrets: toggle(
      "let Compositions compose Secrets: their authors can then read, change and delete every Secret that no controller owns",
    ),
    enableRollouts: toggle(
      "roll out new revisions as spec.rollout of a Composition says; without it, all composite resources get them at once",
    ),
    debugRecordings: text(
      "<dir>",
      "keep what functions receive and return, secrets masked, for XRs with the annotation " +
        "apiextensions.crossplane.io/record-runs: true; requires --enable-composition-functions",
    ),
    enablePipelineInspector: toggle(
      "tell a pipeline inspector, such as xfn inspect, what functions receive and return, secrets masked; requires " +
        "--enable-composition-functions",
    ),
    pipelineInspectorSocket: one(
      "<path>",
      "the Unix socket of that inspector",
      (path) => path,
      "/var/run/pipeline-inspector/socket",
    ),
    skipCrds: toggle("do not install the CRDs of Composition and others, which exist already (xfn-controller crds)"),
    leaderElection: toggle("only the replica with the lease reconciles; the others wait for it"),
    leaseDuration: one(
      "<duration>",
      "time after which a silent leader loses the lease",
      durationWithin(duration, { least: 3_000 }),
      "15s",
    ),
  }),
  ...group("Operation", {
    crossplaneMetrics: toggle("also serve metrics under the names of Crossplane, for its dashboards"),
    ...operationSettings({
      metricsAddress: "127.0.0.1:9465",
      // Kubernetes kills a pod 30 s after SIGTERM (terminationGracePeriodSeconds).
      grace: "20s",
      graceHelp: "how long running reconciles may take after SIGTERM",
    }),
  }),
});

/** Settings of `xfn-controller crds`. */
export const CRDS_SETTINGS: SettingsOf<
  Pick<
    StartConfig,
    | "enableOperations"
    | "enablePackages"
    | "enableCustomToManagedResourceConversion"
    | "enableFunctionRuntimes"
    | "enableResourceComposition"
    | "enableUsages"
  >
> = settings({
  enablePackages: toggle("also those of packages and their revisions", { variable: false }),
  enableCustomToManagedResourceConversion: toggleOff(
    "with --enable-packages: also those of ManagedResourceDefinitions and their activation",
    { variable: false },
  ),
  enableFunctionRuntimes: toggle("also those of FunctionRuntimes and ProviderRuntimes", { variable: false }),
  enableResourceComposition: toggle(
    "also those of InfrastructureDefinition, InfrastructurePublication and ApplicationDefinition",
    { variable: false },
  ),
  enableUsages: toggle("also those of Usage and ClusterUsage", { variable: false }),
  enableOperations: toggle("also those of Operation, CronOperation and WatchOperation", { variable: false }),
});

function hostPattern(text: string): string {
  if (/^(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[1-9]\d{0,4})?$/i.test(text)) return text;
  throw new Error(`${JSON.stringify(text)} must be the name of a host, or *. and a domain, and may have a port`);
}

// RFC 1123 labels: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
function namespaceName(text: string): string {
  if (!/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(text))
    throw new Error(`${JSON.stringify(text)} must be the name of a namespace`);
  return text;
}

function objectName(text: string): string {
  if (!/^[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?$/.test(text))
    throw new Error(`${JSON.stringify(text)} must be the name of an object`);
  return text;
}

function namedFunction(text: string): NamedFunction {
  const at = text.indexOf("=");
  if (at <= 0 || at === text.length - 1) {
    throw new Error(`${JSON.stringify(text)} must be NAME=ENDPOINT or NAME=PACKAGE, such as function-a=localhost:9443`);
  }
  return { name: objectName(text.slice(0, at)), source: text.slice(at + 1) };
}
