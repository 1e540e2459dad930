{{- define "longwire.name" -}}
{{- if contains "longwire" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-longwire" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "longwire.selector" -}}
app.kubernetes.io/name: longwire
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "longwire.labels" -}}
{{ include "longwire.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "longwire.secret" -}}
{{ .Values.existingSecret | default (include "longwire.name" .) }}
{{- end }}

{{- define "longwire.image" -}}
{{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) }}
{{- end }}

{{- define "longwire.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "longwire.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- /* Secrets are files, so that they are in no process list and no description of a pod. */}}
{{- define "longwire.secretFiles" -}}
- name: LONGWIRE_DATABASE_FILE
  value: /run/secrets/longwire/database
- name: LONGWIRE_SECRET_KEY_FILE
  value: /run/secrets/longwire/secret_key
{{- end }}

{{- define "longwire.mounts" -}}
- name: secrets
  mountPath: /run/secrets/longwire
  readOnly: true
- name: data
  mountPath: /var/lib/longwire
- name: tmp
  mountPath: /tmp
{{- end }}

{{- /* Everything that lasts is in PostgreSQL. */}}
{{- define "longwire.volumes" -}}
- name: data
  emptyDir: {}
- name: tmp
  emptyDir: {}
{{- end }}
