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
  "networking.k8s.io": ["Ingress", "IngressClass", "NetworkPolicy"],
  "node.k8s.io": ["RuntimeClass"],
  policy: ["PodDisruptionBudget"],
  "rbac.authorization.k8s.io": ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
  "scheduling.k8s.io": ["PriorityClass"],
  "storage.k8s.io": ["CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttachment"],
};

/** The name of a kind's model in Kubernetes' official client, such as V1Deployment; undefined for other kinds. */
export function modelOf(apiVersion: string, kind: string): string | undefined {
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  if (group === undefined || version === undefined || !/^v\d+(?:(?:alpha|beta)\d+)?$/.test(version)) return undefined;
  return Object.hasOwn(KINDS, group) && KINDS[group]?.includes(kind) ? `V${version.slice(1)}${kind}` : undefined;
}
