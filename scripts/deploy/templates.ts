// Chart templates from the manifests of deploy/: the same text, with values in place of what people set.

/** A text of a manifest, and its replacement in the chart. */
type Edit = readonly [text: string, replacement: string];

/** Reads a manifest of deploy/. */
export type Manifests = (path: string) => string;

/** Lines that the chart has if the value is set. @param name of the field that has the value; absent: its items */
function set(spaces: number, value: string, name?: string): string {
  const indent = " ".repeat(spaces);
  const depth = name === undefined ? spaces : spaces + 2;
  const head = name === undefined ? "" : `${indent}${name}:\n`;
  const body = `${" ".repeat(depth)}{{- toYaml . | nindent ${depth} }}`;
  return `${indent}{{- with .Values.${value} }}\n${head}${body}\n${indent}{{- end }}\n`;
}

/** The same for a field with a single value. */
function setText(spaces: number, value: string, name = value): string {
  const indent = " ".repeat(spaces);
  return `${indent}{{- with .Values.${value} }}\n${indent}${name}: {{ . }}\n${indent}{{- end }}\n`;
}

function when(spaces: number, condition: string, lines: string): string {
  const indent = " ".repeat(spaces);
  return `${indent}{{- if ${condition} }}\n${lines}${indent}{{- end }}\n`;
}

const RUNNER = 'include "xfn.runner" .';
const CONTAINERS = 'include "xfn.containers" .';
const FUNCTIONS = 'ne .Values.profile "templates"';
const OPERATIONS = `and .Values.operations (${FUNCTIONS})`;

const LABELS = `  labels:
    {{- include "xfn.labels" . | nindent 4 }}
`;
const ANNOTATIONS = set(2, "annotations", "annotations");

// While Helm deletes the roles that a role aggregates, a controller of Kubernetes may create that role anew, without
// its selector and Helm's annotations. Then Helm could not install the chart again.
const KEPT = `  annotations:
    helm.sh/resource-policy: keep
${set(4, "annotations")}`;

/** Replaces each text, which must be there once, so that a changed manifest cannot lose a value. */
function edited(manifest: string, edits: readonly Edit[]): string {
  let result = manifest;
  for (const [text, replacement] of edits) {
    const parts = result.split(text);
    if (parts.length !== 2) throw new Error(`a manifest has this ${parts.length - 1} times instead of once:\n${text}`);
    result = parts.join(replacement);
  }
  return result;
}

/** The text for any namespace and service account, with the chart's labels and annotations. */
function templated(manifest: string): string {
  return manifest
    .replaceAll("namespace: crossplane-system", "namespace: {{ .Release.Namespace }}")
    .replaceAll(/(- kind: ServiceAccount\n +name: )xfn-controller$/gm, "$1{{ .Values.serviceAccount.name }}")
    .replaceAll(
      /^(metadata:\n {2}name: .+\n(?: {2}namespace: .+\n)?)(?: {2}labels:(?: \{.*\}\n|\n((?: {4}.+\n)*)))?/gm,
      (_, head: string, labels = "") => `${head}${ANNOTATIONS}${LABELS}${labels}`,
    )
    .replaceAll(`${ANNOTATIONS}${LABELS}aggregationRule:`, `${KEPT}${LABELS}aggregationRule:`);
}

function serviceAccountEdits(manifest: string): Edit[] {
  const [account = ""] = /^apiVersion: v1\nkind: ServiceAccount\n[^]*?^---\n/m.exec(manifest) ?? [];
  const text = edited(account, [
    ["name: xfn-controller\n", "name: {{ .Values.serviceAccount.name }}\n"],
    ["with .Values.annotations", "with merge dict .Values.serviceAccount.annotations .Values.annotations"],
    ["---\n", `${set(0, "imagePullSecrets", "imagePullSecrets")}---\n`],
  ]);
  return [[account, when(0, ".Values.serviceAccount.create", text)]];
}

const CA_FLAG = when(
  12,
  ".Values.registryCa.configMap",
  "            - --registry-ca=/etc/xfn/registry-ca/{{ .Values.registryCa.key }}\n",
);
const WASM_FLAG = when(12, `not (${CONTAINERS})`, "            - --wasm-only\n");
const CONFINED = "            seccompProfile: { type: RuntimeDefault }\n";
const CA_MOUNT = when(
  12,
  ".Values.registryCa.configMap",
  "            - { name: registry-ca, mountPath: /etc/xfn/registry-ca, readOnly: true }\n",
);

const ROOT_FLAG = when(
  12,
  ".Values.trustedRoot.configMap",
  "            - --trusted-root=/etc/xfn/trusted-root/{{ .Values.trustedRoot.key }}\n",
);
const ROOT_MOUNT = when(
  12,
  ".Values.trustedRoot.configMap",
  "            - { name: trusted-root, mountPath: /etc/xfn/trusted-root, readOnly: true }\n",
);

