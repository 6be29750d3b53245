"""Values: their table, their schema, and those that are refused."""

import json
import re

import pytest
import yaml

from chart import CHART, refusal

VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
# Values that are written as they are into the pod: their insides are those of Kubernetes.
WHOLE = {"resources", "securityContext", "containerSecurityContext", "startupProbe", "livenessProbe", "readinessProbe"}

# The values of MinIO's community chart, as of the last commit of its repository.
OF_MINIO = """nameOverride fullnameOverride clusterDomain image imagePullSecrets mcImage mode additionalLabels
additionalAnnotations ignoreChartChecksums extraArgs extraVolumes extraVolumeMounts extraContainers minioAPIPort
minioConsolePort deploymentUpdate statefulSetUpdate priorityClassName runtimeClassName rootUser rootPassword existingSecret
certsPath configPathmc mountPath bucketRoot drivesPerNode replicas pools tls trustedCertsSecret persistence service ingress
consoleService consoleIngress nodeSelector tolerations affinity topologySpreadConstraints securityContext
containerSecurityContext podAnnotations podLabels resources policies makePolicyJob users makeUserJob svcaccts
makeServiceAccountJob buckets makeBucketJob customCommands customCommandJob postJob environment extraSecret oidc
networkPolicy podDisruptionBudget serviceAccount metrics etcd""".split()


def leaves(values, path=()):
    for name, value in values.items():
        if isinstance(value, dict) and value and name not in WHOLE:
            yield from leaves(value, (*path, name))
        else:
            yield ".".join((*path, name))


def test_the_table_has_every_value_and_no_other():
    rows = re.findall(r"^\| `([^`]+)` \|", (CHART / "README.md").read_text(), re.MULTILINE)
    # A row ends with .* for all values below a name.
    wildcards = [row.removesuffix("*") for row in rows if row.endswith(".*")]
    names = list(leaves(VALUES))
    missing = [name for name in names if name not in rows and not name.startswith(tuple(wildcards))]
    unknown = [row for row in rows if row not in names
               and not (row.endswith(".*") and any(name.startswith(row.removesuffix("*")) for name in names))]
    assert not missing and not unknown and len(rows) == len(set(rows)), (missing, unknown)


def test_the_schema_has_every_value():
    for name in leaves(VALUES):
        schema = SCHEMA
        for word in name.split("."):
            schema = schema["properties"][word]


def test_names_of_minio_are_values_or_refused():
    assert [name for name in OF_MINIO if name not in SCHEMA["properties"]] == []
    refused = {name for name in SCHEMA["properties"] if name not in VALUES} - {"global", "enabled"}
    text = (CHART / "templates/_check.tpl").read_text()
    assert refused <= set(OF_MINIO) and all(f'"{name}"' in text or f"$v.{name})" in text for name in refused)


CLUSTER = """mode: cluster
masterKey: { existingSecret: master }
cluster:
  database: { url: "postgres://liteio@db/liteio", existingSecret: db }
  blobs: { location: "s3://bodies/one" }
"""


