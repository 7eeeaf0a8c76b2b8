import { DEFAULT_RATE_LIMIT } from "@xfn/kubernetes";
import {
  anyText,
  duration,
  durationWithin,
  type HelpGroups,
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
  toggle,
} from "@xfn/program/settings";
import { type WebhookAddress, webhookAddress } from "../admission/webhook-address.ts";
import type { NamedFunction } from "../functions/function-directory.ts";
import type { FunctionSubstrate } from "../objects/context.ts";
import { IN_PROCESS_KEYS, RUNNER_SETTINGS, type RunnerSettings } from "./runner-settings.ts";

/** Settings of `xfn-controller start`, read but not yet checked against each other. */
export interface StartConfig extends OperationSettings, RunnerSettings {
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  /** Requests per second, on average and in a burst. */
  readonly apiRate: number;
  readonly apiBurst: number;
  readonly enableCompositionFunctions: boolean;
  readonly enablePackages: boolean;
  readonly enableFunctionRuntimes: boolean;
  readonly functionSubstrate: FunctionSubstrate;
  readonly enableRollouts: boolean;
  /** Milliseconds. */
  readonly runtimeGrace: number;
  readonly enableResourceComposition: boolean;
  readonly enableUsages: boolean;
  readonly admissionWebhook: WebhookAddress | undefined;
  readonly admissionAddress: ListenAddress | undefined;
  /** The Functions that steps can name. */
  readonly function: readonly NamedFunction[];
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
  /** Bytes. */
  readonly responseCache: number;
  readonly debugRecordings: string | undefined;
  readonly skipCrds: boolean;
  readonly leaderElection: boolean;
  /** Milliseconds. */
  readonly leaseDuration: number;
}

// Reconciles mostly wait for the API server and for functions. More of them finish no sooner on a small API server;
// fewer leave it idle.
const DEFAULT_CONCURRENCY = 32;
const MAX_CONCURRENCY = 1_000;

const MAX_RATE = 100_000;

// Watches report most changes at once; polling finds the others, such as changes in external systems.
const DEFAULT_POLL_MS = 60_000;
const MIN_POLL_MS = 1_000;

// Long enough for a rollback that follows an upgrade.
const DEFAULT_RUNTIME_GRACE_MS = 600_000;

// A tenth of the memory that the controller may have in deploy/: some 12,000 responses of 4 kB.
const DEFAULT_RESPONSE_BYTES = 48 * 1024 * 1024;

// The API server connects from another machine.
const DEFAULT_ADMISSION_ADDRESS = "0.0.0.0:9443";

const DEFAULT_LEASE_MS = 15_000;
const MIN_LEASE_MS = 3_000;

// Kubernetes kills a pod 30 s after SIGTERM (terminationGracePeriodSeconds).
const DEFAULT_GRACE_SECONDS = 20;

