{{- /* SPDX-License-Identifier: LGPL-2.1-or-later */ -}}
{{- define "snapwalk.name" -}}
{{- default .Release.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- define "snapwalk.labels" -}}
app.kubernetes.io/name: snapwalk
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
{{- define "snapwalk.account" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "snapwalk.name" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}
{{- define "snapwalk.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}
