{{- define "liteio.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "liteio.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 53 | trimSuffix "-" }}
{{- else -}}
{{- $name := include "liteio.name" . -}}
{{- if contains $name .Release.Name -}}
{{ .Release.Name | trunc 53 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name $name | trunc 53 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "liteio.selector" -}}
app.kubernetes.io/name: {{ include "liteio.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "liteio.labels" -}}
{{ include "liteio.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 }}
{{- end }}

{{- define "liteio.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* The Secret of the root user: that of the chart has the name that MinIO's chart gives it. */}}
{{- define "liteio.rootSecret" -}}
{{ if .Values.existingSecret }}{{ tpl .Values.existingSecret . }}{{ else }}{{ include "liteio.fullname" . }}{{ end }}
{{- end }}

{{- define "liteio.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (ternary (include "liteio.fullname" .) "default" .Values.serviceAccount.create) }}
{{- end }}

{{- define "liteio.scheme" -}}
{{ ternary "https" "http" .Values.tls.enabled }}
{{- end }}

{{- define "liteio.certSecret" -}}
{{ tpl (default "" .Values.tls.certSecret) . | default (printf "%s-tls" (include "liteio.fullname" .)) }}
{{- end }}

{{/* The file names in the Secret of the certificate: cert-manager has names of its own. */}}
{{- define "liteio.certFile" -}}
{{ ternary "tls.crt" .Values.tls.publicCrt .Values.tls.certManager.enabled }}
{{- end }}
{{- define "liteio.certKeyFile" -}}
{{ ternary "tls.key" .Values.tls.privateKey .Values.tls.certManager.enabled }}
{{- end }}

{{/* True on OpenShift, which gives users and groups to pods. */}}
{{- define "liteio.isOpenShift" -}}
{{ if .Capabilities.APIVersions.Has "security.openshift.io/v1" }}true{{ end }}
{{- end }}

{{/* The ports, labels and addresses that Services of S3 and of the console share: service, name, component, root. */}}
{{- define "liteio.service" -}}
{{- $root := .root -}}
{{- with .service -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ $.name }}
  labels:
    {{- include "liteio.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ $.component }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  type: {{ .type }}
  {{- with .clusterIP }}
  clusterIP: {{ . }}
  {{- end }}
  {{- with .loadBalancerIP }}
  loadBalancerIP: {{ . }}
  {{- end }}
  {{- with .loadBalancerSourceRanges }}
  loadBalancerSourceRanges: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with .externalIPs }}
  externalIPs: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- if ne .type "ClusterIP" }}
  externalTrafficPolicy: {{ .externalTrafficPolicy }}
  {{- end }}
  selector:
    {{- include "liteio.selector" $root | nindent 4 }}
  ports:
    - name: {{ include "liteio.scheme" $root }}
      port: {{ .port }}
      targetPort: s3
      {{- if and .nodePort (ne .type "ClusterIP") }}
      nodePort: {{ .nodePort }}
      {{- end }}
{{- end }}
{{- end }}

{{/* An Ingress: ingress, name, service, port, root. */}}
{{- define "liteio.ingress" -}}
{{- $root := .root -}}
{{- with .ingress -}}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {{ $.name }}
  labels:
    {{- include "liteio.labels" $root | nindent 4 }}
    {{- with .labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with .ingressClassName }}
  ingressClassName: {{ . }}
  {{- end }}
  {{- with .tls }}
  tls:
    {{- tpl (toYaml .) $root | nindent 4 }}
  {{- end }}
  rules:
    {{- $path := .path }}
    {{- range .hosts }}
    - host: {{ tpl . $root | quote }}
      http:
        paths:
          - path: {{ $path }}
            pathType: Prefix
            backend:
              service:
                name: {{ $.name }}
                port:
                  number: {{ $.port }}
    {{- end }}
{{- end }}
{{- end }}
