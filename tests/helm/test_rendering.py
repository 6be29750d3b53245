"""Renderings of the chart: golden files, schemas, names."""

import json
import pathlib
import os
import re
import shutil
import subprocess
import tomllib

import kubernetes_validate
import pytest
import yaml

from chart import CHART, NAMESPACE, RELEASE, RENDERINGS, ROOT, helm, one, pod, rendered, template, workload

GOLDEN = pathlib.Path(__file__).parent / "golden"
# Labels of every object, which golden files leave out.
COMMON = {"app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart",
          "app.kubernetes.io/name", "app.kubernetes.io/instance"}
# Kinds of others, for which there is no schema of Kubernetes.
FOREIGN = {"ServiceMonitor": "monitoring.coreos.com/v1", "Certificate": "cert-manager.io/v1",
           "Cluster": "postgresql.cnpg.io/v1"}
# The oldest version of Chart.yaml, and the newest one.
KUBERNETES = ("1.25", "1.37")


def check_schema(document):
    foreign = FOREIGN.get(document["kind"])
    if foreign == document["apiVersion"]:
        return
    for version in KUBERNETES:
        kubernetes_validate.validate(document, version, strict=True)


@pytest.mark.parametrize("name", RENDERINGS)
def test_lint(name):
    helm("lint", "--strict", CHART, *(word for file in RENDERINGS[name] for word in ("--values", file)))


@pytest.mark.parametrize("name", RENDERINGS)
def test_golden(name, pytestconfig):
    objects = rendered(name)
    for each in objects:
        labels = each["metadata"].get("labels", {})
        if each["kind"] not in ("Cluster", "ConfigMap"):
            assert COMMON <= set(labels), each["metadata"]["name"]
        each["metadata"]["labels"] = {key: value for key, value in labels.items() if key not in COMMON}
        if not each["metadata"]["labels"]:
            del each["metadata"]["labels"]
    spec = pod(objects)
    for command in spec.get("initContainers", []):
        # They have all that the server has but its probes, ports and arguments.
        server = spec["containers"][0]
        for field in ("env", "volumeMounts", "image", "command", "securityContext"):
            assert command.pop(field) == server[field]
    text = yaml.safe_dump_all(objects, sort_keys=False, width=120)
    file = GOLDEN / f"{name}.yaml"
    if pytestconfig.getoption("--update"):
        file.write_text(text)
    assert file.read_text() == text, "look at the difference; `tests/helm/run --update` writes the file"


@pytest.mark.parametrize("name", RENDERINGS)
def test_schemas_of_kubernetes(name):
    for each in rendered(name):
        check_schema(each)


def test_the_schemas_refuse_what_there_is_not():
    objects = rendered("default")
    one(objects, "StatefulSet")["spec"]["replica"] = 1
    with pytest.raises(kubernetes_validate.ValidationError):
        for each in objects:
            check_schema(each)


@pytest.mark.parametrize("name", RENDERINGS)
def test_objects_fit_together(name):
    objects = rendered(name)
    running = workload(objects)
    labels = running["spec"]["template"]["metadata"]["labels"]
    spec = pod(objects)
    port_names = {port["name"] for port in spec["containers"][0]["ports"]}
    services = {each["metadata"]["name"]: each for each in objects if each["kind"] == "Service"}
    for service in services.values():
        assert service["spec"]["selector"].items() <= labels.items()
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= port_names
    for each in objects:
        selector = each["spec"].get("selector", each["spec"].get("podSelector", {})) if "spec" in each else {}
        wanted = selector.get("matchLabels", {}) if isinstance(selector, dict) else {}
        if each["kind"] == "ServiceMonitor":
            found = [service for service in services.values()
                     if wanted.items() <= service["metadata"]["labels"].items()]
            assert len(found) == 1, "each server is asked once"
            names = {port["name"] for port in found[0]["spec"]["ports"]}
            assert {endpoint["port"] for endpoint in each["spec"]["endpoints"]} <= names
            assert each["spec"]["namespaceSelector"]["matchNames"] == [NAMESPACE]
        elif wanted:
            assert wanted.items() <= labels.items(), each["kind"]
        if each["kind"] == "Ingress":
            for rule in each["spec"]["rules"]:
                for path in rule["http"]["paths"]:
                    backend = path["backend"]["service"]
                    ports = {port["port"] for port in services[backend["name"]]["spec"]["ports"]}
                    assert backend["port"]["number"] in ports
    if running["kind"] == "StatefulSet":
        assert running["spec"]["serviceName"] in services
    volumes = {volume["name"] for volume in spec["volumes"]}
    volumes |= {each["metadata"]["name"] for each in running["spec"].get("volumeClaimTemplates", [])}
    for container in (*spec.get("initContainers", []), *spec["containers"]):
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        assert set(mounts) == volumes
        for each in container["env"]:
            path = each.get("value", "").removeprefix("file://")
            if path.startswith("/"):
                assert any(path == mount or path.startswith(f"{mount}/") for mount in mounts.values()), each
    assert spec["enableServiceLinks"] is False and spec["automountServiceAccountToken"] is False


