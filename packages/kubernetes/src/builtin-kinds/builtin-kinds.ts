/** The kinds that every API server serves and that users write, by group. Lists and reviews are not among them. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  "": [
    "ConfigMap",
    "Endpoints",
    "LimitRange",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodTemplate",
    "ReplicationController",
    "ResourceQuota",
    "Secret",
    "Service",
    "ServiceAccount",
  ],
  "admissionregistration.k8s.io": [
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
  ],
  "apiregistration.k8s.io": ["APIService"],
  apps: ["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"],
  autoscaling: ["HorizontalPodAutoscaler"],
  batch: ["CronJob", "Job"],
  "certificates.k8s.io": ["CertificateSigningRequest"],
  "coordination.k8s.io": ["Lease"],
  "discovery.k8s.io": ["EndpointSlice"],
  "flowcontrol.apiserver.k8s.io": ["FlowSchema", "PriorityLevelConfiguration"],
  "networking.k8s.io": ["IPAddress", "Ingress", "IngressClass", "NetworkPolicy", "ServiceCIDR"],
  "node.k8s.io": ["RuntimeClass"],
  policy: ["PodDisruptionBudget"],
  "rbac.authorization.k8s.io": ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
  "scheduling.k8s.io": ["PriorityClass"],
  "storage.k8s.io": [
    "CSIDriver",
    "CSINode",
    "CSIStorageCapacity",
    "StorageClass",
    "VolumeAttachment",
    "VolumeAttributesClass",
  ],
};

/** The name of a kind's model in Kubernetes' official client, such as V1Deployment; undefined for other kinds. */
export function modelOf(apiVersion: string, kind: string): string | undefined {
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  if (group === undefined || version === undefined || !/^v\d+(?:(?:alpha|beta)\d+)?$/.test(version)) return undefined;
  return Object.hasOwn(KINDS, group) && KINDS[group]?.includes(kind) ? `V${version.slice(1)}${kind}` : undefined;
}

/** A version of one of Kubernetes' own kinds. */
export interface BuiltinKind {
  readonly apiVersion: string;
  readonly kind: string;
  /** The name of its model in Kubernetes' official client. */
  readonly model: string;
}

/** All versions of these kinds among the models. */
export function kindsAmong(models: readonly string[]): BuiltinKind[] {
  const versions = [...new Set(models.flatMap((name) => /^V(\d+(?:(?:alpha|beta)\d+)?)[A-Z]/.exec(name)?.[1] ?? []))];
  return Object.entries(KINDS).flatMap(([group, kinds]) =>
    kinds.flatMap((kind) =>
      versions
        .filter((version) => models.includes(`V${version}${kind}`))
        .map((version) => ({
          apiVersion: group === "" ? `v${version}` : `${group}/v${version}`,
          kind,
          model: `V${version}${kind}`,
        })),
    ),
  );
}
