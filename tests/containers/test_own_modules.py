"""Our modules for Testcontainers, with the tests that they bring, where this machine has the language."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib

import pytest

from conftest import answers, free_port, wait_for

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "packages"
PAGE = ROOT / "docs/testcontainers.md"
# With a tag, as the modules ask for one.
ENVIRONMENT = os.environ | {"LITEIO_IMAGE": "localhost/liteio-liteio:latest", "LITEIO_PAGE": str(PAGE),
                            "LITEIO_BINARY": os.environ["LITEIO"]}
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def run(*command, cwd=ROOT, **environment):
    if not shutil.which(command[0]):
        pytest.skip(f"there is no {command[0]}")
    result = subprocess.run(command, cwd=cwd, env=ENVIRONMENT | environment, capture_output=True, text=True, timeout=1500)
    assert result.returncode == 0, f"{command}: {result.stdout[-8000:]}{result.stderr[-4000:]}"
    return result.stdout


def test_python():
    told = run(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "pytest_liteio",
               "packages/python/tests/test_testcontainers.py", PYTHONPATH=str(PACKAGES / "python/src"))
    assert "8 passed" in told and "skipped" not in told, told


def test_go():
    told = run("go", "test", "-count=1", "-v", "./...", cwd=PACKAGES / "go/testcontainers")
    assert "--- PASS" in told and "--- SKIP" not in told, told


def test_node(tmp_path):
    """The package as npm packs it."""
    for file in (PACKAGES / "javascript/test/containers").iterdir():
        shutil.copy(file, tmp_path)
    packed = json.loads(run("npm", "pack", "--json", "--pack-destination", str(tmp_path), cwd=PACKAGES / "javascript"))
    run("npm", "install", "--no-audit", "--no-fund", "--silent", f"./{packed[0]['filename']}", cwd=tmp_path)
    run("node", "--test", cwd=tmp_path)


def test_java(tmp_path):
    told = run("mvn", "--batch-mode", "--file", "packages/java/pom.xml", f"-DbuildDirectory={tmp_path}",
               "-Dtest=LiteIOContainerTest,PhotosTest", "test")
    assert re.search(r"Tests run: 3, Failures: 0, Errors: 0, Skipped: 0", told), told


def test_rust(tmp_path):
    # By TCP: behind a socket of this machine, the library takes a file of Docker's as a sign that it is in a container itself, and asks
    # the gateway for ports.
    address = f"127.0.0.1:{free_port()}"
    with (tmp_path / "log").open("w") as log:
        service = subprocess.Popen(["podman", "system", "service", "--time", "0", f"tcp://{address}"], stderr=log)
    try:
        wait_for("podman's service", lambda: answers(f"http://{address}/_ping"))
        check_rust(f"tcp://{address}")
    finally:
        service.terminate()
        service.wait()


def check_rust(host):
    target = os.environ.get("CARGO_TARGET_DIR") or ROOT / "target"
    # Without the flags of the checks: the client is not linked static.
    told = run("cargo", "test", "--locked", "--manifest-path", "packages/rust/Cargo.toml", "--", "--nocapture",
               CARGO_TARGET_DIR=f"{target}/testcontainers-rust", DOCKER_HOST=host)
    assert "3 passed" in told and "not tested" not in told, told


def test_versions_of_images_are_that_of_the_workspace():
    texts = [PAGE, PACKAGES / "python/src/liteio/testcontainers.py", PACKAGES / "go/testcontainers/liteio.go",
             PACKAGES / "java/src/main/java/liteio/testcontainers/LiteIOContainer.java"]
    assert f'\nversion = "{VERSION}"\n' in (PACKAGES / "rust/Cargo.toml").read_text()
    for text in texts:
        found = set(re.findall(r"liteio:(\d+\.\d+\.\d+)|Version = \"(.*)\"", text.read_text()))
        assert {one or other for one, other in found} == {VERSION}, text