def test_settings_are_those_of_the_program():
    server = os.environ["LITEIO"]
    known = set(re.findall(r"\bLITEIO_[A-Z_]+", subprocess.run(
        [server, "server", "--help"], check=True, text=True, capture_output=True).stdout))
    known |= set(re.findall(r"\b(?:LITEIO|MINIO)_[A-Z_]+", subprocess.run(
        [server, "environment"], check=True, text=True, capture_output=True).stdout))
    texts = [file.read_text() for file in (*CHART.glob("templates/*"), *CHART.glob("*.yaml"), CHART / "README.md")]
    used = set(re.findall(r"\b(?:LITEIO|MINIO)_[A-Z_]*[A-Z]\b", "\n".join(texts)))
    assert len(used) > 30 and used <= known, used - known
    for words in (("cluster", "create", "--if-missing"), ("cluster", "migrate")):
        told = subprocess.run([server, *words[:2], "--help"], check=True, text=True, capture_output=True).stdout
        assert all(word in told for word in words[2:])


def test_policies_that_a_name_gives_are_those_of_the_program():
    source = (ROOT / "crates/identity/src/managed.rs").read_text()
    names = re.findall(r'^ +name: "(\w+)",$', source, re.MULTILINE)
    text = (CHART / "templates/_users.tpl").read_text()
    chart = re.search(r'define "liteio.managedPolicies" -}}\n(.+)\n', text)[1].split()
    assert sorted(names) == sorted(chart)


def test_conditions_of_policies():
    objects = rendered("minio")
    text = one(objects, "Secret", "-users")["stringData"]["credentials.toml"]
    users = {user["name"]: user for user in tomllib.loads(text)["user"]}
    document = json.loads(users["photographer"]["policies"][0])
    assert document["Statement"][0]["Condition"] == {
        "IpAddress": {"aws:SourceIp": ["127.0.0.0/8", "10.0.0.0/8"]}, "StringNotEquals": {"aws:username": "nobody"}}
    assert document["Statement"][1] == {"Effect": "Allow", "Action": ["s3:ListBucket"],
                                        "Resource": ["arn:aws:s3:::photos"]}
    assert users["photographer"]["secret_key"] == 'quotes " and \\ in it'
    assert users["auditor"]["policies"] == ["arn:aws:iam::aws:policy/readonly", "arn:aws:iam::aws:policy/diagnostics"]


def test_openshift_gives_the_user():
    def context(*more):
        return pod(rendered("default", more=more))["securityContext"]
    ids = {"runAsUser", "runAsGroup", "fsGroup"}
    assert ids <= set(context())
    there = context("--api-versions", "security.openshift.io/v1")
    assert not ids & set(there) and there["runAsNonRoot"] is True
    assert "securityContext" not in pod(rendered("default", "securityContext.enabled=false"))


def test_a_volume_of_its_own_or_none():
    assert "volumeClaimTemplates" not in one(rendered("default", "persistence.enabled=false"), "StatefulSet")["spec"]
    claim = one(rendered("default", "persistence.storageClass=-"), "StatefulSet")["spec"]["volumeClaimTemplates"][0]
    assert claim["spec"]["storageClassName"] == ""


def test_credentials_that_are_not_given_are_random():
    def secret():
        return one(template(), "Secret", "liteio")["data"]
    first, second = secret(), secret()
    assert set(first) == {"rootUser", "rootPassword"}
    assert all(first[key] != second[key] and len(first[key]) > 20 for key in first)


def test_as_a_subchart_in_the_place_of_minio(tmp_path):
    (tmp_path / "Chart.yaml").write_text(
        "apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies:\n"
        f"  - {{ name: liteio, alias: minio, version: 0.1.0, repository: 'file://{CHART}', condition: minio.enabled }}\n")
    (tmp_path / "values.yaml").write_text(
        "global: { region: one }\nminio:\n  enabled: true\n  mode: standalone\n  rootUser: admin\n"
        "  rootPassword: a-root-password\n  buckets: [{ name: '{{ .Release.Name }}-uploads', policy: none }]\n")
    helm("dependency", "build", tmp_path)
    objects = template(chart=tmp_path)
    # The names that charts with MinIO as a subchart have in their own templates.
    assert one(objects, "Secret", f"{RELEASE}-minio")["data"].keys() == {"rootUser", "rootPassword"}
    service = one(objects, "Service", f"{RELEASE}-minio")
    assert service["spec"]["ports"][0]["port"] == 9000
    environment = {each["name"]: each["value"] for each in pod(objects)["containers"][0]["env"]}
    assert environment["LITEIO_BUCKET"] == f"{RELEASE}-uploads"
    assert not template(chart=tmp_path, settings=["minio.enabled=false"])


def test_notes(tmp_path):
    # `helm template` leaves them out, and `helm install` needs a cluster: they are rendered as a field of an object.
    chart = tmp_path / "liteio"
    shutil.copytree(CHART, chart)
    (chart / "templates/NOTES.txt").rename(chart / "notes")
    (chart / "templates/notes.yaml").write_text(
        'kind: Notes\napiVersion: v1\nmetadata: { name: notes }\ntext: {{ tpl (.Files.Get "notes") . | toJson }}\n')
    for name, files in RENDERINGS.items():
        objects = template(files, chart=chart)
        notes = one(objects, "Notes")["text"]
        service = next(each for each in objects if each["kind"] == "Service")["metadata"]["name"]
        scheme = "https" if name == "everything" else "http"
        assert f"{scheme}://{service}.{NAMESPACE}.svc.cluster.local:9000" in notes
        secret = {"minio": "minio-root", "shared": "root"}.get(name, service)
        assert f"get secret {secret} " in notes
        assert ("There is no master key" in notes) == (name in ("default", "minio"))
        assert ("a drain of nodes" in notes) == (name == "shared")
