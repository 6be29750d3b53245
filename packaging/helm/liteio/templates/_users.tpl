{{/* The policies that the server has by name: MinIO's and AWS's. */}}
{{- define "liteio.managedPolicies" -}}
AdministratorAccess AmazonS3FullAccess AmazonS3ReadOnlyAccess IAMFullAccess IAMReadOnlyAccess ReadOnlyAccess consoleAdmin diagnostics readonly readwrite writeonly
{{- end }}

{{/* The document of one entry of policies, as JSON. */}}
{{- define "liteio.policyDocument" -}}
{{- $name := .name -}}
{{- $statements := list -}}
{{- range .statements -}}
{{- $statement := dict "Effect" (default "Allow" .effect) "Action" .actions -}}
{{- with .resources }}{{ $_ := set $statement "Resource" . }}{{ end -}}
{{- $conditions := dict -}}
{{- range .conditions -}}
{{- range $operator, $value := . -}}
{{- /* MinIO's chart has the inside of a JSON object here. */ -}}
{{- $parsed := $value -}}
{{- if kindIs "string" $value -}}
{{- $parsed = fromJson (printf "{%s}" $value) -}}
{{- if hasKey $parsed "Error" -}}
{{- fail (printf "policies: the condition %s of %q is no JSON: write it as '\"KEY\": \"VALUE\"' or as a map" $operator $name) -}}
{{- end -}}
{{- end -}}
{{- $_ := set $conditions $operator (merge (default dict (get $conditions $operator)) $parsed) -}}
{{- end -}}
{{- end -}}
{{- if $conditions }}{{ $_ := set $statement "Condition" $conditions }}{{ end -}}
{{- $statements = append $statements $statement -}}
{{- end -}}
{{ dict "Version" "2012-10-17" "Statement" $statements | toJson }}
{{- end }}

{{/* The credentials file. Strings of JSON are strings of TOML. */}}
{{- define "liteio.credentials" -}}
[[user]]
name = "root"
account = "000000000000"
id = {{ .Values.rootCanonicalId | default (sha256sum "liteio") | toJson }}
access_key_file = "root/user"
secret_key_file = "root/password"
{{- $managed := splitList " " (include "liteio.managedPolicies" .) }}
{{- $own := dict }}
{{- range .Values.policies }}{{ $_ := set $own .name (include "liteio.policyDocument" .) }}{{ end }}
{{- range $index, $user := .Values.users }}

[[user]]
name = {{ tpl .accessKey $ | toJson }}
parent = "root"
access_key = {{ tpl .accessKey $ | toJson }}
{{- if .existingSecret }}
secret_key_file = "users/{{ $index }}"
{{- else }}
secret_key = {{ .secretKey | toString | toJson }}
{{- end }}
{{- $policies := list }}
{{- range splitList "," (default "none" .policy) }}
{{- $name := trim . }}
{{- if hasKey $own $name }}
{{- $policies = append $policies (get $own $name | toJson) }}
{{- else if has $name $managed }}
{{- $policies = append $policies (printf "arn:aws:iam::aws:policy/%s" $name | toJson) }}
{{- else if ne $name "none" }}
{{- fail (printf "users: there is no policy %q for the user %q: add it to policies, or name one of %s" $name $user.accessKey (join ", " $managed)) }}
{{- end }}
{{- end }}
{{- if $policies }}
policies = [{{ join ", " $policies }}]
{{- end }}
{{- end }}
{{- end }}

{{/* The value of LITEIO_BUCKET. */}}
{{- define "liteio.buckets" -}}
{{- $buckets := list -}}
{{- range .Values.buckets -}}
{{- $bucket := tpl .name $ -}}
{{- if and .policy (ne .policy "none") }}{{ $bucket = printf "%s:%s" $bucket .policy }}{{ end -}}
{{- if .objectlocking }}{{ $bucket = printf "%s:locked" $bucket }}{{ else if .versioning }}{{ $bucket = printf "%s:versioned" $bucket }}{{ end -}}
{{- $buckets = append $buckets $bucket -}}
{{- end -}}
{{ join "," $buckets }}
{{- end }}