/** The flags, variables, defaults and readers. */
export const START_SETTINGS: SettingsOf<StartConfig> = {
  kubeconfig: optional(
    "kubeconfig",
    "<file>",
    "how to reach the API server; default: KUBECONFIG, else ~/.kube/config, else the pod's service account",
    anyText,
  ),
  context: optional("context", "<name>", "the context of that file; default: its current one", anyText),
  apiRate: one(
    "api-rate",
    "<n>",
    "requests to the API server per second, on average",
    integer(1, MAX_RATE),
    DEFAULT_RATE_LIMIT.perSecond,
    String(DEFAULT_RATE_LIMIT.perSecond),
  ),
  apiBurst: one(
    "api-burst",
    "<n>",
    "requests to the API server in a burst",
    integer(1, MAX_RATE),
    DEFAULT_RATE_LIMIT.burst,
    String(DEFAULT_RATE_LIMIT.burst),
  ),
  enableCompositionFunctions: toggle(
    "enable-composition-functions",
    "run the functions of Compositions; without it, Compositions with functions are not composed",
  ),
  enablePackages: toggle(
    "enable-packages",
    "install Functions, Configurations and Providers of pkg.crossplane.io; requires --enable-composition-functions",
  ),
  enableFunctionRuntimes: toggle(
    "enable-function-runtimes",
    "run each functionRef.package, pinned to a digest, with a FunctionRuntime; requires --enable-composition-functions",
  ),
  functionSubstrate: one(
    "function-substrate",
    "<name>",
    "how FunctionRuntimes without a DeploymentRuntimeConfig run: Runner, on demand, or Deployment, with pods for " +
      "each version; requires --enable-function-runtimes",
    substrateName,
    "Runner",
    "Runner",
  ),
  runtimeGrace: one(
    "runtime-grace",
    "<duration>",
    "how long a CompositionRevision that no composite resource uses keeps its FunctionRuntimes",
    duration,
    DEFAULT_RUNTIME_GRACE_MS,
    "10m",
  ),
  enableRollouts: toggle(
    "enable-rollouts",
    "roll out new revisions as spec.rollout of a Composition says; without it, all composite resources get them at once",
  ),
  enableResourceComposition: toggle(
    "enable-resource-composition",
    "also serve InfrastructureDefinition, InfrastructurePublication and ApplicationDefinition",
  ),
  enableUsages: toggle(
    "enable-usages",
    "serve Usage and ClusterUsage, which protect objects from deletion; requires --admission-webhook to take effect",
  ),
  admissionWebhook: optional(
    "admission-webhook",
    "<service|url>",
    "how the API server reaches the admission webhook of --enable-usages: a Service of the controller's namespace with " +
      "port 9443, or https://HOST:PORT",
    webhookAddress,
  ),
  admissionAddress: one(
    "admission-address",
    "<[host:]port>",
    "HTTPS for the admission webhook",
    listenAddress,
    listenAddress(DEFAULT_ADMISSION_ADDRESS),
    DEFAULT_ADMISSION_ADDRESS,
  ),
  ...RUNNER_SETTINGS,
  function: many(
    "function",
    "<name=source>",
    "a Function for steps of mode: Pipeline: NAME=ENDPOINT of its gRPC server, or NAME=PACKAGE for the runner",
    namedFunction,
    [],
    "none",
  ),
  functionTlsCa: optional("function-tls-ca", "<file>", "CA of functions with an https:// endpoint", anyText),
  functionTlsCert: optional("function-tls-cert", "<file>", "own certificate for these functions (mTLS)", anyText),
  functionTlsKey: optional("function-tls-key", "<file>", "its private key", anyText),
  namespace: optional(
    "namespace",
    "<name>",
    "namespace of the lease and of pull secrets; default: the pod's, or the kubeconfig's, or crossplane-system",
    namespaceName,
  ),
  serviceAccount: optional(
    "service-account",
    "<name>",
    "service account in that namespace, whose pull secrets apply to every image",
    objectName,
  ),
  pullSecretNamespaces: many(
    "pull-secret-namespaces",
    "<name>",
    "other namespaces from which Compositions may name pull secrets",
    namespaceName,
    [],
    "none",
  ),
  credentialsSecretNamespaces: many(
    "credentials-secret-namespaces",
    "<name>",
    "namespaces whose Secrets Compositions may give to functions as credentials",
    namespaceName,
    [],
    "none",
  ),
  webhookHosts: many(
    "webhook-hosts",
    "<host>",
    "hosts whose webhooks Compositions may call as functions: NAME, or *.DOMAIN such as *.functions.svc; NAME:PORT allows one port",
    hostPattern,
    [],
    "none",
  ),
  allowComposedSecrets: toggle(
    "allow-composed-secrets",
    "let Compositions compose Secrets: their authors can then read, change and delete every Secret that no controller owns",
  ),
  concurrency: one(
    "concurrency",
    "<n>",
    "concurrent reconciles, over all kinds",
    integer(1, MAX_CONCURRENCY),
    DEFAULT_CONCURRENCY,
    String(DEFAULT_CONCURRENCY),
  ),
  pollInterval: one(
    "poll-interval",
    "<duration>",
    "how often an unchanged object is reconciled, each at its own time in the interval",
    durationWithin(duration, { least: MIN_POLL_MS }),
    DEFAULT_POLL_MS,
    "1m",
  ),
  responseCache: one(
    "response-cache",
    "<quantity>",
    "memory for responses of functions that are used again",
    memory,
    DEFAULT_RESPONSE_BYTES,
    "48Mi",
  ),
  debugRecordings: optional(
    "debug-recordings",
    "<dir>",
    "keep what functions receive and return, secrets masked, for XRs with the annotation " +
      "apiextensions.crossplane.io/record-runs: true; requires --enable-composition-functions",
    anyText,
  ),
  skipCrds: toggle(
    "skip-crds",
    "do not install the CRDs of Composition and others, which exist already (xfn-controller crds)",
  ),
  leaderElection: toggle("leader-election", "only the replica with the lease reconciles; the others wait for it"),
  leaseDuration: one(
    "lease-duration",
    "<duration>",
    "time after which a silent leader loses the lease",
    durationWithin(duration, { least: MIN_LEASE_MS }),
    DEFAULT_LEASE_MS,
    "15s",
  ),
  ...operationSettings({
    metricsAddress: "127.0.0.1:9465",
    graceSeconds: DEFAULT_GRACE_SECONDS,
    grace: "how long running reconciles may take after SIGTERM",
  }),
};