/** The ends of a container's arguments, and its environment. */
const argumentsAndEnvironment = (prefix: string): string => `${set(12, `${prefix}extraArgs`)}\
          {{- with include "xfn.env" (list . .Values.${prefix}extraEnv) }}
          {{- . | nindent 10 }}
          {{- end }}
`;

const FUNCTION_FLAGS = `            - --enable-composition-functions
${when(12, RUNNER, "            - --runner=unix:/run/xfn/runner.sock\n")}\
            - --service-account={{ .Values.serviceAccount.name }}
`;
const PACKAGE_FLAGS = `            - --enable-packages
${when(12, 'ne .Values.substrate "none"', "            - --enable-function-runtimes\n")}\
${when(12, 'eq .Values.substrate "Deployment"', "            - --function-substrate=Deployment\n")}\
${["upgrades", "downgrades"].map((one) => when(12, `eq .Values.dependencyUpdates "${one}"`, `            - --enable-dependency-version-${one}\n`)).join("")}\
${CA_FLAG}${ROOT_FLAG}`;
const ALL_FLAGS = `            - --enable-rollouts
            - --enable-resource-composition
`;

const USAGE_FLAGS = `            - --enable-usages
            - --admission-webhook=xfn-webhook
`;

const PROTECTION = "and .Values.usages .Values.protectProviders";
const PROTECTION_FLAGS = "            - --enable-provider-deletion-protection\n";

const OPERATION_FLAGS = "            - --enable-operations\n";

const CONTROLLER_ARGUMENTS: Edit = [
  `            - --enable-composition-functions
            - --runner=unix:/run/xfn/runner.sock
            - --service-account=xfn-controller
            - --metrics-address=0.0.0.0:9465
`,
  when(12, FUNCTIONS, FUNCTION_FLAGS) +
    "            - --metrics-address=0.0.0.0:9465\n" +
    when(12, FUNCTIONS, PACKAGE_FLAGS) +
    when(12, 'eq .Values.profile "all"', ALL_FLAGS) +
    when(12, ".Values.usages", USAGE_FLAGS) +
    when(12, PROTECTION, PROTECTION_FLAGS) +
    when(12, OPERATIONS, OPERATION_FLAGS) +
    argumentsAndEnvironment(""),
];

const METRICS_PORT = "            - { name: metrics, containerPort: 9465 }\n";

const SCHEDULING =
  ["topologySpreadConstraints", "nodeSelector", "tolerations", "affinity"].map((name) => set(6, name, name)).join("") +
  ["priorityClassName", "runtimeClassName", "hostNetwork", "dnsPolicy"].map((name) => setText(6, name)).join("");

const POD_METADATA = `${set(6, "podAnnotations", "annotations")}\
      labels:
        app.kubernetes.io/name: xfn-controller
${set(8, "podLabels")}`;

function block(manifest: string, from: string, to: string): string {
  const start = manifest.indexOf(from);
  return manifest.slice(start, manifest.indexOf(to, start));
}

