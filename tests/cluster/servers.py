"""Servers of a cluster: several processes over one PostgreSQL, or a pair of them, and one place of bodies."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request

from postgres import LONG, Postgres, until

# The client of those tests.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../backup"))

from bodies import IDENTITY, Bucket, Directory  # noqa: E402, F401, the path is set above
from s3 import ACCESS, SECRET, Client, Refused  # noqa: E402, F401

LITEIO = os.environ["LITEIO"]
SERVERS = 3


class Server:
    """A process of the cluster. After its end it may be started again, with another port and another run."""

    def __init__(self, cluster, name, arguments=()):
        self.cluster, self.name, self.arguments = cluster, name, arguments
        self.log = f"{cluster.directory}/{name}.log"
        self.process = self.port = None
        self.start()

    def start(self):
        command = [LITEIO, "server", *self.cluster.place, "--address", "127.0.0.1:0", "--server-name", self.name,
                   "--metrics-auth", "public", "--log", "info,liteio::access=off", *self.arguments]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True,
                                            env=self.cluster.environment)
        # The line with the address.
        for line in self.process.stdout:
            found = re.search(r"https?://127\.0\.0\.1:(\d+)", line)
            if found:
                self.port = int(found[1])
                return
        self.process.wait()
        raise NotStarted(f"{self.name} ended with {self.process.returncode}: see {self.log}")

    def client(self, service="s3"):
        return Client(self.port, service)

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as reply:
            return reply.read().decode()

    def is_ready(self):
        """`True` if a balancer would send requests to it."""
        try:
            self.get("/_liteio/health/ready")
        except OSError:
            return False
        return True

    def metrics(self):
        return {name: float(value) for name, value in
                re.findall(r"^(liteio_\w+) ([-\d.e+]+)$", self.get("/_liteio/metrics"), re.MULTILINE)}

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(LONG)
        self.process.stdout.close()
        assert code == 0, f"{self.name} ended with {code}: see {self.log}"

    def told(self, words):
        """`True` if its log has the words."""
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return words in log.read()


class NotStarted(Exception):
    """A server that did not start: without its database none does."""


class Cluster:
    """PostgreSQL, a place of bodies and servers. `standby` is `None`, "sync" or "async"; with `in_bucket` the bodies are in a
    bucket of another LiteIO; `pooler` makes what the servers reach the database through; `database` makes the
    database in a directory, if it is to be another one than a PostgreSQL alone."""

    def __init__(self, servers=SERVERS, standby=None, arguments=(), root=(ACCESS, SECRET), in_bucket=False,
                 pooler=None, database=None):
        self.directory = tempfile.mkdtemp(prefix="liteio-cluster-")
        # PostgreSQL runs as another user.
        os.chmod(self.directory, 0o711)
        self.standby_kind, self.rounds = standby, 0
        self.database = database(self.directory) if database else Postgres.made(f"{self.directory}/postgres-0")
        self.standby = None
        if standby:
            self.add_standby(None)
        ports = self.database.ports + (self.standby.ports if standby else [])
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        self.bodies = Bucket(LITEIO, self.directory) if in_bucket else Directory(f"{self.directory}/bodies")
        key = self.key = f"{self.directory}/master.key"
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("LITEIO_")}
        self.environment |= {"LITEIO_ACCESS_KEY": root[0], "LITEIO_SECRET_KEY": root[1]} | self.bodies.environment
        self.run("key", "new", key)
        self.pooler = pooler and pooler(self.database)
        if self.pooler:
            hosts = f"127.0.0.1:{self.pooler.port}"
        self.metadata = f"postgres://liteio@{hosts}/postgres?target_session_attrs=read-write"
        self.metadata += self.pooler.parameters if self.pooler else ""
        self.place = ["--metadata", self.metadata, "--blobs", self.bodies.location, "--master-key-file", key]
        self.command("create")
        self.servers = []
        self.start_servers(servers, arguments)

    def start_servers(self, number, arguments=()):
        """Starts more servers."""
        first = len(self.servers)
        self.servers += [Server(self, f"server-{each}", arguments) for each in range(first, first + number)]

    def end_servers(self):
        for server in self.servers:
            server.end()
        self.servers = []

    def begin_anew(self, name):
        """Another cluster in the same database, in the place of this one."""
        self.bodies = Directory(f"{self.directory}/{name}-bodies")
        self.place = ["--metadata", self.metadata, "--blobs", self.bodies.location, "--master-key-file", self.key,
                      "--cluster-name", name]
        self.command("create")

    def add_standby(self, port):
        """Gives the primary a standby."""
        name = f"standby_{self.rounds}"
        self.rounds += 1
        self.standby = self.database.standby(f"{self.directory}/postgres-{self.rounds}", name, port)
        self.database.wait_for_standby(name, self.standby_kind == "sync")

    def wait_for_standby(self):
        """Waits until the standby has everything."""
        behind = "SELECT count(*) FROM pg_stat_replication WHERE replay_lsn < pg_current_wal_lsn()"
        until(lambda: self.database.query(behind) == "0", "the standby")

    def fail_over(self):
        """Kills the primary, and promotes the standby."""
        self.database.kill()
        self.standby.promote()

    def add_standby_again(self):
        """Gives the primary that was promoted a standby at the port of the former one."""
        former, self.database = self.database, self.standby
        former.remove()
        self.add_standby(former.port)

    def run(self, *arguments):
        """The output of a command that has to succeed."""
        done = subprocess.run([LITEIO, *arguments], capture_output=True, text=True, check=False, env=self.environment)
        assert done.returncode == 0, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def command(self, name):
        """The output of `liteio cluster`."""
        return self.run("cluster", name, *self.place)

    def status(self):
        """The output of `liteio cluster status`, whatever it has found."""
        done = subprocess.run([LITEIO, "cluster", "status", *self.place], capture_output=True, text=True, check=False,
                              env=self.environment)
        return done.stdout

    def wait_until_swept(self):
        """Waits until the leftovers of all runs that are over are gone, and all servers run."""
        def is_swept():
            states = re.findall(r"^server \S+ \(run \d+\): (.*)$", self.status(), re.MULTILINE)
            return states == ["runs"] * len(self.servers)
        # A run ends a minute after the last beat.
        until(is_swept, "the sweep of all runs", 300)

    def end(self):
        self.end_servers()
        self.remove()

    def remove(self):
        self.stop()
        shutil.rmtree(self.directory)

    def stop(self):
        """Kills everything, and keeps the directories."""
        for server in self.servers:
            if server.process.poll() is None:
                server.resume()
                server.kill()
        self.database.stop()
        if self.standby:
            self.standby.stop()
        self.bodies.stop()
        if self.pooler:
            self.pooler.stop()


def with_cluster(cluster, test):
    """Runs a test with a cluster, and ends the cluster. After a failure its directory is left for a look."""
    # Otherwise the servers would outlive a test that is stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    try:
        test()
    except BaseException:
        print(f"left for a look: {cluster.directory}", file=sys.stderr)
        cluster.stop()
        raise
    cluster.end()
