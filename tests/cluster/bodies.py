"""The places of bodies of the tests: a directory that all servers share, or a bucket of another LiteIO."""

import os
import re
import subprocess
import time

from postgres import LONG, free_port
from s3 import ACCESS, SECRET, Client

IDENTITY = "liteio-cluster"


class Directory:
    """A directory on this machine."""

    def __init__(self, path):
        self.path = path
        os.mkdir(self.path)
        self.environment, self.location = {}, f"file://{self.path}"

    def names(self):
        """The files of bodies, those that are being written included."""
        return [f"{directory}/{file}" for directory, _, files in os.walk(self.path)
                for file in files if file != IDENTITY]

    def stop(self):
        pass


class Bucket:
    """A bucket of a LiteIO with a directory, at a port that it has again when it is started again."""

    def __init__(self, liteio, directory):
        self.liteio, self.directory, self.port = liteio, f"{directory}/object-storage", free_port()
        os.mkdir(self.directory)
        self.process = None
        # Of its own, so that no server of the cluster reaches it by theirs.
        self.environment = {"LITEIO_BLOBS_ACCESS_KEY": ACCESS, "LITEIO_BLOBS_SECRET_KEY": SECRET}
        self.location = f"s3://bodies/cluster?endpoint=http://127.0.0.1:{self.port}&region=us-east-1"
        self.start()
        Client(self.port).put("/bodies", b"")

    def start(self):
        """Starts it, and waits until it answers."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LITEIO_")}
        environment |= {"LITEIO_ACCESS_KEY": ACCESS, "LITEIO_SECRET_KEY": SECRET}
        command = [self.liteio, "server", "--data-dir", f"{self.directory}/data", "--address", f"127.0.0.1:{self.port}",
                   "--log", "info,liteio::access=off"]
        with open(f"{self.directory}/log", "ab") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        begun = time.time()
        for line in self.process.stdout:
            if re.search(rf"https?://127\.0\.0\.1:{self.port}", line):
                return
            assert time.time() - begun < LONG
        raise AssertionError(f"the object storage does not start: see {self.directory}/log")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def names(self):
        """The objects of bodies."""
        return [key for key in Client(self.port).keys("bodies") if not key.endswith(IDENTITY)]

    def stop(self):
        if self.process.poll() is None:
            self.kill()