@pytest.mark.parametrize("values, expected", [
    ("mode: distributed", "mode: distributed is that of MinIO: set standalone"),
    ("mode: gateway", 'mode: "gateway" is unknown: set standalone'),
    ("replicas: 4", "replicas: one server has the volume: set replicas to 1"),
    ("rootUser: ab", "rootUser: set 3 characters"),
    ("rootPassword: short", "rootPassword: set 8 characters"),
    ("{existingSecret: a, rootUser: admin}", "existingSecret: it has the root user"),
    ("users: [{accessKey: root, secretKey: long-enough}]", "users: the name root"),
    ("users: [{accessKey: app}]", 'users: "app" needs a secretKey'),
    ("users: [{accessKey: app, secretKey: short}]", 'users: "app" needs a secretKey'),
    ("users: [{accessKey: app, existingSecret: app}]", 'users: existingSecret of "app" needs existingSecretKey'),
    ("users: [{accessKey: app, existingSecret: app, existingSecretKey: a, secretKey: long-enough}]",
     'users: "app" has secretKey and existingSecret'),
    ("users: [{accessKey: app, secretKey: long-enough, policy: mine}]", 'users: there is no policy "mine"'),
    ("policies: [{name: p, statements: [{actions: ['s3:*'], conditions: [{IpAddress: oops}]}]}]",
     'policies: the condition IpAddress of "p" is no JSON'),
    ("buckets: [{name: photos, purge: true}]", 'buckets: purge of "photos"'),
    ("environment: {MINIO_ROOT_USER: admin}", "environment: MINIO_ROOT_USER is that of the root user"),
    ("extraEnv: [{name: LITEIO_SECRET_KEY, value: x}]", "environment: LITEIO_SECRET_KEY is that of the root user"),
    ("extraEnv: [{name: MINIO_ROOT_USER_FILE, value: /x}]",
     "environment: MINIO_ROOT_USER_FILE is that of the root user"),
    ("environment: {LITEIO_DATA_DIR: /x}", "environment: LITEIO_DATA_DIR has a value of the chart"),
    ("bucketRoot: /elsewhere", "bucketRoot: set a directory below mountPath, such as /data/liteio"),
    ("tls: {enabled: true}", "tls.certSecret: set the Secret"),
    ("tls: {enabled: true, certManager: {enabled: true}}", "tls.certManager.issuerRef: set the name"),
    ("metrics: {serviceMonitor: {enabled: true, public: false}}", "metrics.serviceMonitor.bearerTokenSecret: set"),
    ("metrics: {serviceMonitor: {includeNode: true}}", "metrics.serviceMonitor: each server has all metrics"),
    ("networkPolicy: {flavor: cilium}", "networkPolicy.flavor: set kubernetes"),
    ("networkPolicy: {enabled: true, egress: {enabled: true}}", "networkPolicy.egress.ports: set the ports"),
    ("mcImage: {repository: mc}", "mcImage: remove it"),
    ("postJob: {annotations: {a: b}}", "postJob: remove it"),
    ("{mcImage: {a: b}, makeUserJob: {a: b}, certsPath: /c, minioConsolePort: '9001'}",
     "mcImage, makeUserJob: remove it, since the server makes buckets, users and policies itself, without a Job; "
     "certsPath: remove it, since tls.publicCrt and tls.privateKey name the files; minioConsolePort: remove it"),
    ("svcaccts: [{accessKey: a}]", "svcaccts: remove it, and add entries to users"),
    ("customCommands: [{command: ls}]", "customCommands: remove it, and run `liteio client`"),
    ("drivesPerNode: 4", "drivesPerNode: a server has one volume"),
    ("pools: 2", "pools: a server has one volume"),
    ("oidc: {enabled: true}", "oidc: remove it, and set environment.LITEIO_OIDC_ISSUER"),
    ("etcd: {endpoints: [a]}", "etcd: remove it"),
    ("mode: cluster", "cluster.database.url: set postgres://"),
    (CLUSTER.replace("masterKey", "#"), "masterKey.existingSecret: all servers need the same master key"),
    (CLUSTER.replace("url:", "urlKey: uri, url:"), "cluster.database: url and urlKey both give the URL"),
    (CLUSTER.replace("liteio@db", "liteio:secret@db"), "cluster.database.url: a password has no place there"),
    (CLUSTER.replace('url: "postgres://liteio@db/liteio", existingSecret: db', "urlKey: uri"),
     "cluster.database.urlKey: set existingSecret"),
    (CLUSTER.replace('"s3://bodies/one"', '""'), "cluster.blobs.location: set s3://BUCKET/PREFIX"),
    (CLUSTER.replace("s3://bodies/one", "file:///bodies"), "cluster.blobs.existingClaim: set the claim"),
    (CLUSTER.replace('"s3://bodies/one"', '"s3://bodies/one", existingClaim: a'), "cluster.blobs.existingClaim: it is for"),
    # Of the schema.
    ("foo: 1", "additional properties 'foo' not allowed"),
    ("service: {prot: 9000}", "additional properties 'prot' not allowed"),
    ("replicas: many", "'/replicas': got string, want integer"),
    ("buckets: [{name: photos, policy: open}]", "'/buckets/0/policy': value must be one of"),
    ("buckets: [photos]", "'/buckets/0': got string, want object"),
    ("service: {type: External}", "'/service/type': value must be one of"),
])
def test_values_that_are_refused(values, expected, tmp_path):
    told = refusal(values, tmp_path)
    assert expected in told, told
    if not told.startswith("Error: values don't meet"):
        assert "\n" not in told and "nil pointer" not in told, told


def test_the_values_of_the_refusals_are_good_otherwise(tmp_path):
    assert refusal(CLUSTER, tmp_path) == ""
    assert refusal(CLUSTER.replace('url: "postgres://liteio@db/liteio"', "url: null, urlKey: uri"), tmp_path) == ""
    # Files for MinIO's chart have a null where they mean nothing.
    nothing = "service: {clusterIP: null, loadBalancerIP: null}\ningress: {ingressClassName: null}\nextraSecret: null\n"
    nothing += "tls: {certSecret: null}\nnetworkPolicy: {flavor: null}\n"
    nothing += "".join(f"{name}: null\n" for name in ("environment", "extraArgs", "users", "buckets", "customCommands"))
    assert refusal(nothing, tmp_path) == ""
    assert refusal("oidc: {enabled: false}\netcd: {endpoints: []}\nsvcaccts: []\npostJob: {}", tmp_path) == ""
