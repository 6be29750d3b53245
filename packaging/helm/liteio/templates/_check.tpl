{{/* Refuses values that cannot be meant, with one line that tells what to do. values.schema.json has checked names and types. */}}
{{- define "liteio.check" -}}
{{- $v := .Values -}}
{{- include "liteio.checkMinio" . -}}
{{- if not (has $v.mode (list "standalone" "cluster")) -}}
{{- fail (printf "mode: %q is unknown: set standalone for one server with a volume, or cluster for several over PostgreSQL" $v.mode) -}}
{{- end -}}
{{- if and (eq $v.mode "standalone") (gt (int $v.replicas) 1) -}}
{{- fail "replicas: one server has the volume: set replicas to 1, or mode to cluster" -}}
{{- end -}}
{{- if and $v.rootUser (lt (len (toString $v.rootUser)) 3) -}}
{{- fail "rootUser: set 3 characters or more" -}}
{{- end -}}
{{- if and $v.rootPassword (lt (len (toString $v.rootPassword)) 8) -}}
{{- fail "rootPassword: set 8 characters or more" -}}
{{- end -}}
{{- if and $v.existingSecret (or $v.rootUser $v.rootPassword) -}}
{{- fail "existingSecret: it has the root user: remove rootUser and rootPassword, or existingSecret" -}}
{{- end -}}
{{- range $v.users -}}
{{- if eq .accessKey "root" -}}
{{- fail "users: the name root is that of the root user: set another accessKey" -}}
{{- end -}}
{{- if and .existingSecret (not .existingSecretKey) -}}
{{- fail (printf "users: existingSecret of %q needs existingSecretKey, the key with the password" .accessKey) -}}
{{- end -}}
{{- if and .existingSecret .secretKey -}}
{{- fail (printf "users: %q has secretKey and existingSecret: remove one of them" .accessKey) -}}
{{- end -}}
{{- if and (not .existingSecret) (lt (len (toString (default "" .secretKey))) 8) -}}
{{- fail (printf "users: %q needs a secretKey of 8 characters or more, or existingSecret" .accessKey) -}}
{{- end -}}
{{- end -}}
{{- range $v.buckets -}}
{{- if .purge -}}
{{- fail (printf "buckets: purge of %q would delete its objects at each start: remove it, and use `liteio client rm --recursive`" .name) -}}
{{- end -}}
{{- end -}}
{{- $own := list "LITEIO_PORT" "LITEIO_ADDRESS" "LITEIO_CREDENTIALS_FILE" "LITEIO_DATA_DIR" "LITEIO_METADATA" "LITEIO_METADATA_PASSWORD_FILE" "LITEIO_BLOBS" "LITEIO_BLOBS_ACCESS_KEY" "LITEIO_BLOBS_SECRET_KEY_FILE" "LITEIO_MASTER_KEY_FILE" "LITEIO_BUCKET" "LITEIO_DOMAIN" "LITEIO_TRUSTED_PROXY" "LITEIO_TLS_CERT" "LITEIO_TLS_KEY" "LITEIO_CA_FILE" -}}
{{- $root := list "LITEIO_ACCESS_KEY" "LITEIO_SECRET_KEY" "MINIO_ROOT_USER" "MINIO_ROOT_PASSWORD" "MINIO_ACCESS_KEY" "MINIO_SECRET_KEY" "LITEIO_ACCESS_KEY_FILE" "LITEIO_SECRET_KEY_FILE" "MINIO_ROOT_USER_FILE" "MINIO_ROOT_PASSWORD_FILE" "MINIO_ACCESS_KEY_FILE" "MINIO_SECRET_KEY_FILE" -}}
{{- $names := keys (default dict $v.environment) -}}
{{- range $v.extraEnv }}{{ $names = append $names .name }}{{ end -}}
{{- range $names -}}
{{- if has . $root -}}
{{- fail (printf "environment: %s is that of the root user: set rootUser and rootPassword, or existingSecret" .) -}}
{{- end -}}
{{- if has . $own -}}
{{- fail (printf "environment: %s has a value of the chart for it: remove it, and look for the value in README.md" .) -}}
{{- end -}}
{{- end -}}
{{- if and $v.bucketRoot (not (hasPrefix (printf "%s/" (trimSuffix "/" $v.mountPath)) $v.bucketRoot)) -}}
{{- fail (printf "bucketRoot: set a directory below mountPath, such as %s/liteio" (trimSuffix "/" $v.mountPath)) -}}
{{- end -}}
{{- if $v.tls.enabled -}}
{{- if $v.tls.certManager.enabled -}}
{{- if not $v.tls.certManager.issuerRef.name -}}
{{- fail "tls.certManager.issuerRef: set the name and kind of an Issuer or ClusterIssuer" -}}
{{- end -}}
{{- else if not $v.tls.certSecret -}}
{{- fail "tls.certSecret: set the Secret with the certificate, or tls.certManager" -}}
{{- end -}}
{{- end -}}
{{- with $v.metrics.serviceMonitor -}}
{{- if and .enabled (not .public) (not .bearerTokenSecret.name) -}}
{{- fail "metrics.serviceMonitor.bearerTokenSecret: set the name of a Secret with a token of `mc admin prometheus generate`, or public: true" -}}
{{- end -}}
{{- end -}}
{{- if and $v.networkPolicy.enabled $v.networkPolicy.egress.enabled (not $v.networkPolicy.egress.ports) -}}
{{- fail "networkPolicy.egress.ports: set the ports that the server may reach, or egress.enabled: false" -}}
{{- end -}}
{{- if eq $v.mode "cluster" }}{{ include "liteio.checkCluster" . }}{{ end -}}
{{- end }}

