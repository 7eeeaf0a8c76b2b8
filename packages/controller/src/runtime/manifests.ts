import { createHash } from "node:crypto";
import { isObject, type JsonObject, type JsonValue, objectAt, objectsAt, textAt } from "@xfn/json";
import { dnsLabel } from "@xfn/package";
import { DEPLOYMENTS, SERVICE_ACCOUNTS, SERVICES, typeMeta } from "../objects/kinds.ts";
import { LABEL_RUNTIME, labelValue } from "../objects/labels.ts";

// The objects that run a package: Crossplane's defaults, below the templates of a DeploymentRuntimeConfig.

/** Input of the manifests of a package's runtime. */
export interface Workload {
  readonly kind: "Function" | "Provider";
  /** The name of the FunctionRuntime or ProviderRuntime. */
  readonly runtime: string;
  readonly namespace: string;
  /** The owner reference to the runtime. */
  readonly owner: JsonObject;
  /** The package with its digest. */
  readonly image: string;
  readonly pullPolicy: string | undefined;
  /** Names of pull secrets in the namespace. */
  readonly pullSecrets: readonly string[];
  /** `spec` of the DeploymentRuntimeConfig. */
  readonly config: JsonObject;
  /** Whether the Deployment has no replicas, even if the configuration has some. */
  readonly isIdle?: boolean | undefined;
  /** The first revision that needs the runtime of a Provider. */
  readonly revision?: { readonly provider: string; readonly name: string; readonly uid: string } | undefined;
}

/** An object to apply. */
export type Manifest = JsonObject & { readonly metadata: JsonObject & { readonly name: string } };

/** The objects of a workload without its Secrets. */
export interface Manifests {
  /** Absent: the template of the Deployment names a service account that exists. */
  readonly serviceAccount: Manifest | undefined;
  readonly service: Manifest;
  readonly deployment: Manifest;
}

/** The container of a Deployment's template that runs the package, as in Crossplane. */
const CONTAINER = "package-runtime";
const USER = 2000;
/** The port on which Crossplane's SDKs listen. */
export const GRPC_PORT = 9443;
const METRICS_PORT = 8080;
/** On the template of pods: restarts them when the content of their Secrets changes. */
export const ANNOTATION_CERTIFICATES = "pkg.crossplane.io/certificates";

const IDENTITY: JsonObject = { runAsNonRoot: true, runAsUser: USER, runAsGroup: USER };
const POD_SECURITY: JsonObject = { ...IDENTITY, seccompProfile: { type: "RuntimeDefault" } };
const CONTAINER_SECURITY: JsonObject = {
  ...IDENTITY,
  allowPrivilegeEscalation: false,
  privileged: false,
  capabilities: { drop: ["ALL"] },
};

/** The name of a runtime as that of a Service, which is a DNS label that begins with a letter. */
export function workloadName(runtime: string): string {
  if (/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/.test(runtime)) return runtime;
  const hash = createHash("sha256").update(runtime).digest("hex").slice(0, 12);
  return `${dnsLabel(`x-${runtime}`.slice(0, 50))}-${hash}`;
}

/** The names of a workload's Secrets. */
export function secretNamesOf(runtime: string): { readonly server: string; readonly client: string } {
  const name = workloadName(runtime);
  return { server: `${name}-tls-server`, client: `${name}-tls-client` };
}

/** The name of a workload's Service. */
export function serviceName({ runtime, config }: Pick<Workload, "runtime" | "config">): string {
  return textAt(config, "serviceTemplate", "metadata", "name") ?? workloadName(runtime);
}

/** @param certificates identifies the content of the Secrets */
export function manifestsOf(workload: Workload, certificates: string): Manifests {
  const account = metadataOf(workload, "serviceAccountTemplate");
  const deployment = deploymentOf(workload, String(account.name), certificates);
  const used = textAt(deployment, "spec", "template", "spec", "serviceAccountName");
  const imagePullSecrets = workload.pullSecrets.map((name) => ({ name }));
  return {
    serviceAccount:
      used === account.name ? { ...typeMeta(SERVICE_ACCOUNTS), metadata: account, imagePullSecrets } : undefined,
    service: serviceOf(workload),
    deployment,
  };
}

function metadataOf(workload: Workload, template: string): Manifest["metadata"] {
  const { labels, annotations, name } = objectAt(workload.config, template, "metadata");
  return {
    name: typeof name === "string" && name !== "" ? name : workloadName(workload.runtime),
    namespace: workload.namespace,
    labels: { ...(isObject(labels) && labels), ...selectorOf(workload) },
    ...(isObject(annotations) && { annotations }),
    ownerReferences: [workload.owner],
  };
}

