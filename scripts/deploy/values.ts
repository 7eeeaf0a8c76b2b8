import type { JsonObject, JsonValue } from "@xfn/json";
import { printYaml } from "@xfn/json/document";

// The values of deploy/chart with their defaults and types. values.yaml and values.schema.json are written from here.

/** A value, or a group of values: then `default` is absent. */
interface Value {
  /** A comment in values.yaml. */
  readonly about?: string;
  /** JSON schema, draft 7, which Helm 3 checks. */
  readonly schema: JsonObject;
  readonly default?: JsonValue;
  readonly values?: Values;
}
type Values = Readonly<Record<string, Value>>;

const value = (fallback: JsonValue, schema: JsonObject, about?: string): Value => ({
  default: fallback,
  schema,
  ...(about !== undefined && { about }),
});
const text = (fallback: string, about?: string, more: JsonObject = {}): Value =>
  value(fallback, { type: "string", ...more }, about);
const flag = (fallback: boolean, about?: string): Value => value(fallback, { type: "boolean" }, about);
const count = (fallback: number, about?: string): Value => value(fallback, { type: "integer", minimum: 0 }, about);
const choice = (options: readonly string[], about: string): Value =>
  value(options[0] ?? "", { type: "string", enum: [...options] }, about);
const group = (about: string, values: Values): Value => ({ about, schema: closed(values), values });

const TEXT: JsonObject = { type: "string" };
const OPEN: JsonObject = { type: "object" };
const listOf = (items: JsonObject): JsonObject => ({ type: "array", items });
const mapOf = (items: JsonObject): JsonObject => ({ type: "object", additionalProperties: items });
const named = (required: readonly string[]): JsonObject => ({
  type: "object",
  required: [...required],
  properties: Object.fromEntries(required.map((field) => [field, { type: "string", minLength: 1 }])),
});
const pairs = (about?: string): Value => value({}, mapOf(TEXT), about);

const QUANTITY: JsonObject = { type: ["string", "number"], pattern: "^[0-9.]+(m|k|M|G|T|Ki|Mi|Gi|Ti)?$" };
const RESOURCES: JsonObject = {
  type: "object",
  properties: { requests: mapOf(QUANTITY), limits: mapOf(QUANTITY), claims: listOf(OPEN) },
  additionalProperties: false,
};
// A URL with a password would be stored in the release, and shown by `helm get values`. The message of a failed `not`,
// unlike that of a pattern, leaves the value out.
const PROXY: JsonObject = { not: { pattern: "@" } };
const PACKAGE: JsonObject = { type: "string", pattern: "^[^/\\s]+[.:][^/\\s]*/.+[:@].+$" };

/** Values of the manifests, so that the chart has the same defaults. */
export interface Defaults {
  readonly replicas: number;
  readonly controllerResources: JsonObject;
  readonly runnerResources: JsonObject;
  readonly spread: JsonValue;
}