{{- define "liteio.checkCluster" -}}
{{- $v := .Values -}}
{{- with $v.cluster.database -}}
{{- if and .url .urlKey -}}
{{- fail "cluster.database: url and urlKey both give the URL: remove one of them" -}}
{{- end -}}
{{- if not (or .url .urlKey) -}}
{{- fail "cluster.database.url: set postgres://USER@HOST/DATABASE, or existingSecret and urlKey" -}}
{{- end -}}
{{- if and .urlKey (not .existingSecret) -}}
{{- fail "cluster.database.urlKey: set existingSecret, too, the Secret that has the key" -}}
{{- end -}}
{{- if regexMatch "^[a-z]+://[^/@]*:[^/@]*@" (default "" .url) -}}
{{- fail "cluster.database.url: a password has no place there: put it in a Secret, and set existingSecret and passwordKey" -}}
{{- end -}}
{{- end -}}
{{- with $v.cluster.blobs -}}
{{- if not .location -}}
{{- fail "cluster.blobs.location: set s3://BUCKET/PREFIX, gs://…, az://… or file:///PATH" -}}
{{- end -}}
{{- if and (hasPrefix "file://" .location) (not .existingClaim) -}}
{{- fail "cluster.blobs.existingClaim: set the claim of the volume that all servers share (ReadWriteMany), which is mounted at the path of location" -}}
{{- end -}}
{{- if and .existingClaim (not (hasPrefix "file:///" .location)) -}}
{{- fail "cluster.blobs.existingClaim: it is for location file:///PATH: remove it, or change location" -}}
{{- end -}}
{{- end -}}
{{- if not $v.masterKey.existingSecret -}}
{{- fail "masterKey.existingSecret: all servers need the same master key: `liteio key new master.key`, `kubectl create secret generic NAME --from-file=master.key`, and set NAME" -}}
{{- end -}}
{{- end }}

{{/* Values of MinIO's chart that have no meaning here. */}}
{{- define "liteio.checkMinio" -}}
{{- $v := .Values -}}
{{- if eq $v.mode "distributed" -}}
{{- fail "mode: distributed is that of MinIO: set standalone for one server with a volume, or cluster for several over PostgreSQL" -}}
{{- end -}}
{{- /* All of them at once: a whole file of MinIO's chart has several. */ -}}
{{- $messages := list -}}
{{- $jobs := list -}}
{{- range $name := list "mcImage" "postJob" "makeBucketJob" "makeUserJob" "makePolicyJob" "makeServiceAccountJob" "customCommandJob" -}}
{{- if get $v $name }}{{ $jobs = append $jobs $name }}{{ end -}}
{{- end -}}
{{- with $jobs -}}
{{- $messages = append $messages (printf "%s: remove it, since the server makes buckets, users and policies itself, without a Job" (join ", " .)) -}}
{{- end -}}
{{- $reasons := dict
  "customCommands" "remove it, and run `liteio client` in a Job of your own, which extraObjects can have"
  "svcaccts" "remove it, and add entries to users"
  "minioConsolePort" "remove it, since the console is at the port of S3"
  "certsPath" "remove it, since tls.publicCrt and tls.privateKey name the files"
  "configPathmc" "remove it, since there is no client"
  "ignoreChartChecksums" "remove it, since the server reads its users again without a restart"
-}}
{{- range $name, $reason := $reasons -}}
{{- if get $v $name }}{{ $messages = append $messages (printf "%s: %s" $name $reason) }}{{ end -}}
{{- end -}}
{{- with $messages }}{{ fail (join "; " .) }}{{ end -}}
{{- range $name := list "drivesPerNode" "pools" -}}
{{- if gt (int (default 1 (get $v $name))) 1 }}{{ fail (printf "%s: a server has one volume: remove it" $name) }}{{ end -}}
{{- end -}}
{{- if (default dict $v.oidc).enabled -}}
{{- fail "oidc: remove it, and set environment.LITEIO_OIDC_ISSUER to URL,AUDIENCE for AssumeRoleWithWebIdentity" -}}
{{- end -}}
{{- if (default dict $v.etcd).endpoints -}}
{{- fail "etcd: remove it: users are in the store of the servers" -}}
{{- end -}}
{{- if ne (default "kubernetes" $v.networkPolicy.flavor) "kubernetes" -}}
{{- fail "networkPolicy.flavor: set kubernetes, and add policies of other kinds with extraObjects" -}}
{{- end -}}
{{- with $v.metrics.serviceMonitor -}}
{{- if or .includeNode .relabelConfigsCluster -}}
{{- fail "metrics.serviceMonitor: each server has all metrics: remove includeNode, and move relabelConfigsCluster to relabelConfigs" -}}
{{- end -}}
{{- end -}}
{{- end }}
