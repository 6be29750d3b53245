"""PostgreSQL servers under Patroni, with one etcd: their leader is elected, and clients find it by its address."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import urllib.error
import urllib.request

from postgres import BIN, NOBODY, Postgres, free_port, unprivileged, until

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "target/patroni-venv/bin"
ETCD = shutil.which("etcd") or str(ROOT / "target/etcd/usr/bin/etcd")
SCOPE = "liteio"
NODES = 3
# Seconds. The least time after which a leader that is silent is replaced, and the pause between two looks.
TTL, LOOP_WAIT, RETRY_TIMEOUT = 20, 2, 5
# Seconds for a bootstrap, or until a killed node streams again.
HEALTHY = 240


class Etcd:
    """The store of Patroni's decisions, which is never killed here."""

    def __init__(self, directory):
        self.directory = f"{directory}/etcd"
        self.address = f"127.0.0.1:{free_port()}"
        peer = f"http://127.0.0.1:{free_port()}"
        with open(f"{directory}/etcd.log", "ab") as log:
            self.process = subprocess.Popen(
                [ETCD, "--data-dir", self.directory, "--log-level", "warn", "--listen-client-urls", f"http://{self.address}",
                 "--advertise-client-urls", f"http://{self.address}", "--listen-peer-urls", peer,
                 "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        until(lambda: asked(f"http://{self.address}/health"), "the start of etcd")

    def stop(self):
        self.process.kill()
        self.process.wait()


def asked(url):
    """The document at an address; `None` without one."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return json.load(answer)
    except (OSError, ValueError):
        return None


class Node:
    """A PostgreSQL, and the Patroni that starts and ends it."""

    def __init__(self, patroni, name):
        self.patroni, self.name = patroni, name
        self.directory = f"{patroni.directory}/{name}"
        # Of its queries alone: Patroni runs it.
        self.postgres = Postgres(self.directory)
        self.rest, self.process = free_port(), None
        self.settings = f"{self.directory}/patroni.json"
        with open(self.settings, "w", encoding="utf-8") as file:
            # A document that is YAML as well.
            json.dump(self.configuration(), file, indent=1)
        self.start()

    def configuration(self):
        user = {"username": "liteio"}
        rest, address = f"127.0.0.1:{self.rest}", f"127.0.0.1:{self.postgres.port}"
        return {
            "scope": SCOPE,
            "name": self.name,
            "etcd3": {"host": self.patroni.etcd.address},
            "restapi": {"listen": rest, "connect_address": rest},
            "bootstrap": {
                "dcs": {
                    "ttl": TTL, "loop_wait": LOOP_WAIT, "retry_timeout": RETRY_TIMEOUT,
                    "synchronous_mode": True, "synchronous_mode_strict": self.patroni.is_strict,
                    "postgresql": {"use_pg_rewind": True, "parameters": {"max_connections": 200}},
                },
                "initdb": ["data-checksums", {"encoding": "UTF8"}, {"locale": "C"}],
            },
            "postgresql": {
                "listen": address, "connect_address": address, "bin_dir": BIN, "data_dir": self.postgres.data,
                "parameters": {"unix_socket_directories": self.directory},
                "pg_hba": ["local all all trust", "host all all 127.0.0.1/32 trust",
                           "host replication all 127.0.0.1/32 trust"],
                "authentication": {"superuser": user, "rewind": user, "replication": user},
            },
        }

    def start(self):
        """Starts its Patroni, which starts its PostgreSQL or takes over the one that runs."""
        with open(f"{self.directory}/log", "ab") as log:
            self.process = subprocess.Popen(
                unprivileged([str(PROGRAMS / "patroni"), self.settings]), stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                env=os.environ | {"HOME": self.directory}, cwd=self.directory)

    def kill(self):
        """Kills its Patroni. Its PostgreSQL goes on."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def kill_postgres(self):
        """Kills all processes of its PostgreSQL, if it runs."""
        try:
            with open(f"{self.postgres.data}/postmaster.pid", encoding="utf-8") as file:
                first = int(file.readline())
            if os.readlink(f"/proc/{first}/cwd") != self.postgres.data:
                # The number is another process's by now.
                return
            with open(f"/proc/{first}/task/{first}/children", encoding="utf-8") as file:
                others = [int(it) for it in file.read().split()]
        except (OSError, ValueError):
            return
        for process in [first, *others]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


class Patroni:
    """Nodes of which one is the primary, another one its synchronous standby, and the rest are its other standbys."""

    def __init__(self, directory, nodes=NODES, is_strict=False):
        self.directory, self.is_strict = f"{directory}/patroni", is_strict
        os.mkdir(self.directory)
        if os.getuid() == 0:
            os.chown(self.directory, NOBODY, NOBODY)
        self.etcd = Etcd(directory)
        self.nodes = [Node(self, f"node-{number}") for number in range(nodes)]
        self.wait_until_healthy()

    @property
    def ports(self):
        return [node.postgres.port for node in self.nodes]

    def members(self):
        """What Patroni tells about the nodes, by their names."""
        for node in self.nodes:
            told = asked(f"http://127.0.0.1:{node.rest}/cluster")
            if told is not None:
                return {member["name"]: member for member in told["members"]}
        return {}

    def leader(self):
        """The node that is the primary; `None` without one."""
        members = self.members()
        return next((node for node in self.nodes if members.get(node.name, {}).get("role") == "leader"), None)

    def is_healthy(self):
        members = self.members()
        states = sorted((member["role"], member["state"]) for member in members.values())
        wanted = [("leader", "running"), *[("replica", "streaming")] * (len(self.nodes) - 2), ("sync_standby", "streaming")]
        return states == wanted and len({member.get("timeline") for member in members.values()}) == 1

    def wait_until_healthy(self):
        until(self.is_healthy, "the health of all nodes", HEALTHY)

    def let_standby_come_first(self):
        """Sees to it that the synchronous standby comes before the primary in the list of hosts."""
        while not self.standby_comes_first():
            self.switch_over()
            self.wait_until_healthy()

    def standby_comes_first(self):
        members = self.members()
        roles = [members.get(node.name, {}).get("role") for node in self.nodes]
        return roles.index("sync_standby") < roles.index("leader")

    def switch_over(self):
        """Makes the synchronous standby the primary, as planned. Returns what `patronictl` has told."""
        leader = self.leader()
        done = subprocess.run([str(PROGRAMS / "patronictl"), "-c", leader.settings, "switchover", SCOPE, "--force",
                               "--leader", leader.name], capture_output=True, text=True, check=False)
        assert done.returncode == 0 and "Switchover failed" not in done.stdout, f"{done.stdout}{done.stderr}"
        return done.stdout

    def stop(self):
        # First those that would start the others again.
        for node in self.nodes:
            node.kill()
        for node in self.nodes:
            node.kill_postgres()
        self.etcd.stop()
