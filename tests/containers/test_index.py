"""The images of a release: lists for all platforms, of all flavours."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROCESSORS = {"amd64": "x86_64", "arm64": "aarch64"}
FLAVOURS = ["liteio", "shell", "minio", "localstack", "s3mock", "mc"]


@pytest.fixture
def tree(tmp_path):
    """A tree with a release 1.2.3 in target/dist, whose programs are not run by anything."""
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    shutil.copy(ROOT / "Dockerfile", tmp_path)
    for processor in PROCESSORS:
        shell = tmp_path / "target/shell" / processor
        shell.mkdir(parents=True)
        facts = [f"{name}.{fact}" for name in ("bash", "busybox") for fact in ("copyright", "version")]
        for name in ("bash", "busybox", *facts):
            (shell / name).write_text(f"{name} for {processor}")
    (tmp_path / "Cargo.toml").write_text('version = "1.2.3"\n')
    dist = tmp_path / "target/dist"
    dist.mkdir(parents=True)
    for processor in PROCESSORS.values():
        name = f"liteio-1.2.3-{processor}-unknown-linux-gnu"
        (tmp_path / name).mkdir()
        (tmp_path / name / "liteio").write_text(f"a program for {processor}")
        subprocess.run(["tar", "-czf", dist / f"{name}.tar.gz", "-C", tmp_path, name], check=True)
    return tmp_path


def read(layout, digest):
    return json.loads((layout / "blobs" / digest.replace(":", "/")).read_text())


def test_a_release_has_images_for_all_platforms_and_flavours(tree):
    (tree / "layout").mkdir()
    environment = dict(os.environ, DESTINATION=f"oci:{tree}/layout/")
    done = subprocess.run([tree / ".ci/publish", "image", "liteio"], env=environment, check=True, text=True,
                          stdout=subprocess.PIPE)
    layout = tree / "layout/liteio"
    lists = json.loads((layout / "index.json").read_text())["manifests"]
    tags = [each["annotations"]["org.opencontainers.image.ref.name"] for each in lists]
    assert tags == ["1.2.3", *(f"1.2.3-{flavour}" for flavour in FLAVOURS[1:])]
    assert done.stdout.split() == [each["digest"] for each in lists]
    for flavour, each in zip(FLAVOURS, lists):
        images = read(layout, each["digest"])["manifests"]
        assert {image["platform"]["architecture"] for image in images} == set(PROCESSORS)
        for image in images:
            processor = image["platform"]["architecture"]
            manifest = read(layout, image["digest"])
            config = read(layout, manifest["config"]["digest"])
            assert (config["architecture"], config["os"]) == (processor, "linux")
            labels = config["config"]["Labels"]
            assert labels["org.opencontainers.image.version"] == "1.2.3"
            profile = [value for value in config["config"]["Env"] if value.startswith("LITEIO_PROFILE=")]
            assert profile == ([] if flavour in ("liteio", "shell", "mc") else [f"LITEIO_PROFILE={flavour}"])
            layers = [layout / "blobs" / layer["digest"].replace(":", "/") for layer in manifest["layers"]]

            def programs(name):
                return [subprocess.run(["tar", "-xzOf", layer, name], capture_output=True).stdout for layer in layers]

            assert f"a program for {PROCESSORS[processor]}".encode() in programs("liteio")
            assert (f"busybox for {processor}".encode() in programs("bin/busybox")) == (flavour != "liteio")


def test_a_release_without_archives_has_no_image(tree):
    for archive in (tree / "target/dist").iterdir():
        archive.unlink()
    done = subprocess.run([tree / ".ci/publish", "image", "liteio"], text=True, capture_output=True)
    assert done.returncode != 0 and done.stderr.startswith("image-index: ") and done.stderr.count("\n") == 1
