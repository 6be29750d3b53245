"""The files of deploy/ say what is there: names, settings and paths that exist."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPOSE = ROOT / "deploy/compose"
KUBERNETES = ROOT / "deploy/kubernetes"


def help_of(*command):
    return subprocess.run([os.environ["LITEIO"], *command, "--help"], check=True, text=True,
                          capture_output=True).stdout


def variables():
    return set(re.findall(r"LITEIO_[A-Z_]+", help_of("server")))


def test_the_compose_file_names_what_there_is():
    compose = yaml.safe_load((COMPOSE / "compose.yaml").read_text())
    services = compose["services"]
    for name in ("one", "two", "three", "create"):
        service = services[name]
        assert set(service["environment"]) <= variables()
        assert set(service["secrets"]) <= set(compose["secrets"])
    assert "--if-missing" in help_of("cluster", "create")
    for service in services.values():
        depends = service.get("depends_on", [])
        assert set(depends) <= set(services)
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if source.startswith("./"):
                assert (COMPOSE / source).is_file(), source
            else:
                assert source in compose["volumes"], source
    balancer = (COMPOSE / "haproxy.cfg").read_text()
    servers = re.findall(r"^ +server (\S+) (\S+):9000$", balancer, re.MULTILINE)
    assert [name for name, _ in servers] == ["one", "two", "three"]
    assert all(name == host and name in services for name, host in servers)
    assert "/_liteio/health/ready" in balancer


def test_haproxy_takes_its_file():
    haproxy = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")
    if not haproxy:
        pytest.skip("haproxy is not installed")
    done = subprocess.run([haproxy, "-c", "-f", str(COMPOSE / "haproxy.cfg")], text=True, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_the_standby_is_a_script():
    subprocess.run(["sh", "-n", str(COMPOSE / "standby.sh")], check=True)


def test_the_manifests_fit_together():
    documents = [*yaml.safe_load_all((KUBERNETES / "liteio.yaml").read_text())]
    kinds = {document["kind"]: document for document in documents}
    assert set(kinds) == {"Service", "PodDisruptionBudget", "ConfigMap", "Deployment"}
    deployment = kinds["Deployment"]["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    assert deployment["selector"]["matchLabels"] == labels
    assert kinds["Service"]["spec"]["selector"] == labels
    assert kinds["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    assert deployment["replicas"] == 3
    assert set(kinds["ConfigMap"]["data"]) <= variables()
    pod = deployment["template"]["spec"]
    (server,), (create,) = pod["containers"], pod["initContainers"]
    readme = (KUBERNETES / "README.md").read_text()
    for container in (server, create):
        assert {each["name"] for each in container["env"]} <= variables()
        mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
        volumes = {each["name"]: each for each in pod["volumes"]}
        assert set(mounts) == set(volumes)
        for path in kinds["ConfigMap"]["data"].values():
            if path.startswith("/secrets/"):
                assert any(path.startswith(f"{mount}/") for mount in mounts.values()), path
    secrets = {each["secret"]["secretName"] for each in pod["volumes"] if "secret" in each}
    secrets |= {each["valueFrom"]["secretKeyRef"]["name"] for each in server["env"]
                if "secretKeyRef" in each["valueFrom"]}
    for name in secrets:
        assert f"secret generic {name} " in readme, name
    ports = {port["name"] for port in server["ports"]}
    for probe, path in (("readinessProbe", "ready"), ("livenessProbe", "live"), ("startupProbe", "live")):
        get = server[probe]["httpGet"]
        assert get["path"] == f"/_liteio/health/{path}" and get["port"] in ports
    assert yaml.safe_load((KUBERNETES / "database.yaml").read_text())["spec"]["postgresql"]["synchronous"]