function selectorOf({ runtime }: Workload): JsonObject {
  return { [LABEL_RUNTIME]: labelValue(runtime) };
}

function serviceOf(workload: Workload): Manifest {
  const isFunction = workload.kind === "Function";
  const name = isFunction ? "grpc" : "webhook";
  const port = { name, protocol: "TCP", port: GRPC_PORT, targetPort: name };
  return {
    ...typeMeta(SERVICES),
    metadata: metadataOf(workload, "serviceTemplate"),
    spec: {
      // Headless: the controller finds all pods of a function.
      ...(isFunction && { clusterIP: "None" }),
      selector: selectorOf(workload),
      ports: [isFunction ? { ...port, appProtocol: "tls" } : port],
    },
  };
}

function deploymentOf(workload: Workload, account: string, certificates: string): Manifest {
  const spec = objectAt(workload.config, "deploymentTemplate", "spec");
  const pod = objectAt(spec, "template", "spec");
  const metadata = objectAt(spec, "template", "metadata");
  const containers = objectsAt(pod["containers"]);
  const own = containers.find(({ name }) => name === CONTAINER) ?? { name: CONTAINER };
  const mounts = mountsOf(workload);
  return {
    ...typeMeta(DEPLOYMENTS),
    metadata: metadataOf(workload, "deploymentTemplate"),
    spec: {
      replicas: 1,
      ...spec,
      ...(workload.isIdle && { replicas: 0 }),
      selector: {
        ...objectAt(spec, "selector"),
        matchLabels: { ...objectAt(spec, "selector", "matchLabels"), ...selectorOf(workload) },
      },
      template: {
        metadata: {
          ...metadata,
          labels: {
            ...objectAt(metadata, "labels"),
            ...objectAt(spec, "selector", "matchLabels"),
            ...selectorOf(workload),
          },
          annotations: { ...objectAt(metadata, "annotations"), [ANNOTATION_CERTIFICATES]: certificates },
        },
        spec: {
          securityContext: POD_SECURITY,
          serviceAccountName: account,
          ...pod,
          imagePullSecrets: byName(
            pod["imagePullSecrets"],
            workload.pullSecrets.map((name) => ({ name })),
          ),
          volumes: byName(
            pod["volumes"],
            mounts.map(({ volume, secret }) => ({ name: volume, secret: { secretName: secret } })),
          ),
          containers: [containerOf(workload, own, mounts), ...containers.filter((one) => one !== own)],
        },
      },
    },
  };
}

interface Mount {
  readonly volume: string;
  readonly secret: string;
  readonly path: string;
  readonly variable: string;
}

function mountsOf({ kind, runtime }: Workload): Mount[] {
  const { server, client } = secretNamesOf(runtime);
  return [
    { volume: "tls-server-certs", secret: server, path: "/tls/server", variable: "TLS_SERVER_CERTS_DIR" },
    ...(kind === "Provider"
      ? [{ volume: "tls-client-certs", secret: client, path: "/tls/client", variable: "TLS_CLIENT_CERTS_DIR" }]
      : []),
  ];
}

function containerOf(workload: Workload, own: JsonObject, mounts: readonly Mount[]): JsonObject {
  const { kind, image, pullPolicy, revision } = workload;
  const variables: JsonObject[] = mounts.map(({ variable, path }) => ({ name: variable, value: path }));
  if (kind === "Provider")
    variables.push(
      { name: "POD_NAMESPACE", valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } } },
      { name: "WEBHOOK_TLS_CERT_DIR", value: "$(TLS_SERVER_CERTS_DIR)" },
    );
  if (revision !== undefined)
    variables.push(
      { name: "PROVIDER_NAME", value: revision.provider },
      { name: "REVISION_NAME", value: revision.name },
      { name: "REVISION_UID", value: revision.uid },
    );
  const ports = [
    { name: "metrics", containerPort: METRICS_PORT },
    { name: kind === "Function" ? "grpc" : "webhook", containerPort: GRPC_PORT },
  ];
  return {
    image,
    imagePullPolicy: "IfNotPresent",
    securityContext: CONTAINER_SECURITY,
    ...own,
    ...(pullPolicy !== undefined && { imagePullPolicy: pullPolicy }),
    ports: byName(ports, objectsAt(own["ports"])),
    env: byName(own["env"], variables),
    volumeMounts: byName(
      own["volumeMounts"],
      mounts.map(({ volume, path }) => ({ name: volume, mountPath: path, readOnly: true })),
    ),
  };
}

/** A list of objects in which later ones replace those of the same name. */
function byName(list: JsonValue | undefined, more: readonly JsonObject[]): JsonObject[] {
  const names = new Set(more.map(({ name }) => name));
  return [...objectsAt(list).filter(({ name }) => !names.has(name)), ...more];
}
