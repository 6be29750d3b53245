"""PostgreSQL servers of the tests: alone, or a primary with a standby that streams from it."""

import contextlib
import glob
import os
import shutil
import signal
import socket
import subprocess
import time

BIN = os.environ.get("LITEIO_POSTGRES_BIN") or max(
    glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))
NOBODY = 65534
# Seconds that a server of the tests may take for its start, on a busy machine.
LONG = 120


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Postgres:
    """A server in a directory of its own. Its pages have checksums, and its commits are on the disk."""

    def __init__(self, directory, port=None):
        self.directory, self.data = directory, f"{directory}/data"
        self.port = port or free_port()
        self.process = None
        os.mkdir(directory)
        if os.getuid() == 0:
            # PostgreSQL refuses to run as root.
            os.chown(directory, NOBODY, NOBODY)

    @staticmethod
    def made(directory):
        """A new server that runs."""
        server = Postgres(directory)
        server.run("initdb", "-D", server.data, "-U", "liteio", "--auth=trust", "--data-checksums", "-E", "UTF8",
                   "--locale=C", "--no-sync")
        server.start()
        return server

    def standby(self, directory, name, port=None):
        """A standby that streams from this server under a name, and runs."""
        standby = Postgres(directory, port)
        source = f"host=127.0.0.1 port={self.port} user=liteio application_name={name}"
        standby.run("pg_basebackup", "-D", standby.data, "-R", "-c", "fast", "-X", "stream", "--no-sync", "-d", source)
        settings = f"{standby.data}/postgresql.auto.conf"
        with open(settings, encoding="utf-8") as file:
            lines = [line for line in file if not line.startswith("synchronous_standby_names")]
        # Once it is promoted it has no standby of its own.
        with open(settings, "w", encoding="utf-8") as file:
            file.writelines(lines)
        standby.start()
        return standby

    def wait_for_standby(self, name, is_synchronous):
        """Waits until the standby streams, and, if so, lets commits wait for it from now on."""
        if is_synchronous:
            self.query(f"ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 ({name})'")
            self.query("SELECT pg_reload_conf()")
        wanted = "quorum" if is_synchronous else "async"
        state = "SELECT string_agg(state || ' ' || sync_state, ',') FROM pg_stat_replication"
        until(lambda: self.query(state) == f"streaming {wanted}", "the standby")

    def stop_sender(self):
        """Stops the process that sends to the standby, which then lags behind."""
        os.kill(int(self.query("SELECT pid FROM pg_stat_replication")), signal.SIGSTOP)

    def promote(self):
        assert self.query("SELECT pg_promote(true, 60)") == "t", "it was not promoted"

    def start(self):
        """Starts it, and waits until it answers."""
        begun = time.time()
        while True:
            with open(f"{self.directory}/log", "ab") as log:
                arguments = [f"{BIN}/postgres", "-D", self.data, "-k", self.directory, "-p", str(self.port),
                             "--listen-addresses=127.0.0.1", "-c", "max_connections=200"]
                # Ctrl-C ends the test first.
                self.process = subprocess.Popen(unprivileged(arguments), stdout=log, stderr=log,
                                                stdin=subprocess.DEVNULL, start_new_session=True)
            while self.process.poll() is None:
                if self.ask("SELECT 1").returncode == 0:
                    return
                assert time.time() - begun < LONG, f"PostgreSQL does not answer: see {self.directory}/log"
                time.sleep(0.05)
            # Backends of a killed server may end a moment after it.
            assert time.time() - begun < LONG, f"PostgreSQL does not start: see {self.directory}/log"
            time.sleep(0.1)

    def kill(self):
        """Kills all of its processes. Nothing but the memory is lost."""
        # Each has a group of its own. Those that begin meanwhile end by themselves, without the postmaster.
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as listed:
            children = [int(child) for child in listed.read().split()]
        for process in [self.process.pid, *children]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.process.wait()

    def stop(self):
        """Kills it, if it runs."""
        if self.process and self.process.poll() is None:
            self.kill()

    @property
    def ports(self):
        return [self.port]

    def remove(self):
        shutil.rmtree(self.directory)

    def query(self, text):
        """The output of a query."""
        done = self.ask(text)
        assert done.returncode == 0, f"{text}: {done.stderr}"
        return done.stdout.strip()

    def ask(self, text, port=None):
        """The end of a query, also by way of another port."""
        return subprocess.run([f"{BIN}/psql", "-XAtq", "-h", "127.0.0.1", "-p", str(port or self.port), "-U", "liteio",
                               "-c", text, "postgres"], capture_output=True, text=True, check=False)

    def run(self, program, *arguments):
        done = subprocess.run(unprivileged([f"{BIN}/{program}", *arguments]), capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"


def unprivileged(command):
    if os.getuid() != 0:
        return command
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command]


def until(condition, what, seconds=LONG):
    """Waits until a condition holds, and returns its value."""
    begun = time.time()
    while True:
        value = condition()
        if value:
            return value
        assert time.time() - begun < seconds, f"{what} takes more than {seconds} seconds"
        time.sleep(0.05)
