"""The manifests and compose files of deploy/."""

import os
import subprocess

import pytest
import yaml

from chart import ROOT
from pods import LONG, Pod, Server
from test_processes import reachable, volume  # noqa: F401 - the fixture is used by its name
from test_rendering import check_schema

DEPLOY = ROOT / "deploy"


def documents(name):
    return [*yaml.safe_load_all((DEPLOY / "kubernetes" / name).read_text())]


@pytest.mark.parametrize("name", sorted(file.name for file in (DEPLOY / "kubernetes").glob("*.yaml")))
def test_schemas_of_kubernetes(name):
    for each in documents(name):
        check_schema(each)


@pytest.mark.parametrize("name, kind", [("single.yaml", "StatefulSet"), ("liteio.yaml", "Deployment")])
def test_services_are_no_settings(name, kind):
    workload, = (each for each in documents(name) if each["kind"] == kind)
    assert workload["spec"]["template"]["spec"]["enableServiceLinks"] is False


def test_the_single_server_of_the_manifests(tmp_path):
    objects = documents("single.yaml")
    workload, = (each for each in objects if each["kind"] == "StatefulSet")
    labels = workload["spec"]["template"]["metadata"]["labels"]
    services = {each["metadata"]["name"]: each["spec"] for each in objects if each["kind"] == "Service"}
    assert workload["spec"]["serviceName"] in services
    assert all(service["selector"] == labels for service in services.values())
    subprocess.run([os.environ["LITEIO"], "key", "new", str(tmp_path / "master.key")], check=True)
    secrets = {"liteio-root": {"access-key": "admin", "secret-key": "a-secret-key"},
               "liteio-master-key": {"master.key": (tmp_path / "master.key").read_text()}}
    readme = (DEPLOY / "kubernetes/README.md").read_text()
    assert all(f"secret generic {name} " in readme for name in secrets)
    spec = workload["spec"]["template"]["spec"]
    with Server(Pod(objects, spec, tmp_path / "pod", secrets, {"data": volume(tmp_path)})) as server:
        assert [server.probe(name) for name in ("startupProbe", "livenessProbe", "readinessProbe")] == [200] * 3
        assert server.client("admin", "a-secret-key", "mb", "s3/photos")[0] == 0


def test_the_single_server_of_the_compose_file(tmp_path):
    compose = yaml.safe_load((DEPLOY / "compose/single.yaml").read_text())
    service, = compose["services"].values()
    assert set(service["secrets"]) == set(compose["secrets"])
    assert [each.split(":")[0] for each in service["volumes"]] == list(compose["volumes"])
    subprocess.run([os.environ["LITEIO"], "key", "new", str(tmp_path / "master.key")], check=True)
    given = {"LITEIO_ACCESS_KEY": "admin", "LITEIO_SECRET_KEY": "a-secret-key", "LITEIO_BUCKET": "photos"}
    places = {"/run/secrets/master-key": str(tmp_path / "master.key")}
    environment = {"LITEIO_IN_CONTAINER": "true", "LITEIO_ADDRESS": "127.0.0.1:0",
                   "LITEIO_DATA_DIR": str(tmp_path / "data")}
    for name, value in service["environment"].items():
        if value.startswith("${"):
            assert value.startswith((f"${{{name}:?", f"${{{name}:-")), value
            value = given[name]
        environment[name] = places.get(value, value)
    process = subprocess.Popen([os.environ["LITEIO"], *service["command"]], env=environment, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        for line in process.stdout:
            if "Endpoint" in line:
                break
        else:
            raise AssertionError("it has not started")
    finally:
        process.terminate()
        process.communicate(timeout=LONG)
    assert process.returncode == 0
