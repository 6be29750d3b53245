"""Testcontainers' modules of other languages, where this machine has the language."""

import pathlib
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent


def check(directory, tmp_path, *commands):
    program = commands[0][0]
    if not shutil.which(program):
        pytest.skip(f"there is no {program}")
    # What they make beside the sources stays out of the tree.
    copy = tmp_path / directory
    shutil.copytree(HERE / directory, copy)
    for command in commands:
        result = subprocess.run(command, cwd=copy, capture_output=True, text=True, timeout=300)
        assert result.returncode == 0, f"{command}: {result.stdout[-8000:]}{result.stderr[-4000:]}"


def test_go(tmp_path):
    check("go", tmp_path, ["go", "test", "-count=1", "./..."])


def test_java(tmp_path):
    check("java", tmp_path, ["mvn", "--batch-mode", "--quiet", "test"])


def test_node(tmp_path):
    install = ["npm", "install", "--no-audit", "--no-fund", "--silent"]
    check("node", tmp_path, install, ["node", "--test"])
