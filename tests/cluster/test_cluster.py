"""The commands of docs/cluster.md, in their order, against a PostgreSQL."""

import os
import pathlib
import re
import subprocess
import time
import urllib.request

from conftest import free_port

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/cluster.md"


def blocks():
    return re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


class Shell:
    """Runs the blocks of the page one after another, each with the variables of those before."""

    def __init__(self, directory, ports):
        self.directory, self.ports = directory, ports
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("LITEIO_", "AWS_"))}
        self.environment.update(PATH=f"{directory / 'bin'}:{os.environ['PATH']}", AWS_PAGER="")
        (directory / "bin").mkdir()
        (directory / "bin/liteio").symlink_to(pathlib.Path(os.environ["LITEIO"]).resolve())
        (directory / "picture.jpg").write_text("a picture")
        self.servers = []

    def run(self, text):
        for before, after in self.ports.items():
            text = text.replace(f":{before}", f":{after}")
        servers = re.findall(r"^(liteio server .*) &$", text, re.MULTILINE)
        text = re.sub(r"^liteio server .* &$", "", text, flags=re.MULTILINE)
        after = self.directory / "environment"
        self.finish(["bash", "-eo", "pipefail", "-c", f"{text}\nenv -0 >{after}"])
        pairs = [pair.split("=", 1) for pair in after.read_text().split("\0") if pair]
        self.environment = dict(pairs)
        for server in servers:
            self.start(server)

    def finish(self, command):
        done = subprocess.run(command, cwd=self.directory, env=self.environment, text=True, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0, f"exit code {done.returncode} of\n{command[-1]}\n{done.stdout}"
        return done.stdout

    def start(self, line):
        address = re.search(r"--address (\S+)", line)[1]
        log = open(self.directory / "log", "a")
        self.servers.append(subprocess.Popen(line.split(), cwd=self.directory, env=self.environment,
                                             stdout=log, stderr=log))
        wait_until_ready(address, self.directory / "log")

    def stop(self):
        for server in self.servers:
            server.terminate()
        codes = [server.wait(60) for server in self.servers]
        self.servers = []
        return codes


def wait_until_ready(address, log):
    deadline = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(f"http://{address}/_liteio/health/ready", timeout=5) as answer:
                if answer.status == 200:
                    return
        except OSError:
            pass
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)


def test_the_commands_of_the_page(tmp_path, postgres):
    ports = {"5432": postgres, **{str(port): free_port() for port in (9000, 9001, 9002)}}
    shell = Shell(tmp_path, ports)
    create, servers, use, move, back = blocks()
    try:
        for block in (create, servers, use):
            shell.run(block)
        status = shell.finish(["liteio", "cluster", "status"])
        for name in ("one", "two", "three"):
            assert re.search(rf"server {name} \(run \d+\): runs", status), status
        assert shell.stop() == [0, 0, 0]
        # A server with a directory, from which is moved.
        shell.start(f"liteio server --data-dir data --address 127.0.0.1:{ports['9000']}"
                    .replace("liteio server", "env -u LITEIO_METADATA -u LITEIO_BLOBS liteio server"))
        shell.run(use.replace(":9001", ":9000").replace(":9002", ":9000").replace("liteio cluster status", ""))
        assert shell.stop() == [0]
        shell.run(move)
        shell.run(back)
        shell.start(f"env -u LITEIO_METADATA -u LITEIO_BLOBS -u LITEIO_CLUSTER_NAME "
                    f"liteio server --data-dir back --address 127.0.0.1:{ports['9000']}")
        listed = shell.finish(["aws", "--endpoint-url", f"http://127.0.0.1:{ports['9000']}", "s3", "ls",
                               "s3://photos/"])
        assert "picture.jpg" in listed
    finally:
        shell.stop()
