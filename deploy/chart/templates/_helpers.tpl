{{- define "deskhand.name" -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "deskhand.labels" -}}
{{ include "deskhand.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "deskhand.selector" -}}
app.kubernetes.io/name: deskhand
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "deskhand.secret" -}}
{{- .Values.secrets.existing | default (include "deskhand.name" .) -}}
{{- end -}}

{{- define "deskhand.hasStore" -}}
{{- if or .Values.postgres.url .Values.postgres.existingSecret -}}yes{{- end -}}
{{- end -}}
