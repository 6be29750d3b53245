{{/* Environment of the server, and of the commands before it. */}}
{{- define "liteio.env" -}}
{{- $cluster := .Values.cluster -}}
- name: LITEIO_PORT
  value: {{ .Values.minioAPIPort | quote }}
- name: LITEIO_CREDENTIALS_FILE
  value: /config/credentials.toml
{{- if eq .Values.mode "standalone" }}
- name: LITEIO_DATA_DIR
  value: {{ .Values.bucketRoot | default .Values.mountPath }}
{{- else }}
- name: LITEIO_SERVER_NAME
  valueFrom:
    fieldRef: { fieldPath: metadata.name }
- name: LITEIO_CLUSTER_NAME
  value: {{ $cluster.name }}
- name: LITEIO_METADATA
  {{- if $cluster.database.urlKey }}
  valueFrom:
    secretKeyRef: { name: {{ tpl $cluster.database.existingSecret . }}, key: {{ $cluster.database.urlKey }} }
  {{- else }}
  value: {{ tpl $cluster.database.url . | quote }}
  {{- if $cluster.database.existingSecret }}
- name: LITEIO_METADATA_PASSWORD_FILE
  value: /config/database/password
  {{- end }}
  {{- end }}
- name: LITEIO_BLOBS
  value: {{ tpl $cluster.blobs.location . | quote }}
{{- if $cluster.blobs.existingSecret }}
- name: LITEIO_BLOBS_ACCESS_KEY
  valueFrom:
    secretKeyRef: { name: {{ tpl $cluster.blobs.existingSecret . }}, key: {{ $cluster.blobs.accessKeyKey }} }
- name: LITEIO_BLOBS_SECRET_KEY_FILE
  value: /config/blobs/secret-key
{{- end }}
{{- if gt (int $cluster.cache.blobs) 0 }}
- name: LITEIO_BLOB_CACHE
  value: /cache/blobs
- name: LITEIO_BLOB_CACHE_SIZE
  value: {{ $cluster.cache.blobs | int | quote }}
{{- end }}
{{- if gt (int $cluster.cache.vectors) 0 }}
- name: LITEIO_VECTOR_CACHE
  value: /cache/vectors
- name: LITEIO_VECTOR_CACHE_SIZE
  value: {{ $cluster.cache.vectors | int | quote }}
{{- end }}
{{- end }}
{{- if .Values.masterKey.existingSecret }}
- name: LITEIO_MASTER_KEY_FILE
  value: /config/master.key
{{- end }}
{{- with include "liteio.buckets" . }}
- name: LITEIO_BUCKET
  value: {{ . | quote }}
{{- end }}
{{- with .Values.domains }}
- name: LITEIO_DOMAIN
  value: {{ tpl (join "," .) $ | quote }}
{{- end }}
{{- with .Values.trustedProxies }}
- name: LITEIO_TRUSTED_PROXY
  value: {{ join "," . | quote }}
{{- end }}
{{- if not .Values.console.enabled }}
- name: LITEIO_CONSOLE
  value: "off"
{{- end }}
{{- if .Values.tls.enabled }}
- name: LITEIO_TLS_CERT
  value: /tls/{{ include "liteio.certFile" . }}
- name: LITEIO_TLS_KEY
  value: /tls/{{ include "liteio.certKeyFile" . }}
{{- end }}
{{- if .Values.trustedCertsSecret }}
- name: LITEIO_CA_FILE
  value: /authorities/{{ .Values.trustedCertsKey }}
{{- end }}
{{- with .Values.metrics.serviceMonitor }}
{{- if and .enabled .public }}
- name: LITEIO_METRICS_AUTH
  value: public
{{- end }}
{{- end }}
{{- if .Values.extraSecret }}
- name: MINIO_CONFIG_ENV_FILE
  value: /extra/config.env
{{- end }}
{{- range $name, $value := .Values.environment }}
- name: {{ $name }}
  value: {{ tpl (toString $value) $ | quote }}
{{- end }}
{{- with .Values.extraEnv }}
{{ tpl (toYaml .) $ }}
{{- end }}
{{- end }}

{{- define "liteio.mounts" -}}
- name: config
  mountPath: /config
  readOnly: true
{{- if eq .Values.mode "standalone" }}
- name: data
  mountPath: {{ .Values.mountPath }}
  {{- with .Values.persistence.subPath }}
  subPath: {{ . }}
  {{- end }}
{{- else }}
- name: cache
  mountPath: /cache
{{- if .Values.cluster.blobs.existingClaim }}
- name: blobs
  mountPath: {{ trimPrefix "file://" .Values.cluster.blobs.location }}
{{- end }}
{{- end }}
{{- if .Values.tls.enabled }}
- name: tls
  mountPath: /tls
  readOnly: true
{{- end }}
{{- if .Values.trustedCertsSecret }}
- name: authorities
  mountPath: /authorities
  readOnly: true
{{- end }}
{{- if .Values.extraSecret }}
- name: extra
  mountPath: /extra
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ tpl (toYaml .) $ }}
{{- end }}
{{- end }}