/** The values, in the order of values.yaml. */
export function valuesOf(manifests: Defaults): Values {
  return {
    image: group("The image of xfn-controller and xfn-runner.", {
      registry: text("registry.example.org"),
      repository: text("xfn"),
      tag: text("", "Default: the appVersion of the chart."),
      digest: text("", "sha256:..., which wins over the tag.", { pattern: "^(sha256:[0-9a-f]{64})?$" }),
      pullPolicy: choice(["IfNotPresent", "Always", "Never"], "When nodes pull the image."),
    }),
    imagePullSecrets: value(
      [],
      listOf(named(["name"])),
      "Secrets of this namespace, for the image above, packages and functions: [{name: ...}].",
    ),
    replicas: value(
      manifests.replicas,
      { type: "integer", minimum: 0 },
      "One reconciles, the others wait for its lease.",
    ),

    profile: choice(
      ["crossplane", "templates", "all"],
      "crossplane: functions and packages. templates: neither. all: also rollouts and resource composition.",
    ),
    substrate: choice(
      ["Deployment", "Runner", "none"],
      "What runs functions. Deployment: pods, as Crossplane. Runner: containers of a sidecar, which starts them on\n" +
        "demand; needs Kubernetes 1.33 and a namespace of the level privileged. none: webhooks and endpoints only.",
    ),
    wasm: flag(false, "Also run WebAssembly modules, in a sidecar without further privileges."),
    usages: flag(
      false,
      "Serve Usage and ClusterUsage, which protect objects from deletion. Grant the controller get, list and patch on the\n" +
        "kinds that they name: docs/tasks/usages.md.",
    ),
    protectProviders: flag(
      false,
      "With usages: keep Providers that have managed resources from being deleted: docs/tasks/managed-resources.md.",
    ),
    operations: flag(
      false,
      "Serve Operation, CronOperation and WatchOperation, which run functions once; not with the profile templates. Grant\n" +
        "the controller rights on the objects that they read, apply and watch: docs/tasks/operations.md.",
    ),
    dependencyUpdates: choice(
      ["none", "upgrades", "downgrades"],
      "Whether a package that other packages need in another version is updated: never, to newer versions, or also to\n" +
        "older ones.",
    ),
    grantProviderRights: flag(
      false,
      "Let the controller grant providers the rights that they ask for, as Crossplane's RBAC manager does. The\n" +
        "controller is then as powerful as an administrator.",
    ),
    packages: group(
      "Packages to install, such as registry.example.org/acme/platform:v1.0.0. Uninstalling keeps them.",
      {
        configurations: value([], listOf(PACKAGE)),
        functions: value([], listOf(PACKAGE)),
        providers: value([], listOf(PACKAGE)),
      },
    ),
    registryCa: group("A ConfigMap with the certificates (PEM) of registries, beside those of the system.", {
      configMap: text(""),
      key: text("ca.crt"),
    }),
    trustedRoot: group("A ConfigMap with the trusted root of Sigstore, for keyless signatures of packages.", {
      configMap: text(""),
      key: text("trusted_root.json"),
    }),
    proxy: group("The proxy to registries and webhooks. Take one with a password from a Secret: extraEnv.", {
      https: text("", "HTTPS_PROXY, such as http://proxy.example.org:3128.", PROXY),
      noProxy: value([], listOf(TEXT), "Hosts without the proxy, beside the API server and services of the cluster."),
    }),

    resources: value(
      manifests.controllerResources,
      RESOURCES,
      "The controller: 512Mi are enough for 7,000 XRs of templates.",
    ),
    runner: group("The sidecar of the substrate Runner, or of wasm.", {
      resources: value(manifests.runnerResources, RESOURCES),
      cacheSize: value("10Gi", QUANTITY, "The volume for unpacked images."),
      extraArgs: value([], listOf(TEXT), "Flags of xfn-runner serve."),
      extraEnv: value([], listOf(named(["name"]))),
    }),

    nodeSelector: pairs("Where and how pods run: fields of their spec."),
    tolerations: value([], listOf(OPEN)),
    affinity: value({}, OPEN),
    topologySpreadConstraints: value(manifests.spread, listOf(named(["topologyKey", "whenUnsatisfiable"]))),
    priorityClassName: text(""),
    runtimeClassName: text(""),
    hostNetwork: flag(false),
    dnsPolicy: value("", {
      type: "string",
      enum: ["", "ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"],
    }),
    strategy: value({}, OPEN, "How the Deployment replaces pods."),
    revisionHistoryLimit: count(10),

    serviceAccount: group("The account of the pods, whose pull secrets apply to all packages.", {
      create: flag(true),
      name: text("xfn-controller", undefined, { minLength: 1 }),
      annotations: pairs("Such as the identity at a cloud."),
    }),
    userRoles: group("ClusterRoles xfn-admin, xfn-edit, xfn-view and xfn-browse for people.", { create: flag(true) }),
    podDisruptionBudget: group("How many pods drains of nodes may evict together.", {
      create: flag(true),
      maxUnavailable: value(1, { type: ["integer", "string"] }),
    }),
    networkPolicy: group("A policy that lets only connections to the metrics port in.", {
      create: flag(false),
      metricsFrom: value([], listOf(OPEN), "The NetworkPolicyPeers that may read metrics. Default: all."),
    }),
    monitor: group("A monitor for the Prometheus operator.", {
      kind: choice(["none", "PodMonitor", "ServiceMonitor"], "ServiceMonitor adds a Service."),
      alerts: flag(false, "A PrometheusRule, whose alerts docs/tasks/alerts.md explains."),
      dashboard: flag(false, "A ConfigMap for the sidecar of Grafana."),
      labels: pairs("The labels by which your Prometheus selects monitors and rules."),
      interval: text("", "Such as 30s.", { pattern: "^([0-9]+(ms|s|m|h))?$" }),
    }),

    labels: pairs("Labels and annotations of all objects, and of the pods."),
    annotations: pairs(),
    podLabels: pairs(),
    podAnnotations: pairs(),
    extraArgs: value([], listOf(TEXT), "Flags of xfn-controller start."),
    extraEnv: value(
      [],
      listOf(named(["name"])),
      "Variables of the controller's container. Take secrets from Secrets: valueFrom.secretKeyRef.",
    ),
    extraVolumes: value([], listOf(named(["name"]))),
    extraVolumeMounts: value([], listOf(named(["name", "mountPath"])), "Mounts of the controller's container."),
    extraObjects: value(
      [],
      // Values are readable in the release: Secrets come from elsewhere.
      listOf({ ...named(["apiVersion", "kind"]), not: { properties: { kind: { const: "Secret" } } } }),
      "Further objects, except Secrets, whose content the release would show.",
    ),
  };
}

function closed(values: Values): JsonObject {
  const properties = Object.fromEntries(Object.entries(values).map(([name, { schema }]) => [name, schema]));
  return { type: "object", properties, additionalProperties: false };
}

/** values.schema.json. */
export function schemaOf(values: Values): JsonObject {
  const { properties, ...root } = closed(values);
  // Helm adds `global` if the chart is a dependency of another one.
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    ...root,
    properties: { ...(properties as JsonObject), global: OPEN },
  };
}

/** values.yaml, with comments. */
export function valuesYaml(values: Values, indent = ""): string {
  return Object.entries(values)
    .map(([name, { about, values: inner, default: fallback = null }]) => {
      const comment = about === undefined ? "" : `${indent}# ${about.replaceAll("\n", `\n${indent}# `)}\n`;
      const body =
        inner === undefined
          ? printYaml({ [name]: fallback }).replace(/^(?=.)/gm, indent)
          : `${indent}${name}:\n${valuesYaml(inner, `${indent}  `)}`;
      return comment + body;
    })
    .join(indent === "" ? "\n" : "");
}
