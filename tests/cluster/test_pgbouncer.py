"""Servers that reach their database through PgBouncer in the mode of transactions: one of the PATH, or that which
LITEIO_PGBOUNCER names."""

import os
import re
import shutil
import subprocess

import pytest

from kill import check_states
from postgres import LONG, free_port, unprivileged, until
from servers import Cluster
from state import BUCKET, Shared, Writer

PROGRAM = os.environ.get("LITEIO_PGBOUNCER") or shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
# With fewer, three servers wait for each other.
SESSIONS = 20


def version():
    told = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(int(number) for number in re.search(r"PgBouncer (\d+)\.(\d+)", told).groups())


class PgBouncer:
    """A pooler in front of a PostgreSQL."""

    def __init__(self, database):
        self.database, self.port, self.directory = database, free_port(), database.directory
        self.has_statements = version() >= (1, 21)
        with open(f"{self.directory}/pgbouncer.ini", "w", encoding="utf-8") as file:
            file.write(f"[databases]\npostgres = host=127.0.0.1 port={database.port} dbname=postgres user=liteio\n"
                       f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self.port}\nauth_type = any\n"
                       f"pool_mode = transaction\ndefault_pool_size = {SESSIONS}\nmax_client_conn = 500\n"
                       f"unix_socket_dir =\n{'max_prepared_statements = 200' if self.has_statements else ''}\n")
        self.process = None
        self.start()

    @property
    def parameters(self):
        return "" if self.has_statements else "&statement_cache=0"

    def start(self):
        with open(f"{self.directory}/pgbouncer.log", "ab") as log:
            self.process = subprocess.Popen(unprivileged([PROGRAM, f"{self.directory}/pgbouncer.ini"]), stdout=log,
                                            stderr=log, stdin=subprocess.DEVNULL)
        until(lambda: self.database.ask("SELECT 1", self.port).returncode == 0, "PgBouncer")

    def stop(self):
        self.process.kill()
        self.process.wait(LONG)


@pytest.fixture
def cluster():
    if not PROGRAM:
        pytest.skip("PgBouncer is not installed")
    cluster = Cluster(pooler=PgBouncer)
    yield cluster
    cluster.remove()


def test_servers_work_through_a_pooler_and_outlive_it(cluster):
    # It does not pass them on for a session.
    for setting in ("enable_seqscan = off", "jit = off", "statement_timeout = '10s'"):
        cluster.database.query(f"ALTER ROLE liteio SET {setting}")
    cluster.servers[0].client().put(f"/{BUCKET}", b"")
    shared = Shared()
    writers = [Writer(cluster, number, shared, "pooled") for number in range(6)]
    for writer in writers:
        writer.start()

    def acknowledged():
        return sum(writer.acknowledged for writer in writers)

    until(lambda: acknowledged() > 200, "the first writes")
    cluster.pooler.stop()
    cluster.pooler.start()
    before = acknowledged()
    until(lambda: acknowledged() > before + 200, "writes through the next one")
    for writer in writers:
        writer.is_stopped = True
    for writer in writers:
        writer.join(LONG)
        assert not writer.is_alive() and writer.failure is None, writer.failure
    expected = {path: shared.states(path) for path in shared.keys}
    for writer in writers:
        expected |= writer.states
    check_states(cluster, expected)
    sessions = int(cluster.database.query("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"))
    # That of the question, and none by the servers themselves.
    assert sessions <= SESSIONS + 1
    assert ", 0 damaged" in cluster.command("check")