{{- define "liteio.volumes" -}}
- name: config
  projected:
    sources:
      - secret:
          name: {{ include "liteio.fullname" . }}-users
      - secret:
          name: {{ include "liteio.rootSecret" . }}
          items:
            - { key: rootUser, path: root/user }
            - { key: rootPassword, path: root/password }
      {{- range $index, $user := .Values.users }}
      {{- if .existingSecret }}
      - secret:
          name: {{ tpl .existingSecret $ }}
          items:
            - { key: {{ tpl .existingSecretKey $ }}, path: users/{{ $index }} }
      {{- end }}
      {{- end }}
      {{- with .Values.masterKey }}
      {{- if .existingSecret }}
      - secret:
          name: {{ tpl .existingSecret $ }}
          items:
            - { key: {{ .key }}, path: master.key }
      {{- end }}
      {{- end }}
      {{- if eq .Values.mode "cluster" }}
      {{- with .Values.cluster.database }}
      {{- if and .existingSecret (not .urlKey) }}
      - secret:
          name: {{ tpl .existingSecret $ }}
          items:
            - { key: {{ .passwordKey }}, path: database/password }
      {{- end }}
      {{- end }}
      {{- with .Values.cluster.blobs }}
      {{- if .existingSecret }}
      - secret:
          name: {{ tpl .existingSecret $ }}
          items:
            - { key: {{ .secretKeyKey }}, path: blobs/secret-key }
      {{- end }}
      {{- end }}
      {{- end }}
{{- if eq .Values.mode "standalone" }}
{{- with .Values.persistence }}
{{- if not .enabled }}
- name: data
  emptyDir: {}
{{- else if .existingClaim }}
- name: data
  persistentVolumeClaim:
    claimName: {{ tpl .existingClaim $ }}
{{- end }}
{{- end }}
{{- else }}
- name: cache
  {{- with .Values.cluster.cache }}
  {{- if .volume }}
  {{- toYaml .volume | nindent 2 }}
  {{- else }}
  emptyDir:
    # The two sizes, and room for files that replace others.
    sizeLimit: {{ add (mul 2 (int .blobs)) (mul 2 (int .vectors)) 256 }}Mi
  {{- end }}
  {{- end }}
{{- with .Values.cluster.blobs.existingClaim }}
- name: blobs
  persistentVolumeClaim:
    claimName: {{ tpl . $ }}
{{- end }}
{{- end }}
{{- if .Values.tls.enabled }}
- name: tls
  secret:
    secretName: {{ include "liteio.certSecret" . }}
    # The key is for the server only; its group is fsGroup.
    defaultMode: 0440
{{- end }}
{{- with .Values.trustedCertsSecret }}
- name: authorities
  secret:
    secretName: {{ tpl . $ }}
{{- end }}
{{- with .Values.extraSecret }}
- name: extra
  secret:
    secretName: {{ tpl . $ }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ tpl (toYaml .) $ }}
{{- end }}
{{- end }}

{{/* One command before the server: arguments, name, root. */}}
{{- define "liteio.command" -}}
- name: {{ .name }}
  {{- include "liteio.program" .root | nindent 2 }}
  args: {{ toJson .arguments }}
  env:
    {{- include "liteio.env" .root | nindent 4 }}
  volumeMounts:
    {{- include "liteio.mounts" .root | nindent 4 }}
{{- end }}

{{- define "liteio.program" -}}
image: {{ include "liteio.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
# Flavours of the image have other entry points.
command: [/liteio]
{{- with .Values.containerSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* A probe: path, settings, root. */}}
{{- define "liteio.probe" -}}
httpGet:
  path: {{ .path }}
  port: s3
  scheme: {{ include "liteio.scheme" .root | upper }}
{{ toYaml .settings }}
{{- end }}

{{/* The template of the pods. */}}
{{- define "liteio.pod" -}}
metadata:
  labels:
    {{- include "liteio.selector" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "liteio.serviceAccount" . }}
  automountServiceAccountToken: false
  # Variables of Services are no settings.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .Values.securityContext.enabled }}
  securityContext:
    {{- $context := omit .Values.securityContext "enabled" }}
    {{- if include "liteio.isOpenShift" . }}
    {{- $context = omit $context "runAsUser" "runAsGroup" "fsGroup" }}
    {{- end }}
    {{- toYaml $context | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.runtimeClassName }}
  runtimeClassName: {{ . }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- toYaml .Values.topologySpreadConstraints | nindent 4 }}
  {{- else if eq .Values.mode "cluster" }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "liteio.selector" . | nindent 10 }}
  {{- end }}
  {{- if eq .Values.mode "cluster" }}
  # Both succeed if there is nothing to do, and fail, to be run again, until the database answers.
  initContainers:
    {{- include "liteio.command" (dict "root" . "name" "create" "arguments" (list "cluster" "create" "--if-missing")) | nindent 4 }}
    {{- include "liteio.command" (dict "root" . "name" "migrate" "arguments" (list "cluster" "migrate")) | nindent 4 }}
  {{- end }}
  containers:
    - name: liteio
      {{- include "liteio.program" . | nindent 6 }}
      args: {{ toJson (concat (list "server") (default list .Values.extraArgs)) }}
      ports:
        - name: s3
          containerPort: {{ .Values.minioAPIPort }}
      env:
        {{- include "liteio.env" . | nindent 8 }}
      volumeMounts:
        {{- include "liteio.mounts" . | nindent 8 }}
      startupProbe:
        {{- include "liteio.probe" (dict "root" . "path" "/_liteio/health/live" "settings" .Values.startupProbe) | nindent 8 }}
      livenessProbe:
        {{- include "liteio.probe" (dict "root" . "path" "/_liteio/health/live" "settings" .Values.livenessProbe) | nindent 8 }}
      readinessProbe:
        {{- include "liteio.probe" (dict "root" . "path" "/_liteio/health/ready" "settings" .Values.readinessProbe) | nindent 8 }}
    {{- with .Values.extraContainers }}
    {{- tpl (toYaml .) $ | nindent 4 }}
    {{- end }}
  volumes:
    {{- include "liteio.volumes" . | nindent 4 }}
{{- end }}
