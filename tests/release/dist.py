"""The folder that the suite looks at, and what it runs."""

import hashlib
import os
import pathlib
import platform
import shutil
import subprocess
import tarfile
import tempfile

import crates

ROOT = crates.ROOT
DIST = pathlib.Path(os.environ["DIST"])
VERSION = crates.own()["version"]
PROCESSOR = platform.machine()
TARGETS = sorted(it.name.removeprefix(f"liteio-{VERSION}-").removesuffix(".tar.gz") for it in DIST.glob("*.tar.gz"))
# That of this machine, whose files are installed and run.
TARGET = next(it for it in TARGETS if it.startswith(PROCESSOR))
NAME = f"liteio-{VERSION}-{TARGET}"
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
DEB = DIST / f"liteio_{VERSION}_{DEBIAN[PROCESSOR]}.deb"
RPM = next(DIST.glob(f"*.{PROCESSOR}.rpm"), None)


def run(*command, check=True, **options):
    result = subprocess.run([str(it) for it in command], text=True, capture_output=True, timeout=120, **options)
    if check and result.returncode:
        raise AssertionError(f"{command}: {result.returncode}: {result.stdout}{result.stderr}")
    return result


def sha256(file):
    return hashlib.sha256(pathlib.Path(file).read_bytes()).hexdigest()


def scratch(test):
    """A directory that goes with the test."""
    directory = pathlib.Path(tempfile.mkdtemp())
    test.addCleanup(shutil.rmtree, directory)
    return directory


def unpacked(test):
    """The unpacked archive."""
    directory = scratch(test)
    with tarfile.open(DIST / f"{NAME}.tar.gz") as archive:
        archive.extractall(directory, filter="fully_trusted")
    return directory / NAME
