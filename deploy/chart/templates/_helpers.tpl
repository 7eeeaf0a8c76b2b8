{{- define "xfn.labels" -}}
app.kubernetes.io/name: xfn-controller
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "xfn.image" -}}
{{- with .Values.image -}}
{{- with .registry }}{{ . }}/{{ end }}{{ .repository }}
{{- if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- /* Whether the runner starts containers, for which it needs user namespaces. */}}
{{- define "xfn.containers" -}}
{{- if and (eq .Values.substrate "Runner") (ne .Values.profile "templates") }}true{{ end }}
{{- end }}

{{- /* Whether pods have a runner. */}}
{{- define "xfn.runner" -}}
{{- if or (include "xfn.containers" .) (and .Values.wasm (ne .Values.profile "templates")) }}true{{ end }}
{{- end }}

{{- /* The environment of a container: the proxy, and the given list. */}}
{{- define "xfn.env" -}}
{{- $values := (index . 0).Values }}
{{- $extra := index . 1 }}
{{- if or $values.proxy.https $extra -}}
env:
  {{- with $values.proxy.https }}
  - name: HTTPS_PROXY
    value: {{ . | quote }}
  # Kubernetes replaces the first host with the address of the API server.
  - name: NO_PROXY
    value: {{ concat (list "$(KUBERNETES_SERVICE_HOST)" ".svc" ".cluster.local") $values.proxy.noProxy | join "," | quote }}
  {{- end }}
  {{- with $extra }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end }}

{{- /* The name of a package: its repository with dashes, as Crossplane names the dependencies of packages. */}}
{{- define "xfn.packageName" -}}
{{- regexReplaceAll "^[^/]+/([^@:]+).*$" . "${1}" | trunc 63 | replace "/" "-" | replace "." "-" | replace "_" "" | trimAll "-" }}
{{- end }}

{{- /* Reports values that contradict each other or the cluster. */}}
{{- define "xfn.check" -}}
{{- if and (include "xfn.containers" .) (semverCompare "<1.33.0-0" .Capabilities.KubeVersion.Version) }}
{{- fail "substrate: Runner needs user namespaces of pods, which Kubernetes has since 1.33: use Deployment" }}
{{- end }}
{{- if and (eq .Values.profile "templates") (or .Values.packages.configurations .Values.packages.functions .Values.packages.providers) }}
{{- fail "packages: the profile templates installs none: use the profile crossplane" }}
{{- end }}
{{- end }}
