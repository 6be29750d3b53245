"""A PostgreSQL of its own for each test that asks for one."""

import os
import pathlib
import socket
import subprocess
import time

import pytest

BINARIES = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))


def as_another(command):
    """PostgreSQL refuses to run as root."""
    if os.getuid() != 0:
        return command
    return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", *command]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture
def postgres(tmp_path_factory):
    """The port of a PostgreSQL with the empty database `liteio` of a user of the same name."""
    if not BINARIES:
        pytest.skip("PostgreSQL is not installed: run tests/postgres/install")
    binaries, directory, port = BINARIES[-1], tmp_path_factory.mktemp("postgres"), free_port()
    for path in [directory, *directory.parents]:
        # The directories of pytest are for their user alone.
        if str(path).startswith("/tmp/pytest"):
            path.chmod(0o755)
    if os.getuid() == 0:
        subprocess.run(["chown", "nobody", directory], check=True)
    run = lambda *command: subprocess.run(as_another([*map(str, command)]), check=True, cwd="/",
                                          stdout=subprocess.DEVNULL)
    run(binaries / "initdb", "-D", directory / "data", "-U", "liteio", "--auth=trust", "--data-checksums",
        "-E", "UTF8", "--no-sync")
    server = subprocess.Popen(as_another(
        [str(binaries / "postgres"), "-D", f"{directory}/data", "-k", str(directory), "--listen-addresses=127.0.0.1",
         "-p", str(port), "-c", "max_connections=200"]), cwd="/", stderr=subprocess.DEVNULL)
    psql = ["psql", "-h", "127.0.0.1", "-p", str(port), "-U", "liteio", "postgres", "-qc"]
    deadline = time.monotonic() + 30
    while subprocess.run([*psql, "SELECT 1"], capture_output=True).returncode:
        assert time.monotonic() < deadline, "PostgreSQL does not start"
        time.sleep(0.1)
    subprocess.run([*psql, "CREATE DATABASE liteio"], check=True)
    yield port
    server.terminate()
    server.wait(30)
