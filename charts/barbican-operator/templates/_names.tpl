{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{- define "name" -}}
{{ .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* 52 characters, for suffixes and the hash in names of pods still have room. */}}
{{- define "fullname" -}}
{{- $name := include "name" . -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{ .Values.fullnameOverride | default $full | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- define "selector" -}}
app.kubernetes.io/name: {{ include "name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "labels" -}}
{{ include "selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "certificateSecret" -}}
{{- $certificate := .Values.webhook.certificate -}}
{{- if eq $certificate.source "secret" -}}
{{ $certificate.secretName }}
{{- else -}}
{{ include "fullname" . }}-webhook-cert
{{- end }}
{{- end }}

{{- define "hosts" -}}
- {{ include "fullname" . }}.{{ .Release.Namespace }}.svc
- {{ include "fullname" . }}.{{ .Release.Namespace }}.svc.cluster.local
{{- end }}
