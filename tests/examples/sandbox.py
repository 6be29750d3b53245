"""A directory with the sample files that the documents name, and free ports in place of their ports."""

import http.server
import json
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import sys
import threading
import tomllib

import yaml

import servers
from blocks import ROOT

HERE = pathlib.Path(__file__).resolve().parent
BLOCK_SECONDS_MAX = 120
# The ports that the documents speak of: ours, those of the profiles, a webhook's, HTTPS.
PORTS = ("9000", "9001", "4566", "9090", "9191", "8080", "443")
FOREIGN = ("LITEIO_", "AWS_", "MINIO_", "MC_")


class Sandbox:
    def __init__(self, directory):
        self.directory = directory
        self.state = directory.parent / f"{directory.name}.state"
        for path in (directory, self.state):
            path.mkdir()
        self.ports = free_ports()
        self.receiver = Receiver(int(self.ports["8080"]))
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        self.environment.update(
            HOME=str(directory), LITEIO=os.environ["LITEIO"], AWS_PAGER="", AWS_MAX_ATTEMPTS="1",
            PATH=f"{HERE / 'bin'}:{os.environ['PATH']}", PYTHONUNBUFFERED="1",
            EXAMPLES_STATE=str(self.state), EXAMPLES_PORTS=json.dumps(self.ports))
        self.make_samples()

    def close(self):
        servers.stop_all(self.state)
        self.receiver.close()

    def make_samples(self):
        """The files that the text takes for granted."""
        files = {
            # Of `aws configure`, with the pair that the start prints.
            ".aws/credentials": "[default]\naws_access_key_id = liteio\naws_secret_access_key = liteio123\n",
            ".aws/config": "[default]\nregion = us-east-1\n",
            "picture.jpg": "a picture",
            "album/1.jpg": "the first", "album/2.jpg": "the second",
            "buckets.txt": "letters\ndrafts:versioned\n",
            # A directory with a directory for each bucket.
            "files/photos/1.jpg": "the first", "seed/photos/2026/a.jpg": "the first",
            "holiday/beach.jpg": "the sea",
            "index.html": "<h1>Hello</h1>\n", "error.html": "<h1>Sorry</h1>\n",
        }
        for name, text in files.items():
            path = self.directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=s3.example.com",
             "-keyout", "privkey.pem", "-out", "fullchain.pem"],
            cwd=self.directory, check=True, capture_output=True)
        # Without the objects that an import leaves out, with exit code 1.
        shutil.copytree(ROOT / "crates/import/tests/fixtures/minio", self.directory / "minio",
                        ignore=shutil.ignore_patterns("pressed.cmp", "sealed"))
        os.symlink(os.environ["EXAMPLES_NODE_MODULES"], self.directory / "node_modules")

    def run(self, block):
        """Runs a block as its language says, with a server; AssertionError with its output if it fails."""
        self.start_server()
        text = self.in_this_sandbox(block.text)
        if block.file:
            path = self.directory / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        match block.language:
            case "sh":
                after = self.state / "environment"
                self.run_command(["bash", "-eo", "pipefail", "-c", f"{text}\nenv -0 >{after}"])
                if "--webhook" in text:
                    assert self.receiver.told.wait(10), f"{block.name}: no event was told"
                pairs = after.read_bytes().decode().split("\0")
                self.environment = dict(pair.split("=", 1) for pair in pairs if pair)
            case "python" if re.search(r"^def test_", text, re.MULTILINE):
                (self.directory / "test_example.py").write_text(text)
                self.run_command([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                                  "test_example.py"])
            case "python":
                self.run_command([sys.executable, "-c", text])
            case "js":
                (self.directory / "example.mjs").write_text(text)
                self.run_command(["node", "example.mjs"])
            case "toml":
                tomllib.loads(text)
            case "json":
                json.loads(text)
            case "yaml":
                assert yaml.safe_load(text)
            case _:
                raise AssertionError(f"{block.name}: {block.language} is not run here, so it needs a marker")

    def start_server(self):
        """As the README does, if none is there on the port."""
        if not (self.state / self.ports["9000"]).exists():
            self.run_command(["liteio"])

    def in_this_sandbox(self, text):
        text = text.replace("0.0.0.0:", "127.0.0.1:")
        text = re.sub(r"(?<= )/(mnt/|(?=data))", f"{self.directory}/", text)
        return re.sub(rf"(?<=[a-z0-9\"]):({'|'.join(PORTS)})\b",
                      lambda found: f":{self.ports[found[1]]}", text)

    def run_command(self, command):
        done = subprocess.run(
            command, cwd=self.directory, env=self.environment, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=BLOCK_SECONDS_MAX)
        assert done.returncode == 0, f"exit code {done.returncode} of:\n{command[-1]}\n{done.stdout}"


class Receiver:
    """What takes the messages of webhooks."""

    def __init__(self, port):
        self.told = told = threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                self.send_response(200)
                self.end_headers()
                told.set()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def free_ports():
    """Below the ports that systems give to programs which ask for any: a server of a document may start a minute later, and
    until then nobody else gets its port."""
    sockets = {}
    for name in PORTS:
        while name not in sockets:
            candidate = socket.socket()
            try:
                candidate.bind(("127.0.0.1", random.randrange(10_000, 32_000)))
            except OSError:
                candidate.close()
            else:
                sockets[name] = candidate
    ports = {name: str(each.getsockname()[1]) for name, each in sockets.items()}
    for each in sockets.values():
        each.close()
    return ports