/** The Deployment. The defaults of its resources and its spread are in values.yaml. */
function deploymentOf(manifest: string): string {
  const hostUsers = block(manifest, "      # Kubernetes allows procMount", "      terminationGracePeriodSeconds");
  const spread = block(manifest, "      # A node that fails", "      securityContext:");
  const runner = block(manifest, "      initContainers:\n", "      containers:\n");
  const volumes = block(manifest, "        - name: socket\n", "        - name: tmp\n");
  const unconfined = block(
    runner,
    "            # The runner, an unprivileged user",
    "            allowPrivilegeEscalation:",
  );
  const [runnerResources = "", resources = ""] = manifest.match(/^ {10}resources:\n(?: {12}.*\n)+/gm) ?? [];
  const runnerEdits: Edit[] = [
    [
      "            - --metrics-address=0.0.0.0:9464\n",
      `            - --metrics-address=0.0.0.0:9464\n${WASM_FLAG}${CA_FLAG}${argumentsAndEnvironment("runner.")}`,
    ],
    [unconfined, when(12, CONTAINERS, `${unconfined}            {{- else }}\n${CONFINED}`)],
    [runnerResources, "          resources:\n            {{- toYaml .Values.runner.resources | nindent 12 }}\n"],
  ];
  const registryCa = `        - name: registry-ca
          configMap: { name: {{ .Values.registryCa.configMap }} }
`;
  const trustedRoot = `        - name: trusted-root
          configMap: { name: {{ .Values.trustedRoot.configMap }} }
`;
  const edits: Edit[] = [
    [runner, when(6, RUNNER, edited(runner, runnerEdits) + CA_MOUNT)],
    [hostUsers, when(6, CONTAINERS, hostUsers)],
    [
      volumes,
      when(8, RUNNER, edited(volumes, [["sizeLimit: 10Gi", "sizeLimit: {{ .Values.runner.cacheSize }}"]])) +
        when(8, ".Values.registryCa.configMap", registryCa) +
        when(8, ".Values.trustedRoot.configMap", trustedRoot) +
        set(8, "extraVolumes"),
    ],
    [
      "  replicas: 2\n",
      `  replicas: {{ .Values.replicas }}
  revisionHistoryLimit: {{ .Values.revisionHistoryLimit }}
${set(2, "strategy", "strategy")}`,
    ],
    ["      labels: { app.kubernetes.io/name: xfn-controller }\n", POD_METADATA],
    [
      "      serviceAccountName: xfn-controller\n",
      `      serviceAccountName: {{ .Values.serviceAccount.name }}\n${set(6, "imagePullSecrets", "imagePullSecrets")}`,
    ],
    [spread, SCHEDULING],
    CONTROLLER_ARGUMENTS,
    [METRICS_PORT, METRICS_PORT + when(12, ".Values.usages", "            - { name: webhook, containerPort: 9443 }\n")],
    [resources, "          resources:\n            {{- toYaml .Values.resources | nindent 12 }}\n"],
    [
      `            - { name: socket, mountPath: /run/xfn }
            - { name: tmp, mountPath: /tmp }
`,
      `${when(12, RUNNER, "            - { name: socket, mountPath: /run/xfn }\n")}\
            - { name: tmp, mountPath: /tmp }
${CA_MOUNT}${ROOT_MOUNT}${set(12, "extraVolumeMounts")}`,
    ],
  ];
  const image = '$1image: {{ include "xfn.image" . }}\n$1imagePullPolicy: {{ .Values.image.pullPolicy }}';
  const text = templated(edited(manifest, edits)).replaceAll(/^( +)image: xfn$/gm, image);
  return `{{- include "xfn.check" . }}\n${text}`;
}

const RUNTIMES = "---\n# What runs functions and providers in Deployments";
const INTERVAL = setText(6, "monitor.interval", "interval");

/** The templates that the manifests have, by their names. */
export function templatesOf(manifest: Manifests): Readonly<Record<string, string>> {
  const of = (path: string): string => templated(manifest(path));
  const rbac = of("base/rbac.yaml");
  const packages = of("packages/rbac.yaml");
  const runtimes = packages.slice(packages.indexOf(RUNTIMES));
  return {
    "deployment.yaml": deploymentOf(manifest("base/deployment.yaml")),
    "disruption-budget.yaml": when(
      0,
      ".Values.podDisruptionBudget.create",
      edited(of("base/disruption-budget.yaml"), [
        ["maxUnavailable: 1", "maxUnavailable: {{ .Values.podDisruptionBudget.maxUnavailable }}"],
      ]),
    ),
    "pod-monitor.yaml": when(
      0,
      'eq .Values.monitor.kind "PodMonitor"',
      edited(of("monitoring/pod-monitor.yaml"), [
        [LABELS, LABELS + set(4, "monitor.labels")],
        ["    - port: metrics\n", `    - port: metrics\n${INTERVAL}`],
        ["    - port: runner-metrics\n", `    - port: runner-metrics\n${INTERVAL}`],
      ]),
    ),
    "alerts.yaml": when(
      0,
      ".Values.monitor.alerts",
      // The texts of alerts are templates of Prometheus.
      edited(templated(manifest("monitoring/alerts.yaml").replaceAll("{{", '{{ "{{" }}')), [
        [LABELS, LABELS + set(4, "monitor.labels")],
      ]),
    ),
    "rbac.yaml": edited(rbac, serviceAccountEdits(rbac)),
    "rbac-packages.yaml": when(
      0,
      FUNCTIONS,
      edited(packages, [[runtimes, when(0, 'ne .Values.substrate "none"', runtimes)]]),
    ),
    "rbac-dependency-updates.yaml": when(0, 'ne .Values.dependencyUpdates "none"', of("dependency-updates/rbac.yaml")),
    "rbac-resource-composition.yaml": when(0, 'eq .Values.profile "all"', of("resource-composition/rbac.yaml")),
    "usages.yaml": when(0, ".Values.usages", `${of("usages/rbac.yaml")}---\n${of("usages/service.yaml")}`),
    "rbac-provider-protection.yaml": when(0, PROTECTION, of("provider-protection/rbac.yaml")),
    "rbac-operations.yaml": when(0, OPERATIONS, of("operations/rbac.yaml")),
    "rbac-providers.yaml": when(0, ".Values.grantProviderRights", of("providers/rbac.yaml")),
    "user-roles.yaml": when(0, ".Values.userRoles.create", of("base/user-roles.yaml")),
  };
}
