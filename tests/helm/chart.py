"""The chart, rendered."""

import pathlib
import shutil
import subprocess

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = ROOT / "packaging/helm/liteio"
VALUES = pathlib.Path(__file__).parent / "values"
# Names of renderings, with their values files.
RENDERINGS = {
    "default": [VALUES / "default.yaml"],
    "minio": [VALUES / "minio.yaml"],
    "everything": [VALUES / "everything.yaml"],
    "cluster": [CHART / "values-cluster.yaml", VALUES / "default.yaml"],
    "shared": [VALUES / "shared.yaml"],
}
RELEASE, NAMESPACE = "shop", "s3"


class Refused(Exception):
    """Helm has refused the values: its message without the frame around it."""


def program():
    """The path of Helm; without it the test is skipped."""
    return shutil.which("helm") or pytest.skip("there is no Helm")


def helm(*arguments):
    done = subprocess.run([program(), *map(str, arguments)], text=True, capture_output=True)
    if done.returncode:
        raise Refused(done.stderr)
    return done.stdout


def template(files=(), settings=(), chart=CHART, more=()):
    """The objects of a rendering."""
    arguments = [word for file in files for word in ("--values", file)]
    arguments += [word for setting in settings for word in ("--set", setting)]
    text = helm("template", RELEASE, chart, "--namespace", NAMESPACE, *arguments, *more)
    return [each for each in yaml.safe_load_all(text) if each]


def rendered(name, *settings, more=()):
    return template(RENDERINGS[name], settings, more=more)


def refusal(text, tmp_path):
    """What Helm says about these values, or an empty text."""
    file = tmp_path / "values.yaml"
    file.write_text(text)
    try:
        template([file])
    except Refused as refused:
        lines = str(refused).strip().splitlines()
        lines = [line for line in lines if line and not line.startswith("Use --debug")]
        return "\n".join(lines)
    return ""


def one(objects, kind, ending=""):
    found = [each for each in objects if each["kind"] == kind and each["metadata"]["name"].endswith(ending)]
    assert len(found) == 1, (kind, ending, [each["metadata"]["name"] for each in found])
    return found[0]


def workload(objects):
    """The StatefulSet or Deployment."""
    return next(each for each in objects if each["kind"] in ("StatefulSet", "Deployment"))


def pod(objects):
    return workload(objects)["spec"]["template"]["spec"]
