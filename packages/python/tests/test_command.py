"""The command `liteio` of the package."""

import subprocess
import sys

import pytest

import liteio

RUN = [sys.executable, "-c", "from liteio._command import main; main()"]


@pytest.mark.parametrize("run", [RUN, [sys.executable, "-m", "liteio"]])
def test_the_command_is_the_server(run):
    done = subprocess.run([*run, "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == subprocess.run(
        [liteio.find_binary(), "--version"], capture_output=True, text=True).stdout


def test_exit_codes_are_those_of_the_server():
    done = subprocess.run([*RUN, "--no-such-flag"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "--no-such-flag" in done.stderr


def test_a_missing_binary_is_told():
    done = subprocess.run(RUN, capture_output=True, text=True, env={"LITEIO_BINARY": "/nowhere"})
    assert done.returncode == 1
    assert done.stderr == "liteio: LITEIO_BINARY: /nowhere is not an executable file\n"
