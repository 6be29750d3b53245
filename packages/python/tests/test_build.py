"""The wheel with a binary, and the platform that it is tagged with."""

import os
import pathlib
import struct
import subprocess
import sys
import zipfile

import pytest

pytest.importorskip("hatchling")
PACKAGE = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(PACKAGE))
from build_binary import platform_of  # noqa: E402


def elf(machine, *segments):
    header = b"\x7fELF\x02\x01" + bytes(10) + struct.pack("<HHI", 2, machine, 1)
    header += struct.pack("<QQQIHHH", 0, 64, 0, 0, 64, 56, len(segments))
    program = header.ljust(64, b"\0")
    return program + b"".join(struct.pack("<I", kind).ljust(56, b"\0") for kind in segments)


@pytest.mark.parametrize("program, platform", [
    (elf(0x3E, 1, 1), "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64"),
    (elf(0xB7, 1), "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64"),
    (elf(0x3E, 6, 3, 1), "linux_x86_64"),
    (struct.pack("<II", 0xFEEDFACF, 0x0100000C) + b"\0", "macosx_11_0_arm64"),
])
def test_platforms(program, platform):
    assert platform_of(program, "program") == platform


@pytest.mark.parametrize("program", [b"", b"#!/bin/sh\n", elf(0x28), b"MZ"])
def test_what_is_no_program_of_a_known_platform_is_refused(program):
    with pytest.raises(ValueError, match="program"):
        platform_of(program, "program")


def build(directory, binary):
    """Builds the wheel by a command in a directory."""
    pytest.importorskip("build")
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", directory / "dist", PACKAGE]
    return subprocess.run(command, capture_output=True, text=True, cwd=directory,
                          env={**os.environ, "PWD": str(directory), "LITEIO_BINARY": str(binary)})


def test_a_relative_path_is_from_where_the_command_runs(tmp_path):
    (tmp_path / "program").write_bytes(elf(0x3E, 1))
    done = build(tmp_path, "program")
    assert done.returncode == 0, done.stderr
    [wheel] = (tmp_path / "dist").iterdir()
    assert wheel.name.endswith("musllinux_1_1_x86_64.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"liteio/bin/liteio", "liteio/mock_aws.kms.toml"} <= set(names)


def test_a_bare_name_is_that_of_a_program_on_path(tmp_path, monkeypatch):
    for name, program in (("scripts", b"#!/bin/sh\n"), ("programs", elf(0x3E, 1))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "liteio").write_bytes(program)
        (tmp_path / name / "liteio").chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path / "scripts"), str(tmp_path / "programs"), os.environ["PATH"]]))
    done = build(tmp_path, "liteio")
    assert done.returncode == 0, done.stderr
    [wheel] = (tmp_path / "dist").iterdir()
    assert zipfile.ZipFile(wheel).read("liteio/bin/liteio") == elf(0x3E, 1)


@pytest.mark.parametrize(("binary", "told"), [
    ("nowhere", "LITEIO_BINARY=nowhere: there is no file {}/nowhere, and no program of this name on PATH"),
    ("/no/where", "LITEIO_BINARY=/no/where: there is no file /no/where"),
    (".", "LITEIO_BINARY=.: there is no file {}"),
    ("script", "LITEIO_BINARY: {}/script is not a program for 64-bit Linux or macOS"),
])
def test_what_is_no_binary_is_told_in_one_line(tmp_path, binary, told):
    (tmp_path / "script").write_text("#!/bin/sh\n")
    done = build(tmp_path, binary)
    assert done.returncode == 1 and "Traceback" not in done.stderr + done.stdout
    assert told.format(tmp_path) in done.stderr.splitlines()


@pytest.mark.parametrize("binary", ["", "program"])
def test_pip_installs_from_a_clone_with_the_binary_if_one_is_named(tmp_path, binary):
    pytest.importorskip("pip")
    (tmp_path / "program").write_bytes(elf(0x3E, 1))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps",
               "--no-build-isolation", "--target", tmp_path / "installed", PACKAGE]
    subprocess.run(command, check=True, cwd=tmp_path, env={**os.environ, "PWD": str(tmp_path), "LITEIO_BINARY": binary})
    installed = tmp_path / "installed" / "liteio"
    assert (installed / "__init__.py").exists()
    assert (installed / "bin" / "liteio").exists() == bool(binary)