/** Settings of `xfn-controller crds`. */
export const CRDS_SETTINGS: SettingsOf<
  Pick<StartConfig, "enablePackages" | "enableFunctionRuntimes" | "enableResourceComposition" | "enableUsages">
> = {
  enablePackages: toggle("enable-packages", "also those of packages and their revisions", { variable: false }),
  enableFunctionRuntimes: toggle("enable-function-runtimes", "also those of FunctionRuntimes and ProviderRuntimes", {
    variable: false,
  }),
  enableResourceComposition: toggle(
    "enable-resource-composition",
    "also those of InfrastructureDefinition, InfrastructurePublication and ApplicationDefinition",
    { variable: false },
  ),
  enableUsages: toggle("enable-usages", "also those of Usage and ClusterUsage", { variable: false }),
};

/** The settings as the help shows them. */
export const START_GROUPS: HelpGroups<StartConfig> = {
  "The API server": ["kubeconfig", "context", "apiRate", "apiBurst", "namespace"],
  Functions: [
    "enableCompositionFunctions",
    "runner",
    "allowedRunners",
    "runnerTokenFile",
    "runnerTlsCa",
    "runnerTlsCert",
    "runnerTlsKey",
    "runnerTlsServerName",
    "maxOutput",
    "function",
    "functionTlsCa",
    "functionTlsCert",
    "functionTlsKey",
    "serviceAccount",
    "pullSecretNamespaces",
    "credentialsSecretNamespaces",
    "webhookHosts",
  ],
  "With --runner in-process": IN_PROCESS_KEYS,
  Packages: [
    "enablePackages",
    "enableFunctionRuntimes",
    "functionSubstrate",
    "runtimeGrace",
    "insecureRegistry",
    "mirror",
    "registryCa",
    "trustedRealm",
  ],
  "How it works": [
    "concurrency",
    "pollInterval",
    "responseCache",
    "enableResourceComposition",
    "enableUsages",
    "admissionWebhook",
    "admissionAddress",
    "allowComposedSecrets",
    "enableRollouts",
    "debugRecordings",
    "skipCrds",
    "leaderElection",
    "leaseDuration",
  ],
  Operation: ["metricsAddress", "logLevel", "logFormat", "shutdownGrace"],
};

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

function substrateName(text: string): FunctionSubstrate {
  if (text !== "Runner" && text !== "Deployment")
    throw new Error(`${JSON.stringify(text)} must be Runner or Deployment`);
  return text;
}

function namedFunction(text: string): NamedFunction {
  const at = text.indexOf("=");
  if (at <= 0 || at === text.length - 1) {
    throw new Error(`${JSON.stringify(text)} must be NAME=ENDPOINT or NAME=PACKAGE, such as function-a=localhost:9443`);
  }
  return { name: objectName(text.slice(0, at)), source: text.slice(at + 1) };
}
