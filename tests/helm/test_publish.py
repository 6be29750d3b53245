"""The chart as a release publishes it."""

import os
import subprocess
import tarfile

import yaml

from chart import ROOT
from chart import program as found_helm

# Stands for `helm push`, which needs a registry; the rest is Helm's.
PROGRAM = """#!/bin/sh
if [ "$1" = push ]; then cp "$2" "$PUSHED"; echo "$3" >"$PUSHED.to"; echo "Digest: sha256:0123" >&2; else exec {helm} "$@"; fi
"""


def test_the_chart_of_a_release_names_its_image(tmp_path):
    program = tmp_path / "helm"
    program.write_text(PROGRAM.format(helm=found_helm()))
    program.chmod(0o755)
    pushed = tmp_path / "chart.tgz"
    environment = dict(os.environ, PATH=f"{tmp_path}:{os.environ['PATH']}", PUSHED=str(pushed))
    done = subprocess.run([ROOT / ".ci/publish", "chart", "ghcr.io/somebody/charts", "ghcr.io/somebody/liteio"],
                          env=environment, check=True, text=True, stdout=subprocess.PIPE)
    assert done.stdout == "sha256:0123\n"
    assert (tmp_path / "chart.tgz.to").read_text() == "oci://ghcr.io/somebody/charts\n"
    with tarfile.open(pushed) as archive:
        names = archive.getnames()
        values = yaml.safe_load(archive.extractfile("liteio/values.yaml"))
        chart = yaml.safe_load(archive.extractfile("liteio/Chart.yaml"))
    assert values["image"]["repository"] == "ghcr.io/somebody/liteio"
    assert chart["appVersion"] == chart["version"]
    wanted = {"README.md", "values.schema.json", "values-cluster.yaml", "templates/NOTES.txt"}
    assert {f"liteio/{name}" for name in wanted} <= set(names)
