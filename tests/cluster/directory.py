"""A single server with a directory of its own, beside those of the cluster."""

import os
import re
import subprocess

from postgres import LONG
from servers import ACCESS, LITEIO, SECRET, Client


class OnDirectory:
    """A server with a directory, for as long as it is used."""

    def __init__(self, directory, key, *arguments, service="s3"):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LITEIO_")}
        environment |= {"LITEIO_ACCESS_KEY": ACCESS, "LITEIO_SECRET_KEY": SECRET}
        self.process = subprocess.Popen(
            [LITEIO, "server", "--data-dir", directory, "--address", "127.0.0.1:0", "--master-key-file", key,
             "--log", "error", *arguments], stdout=subprocess.PIPE, text=True, env=environment)
        found = next(re.search(r"https?://127\.0\.0\.1:(\d+)", line) for line in self.process.stdout if "://" in line)
        self.client = Client(int(found[1]), service)

    def __enter__(self):
        return self.client

    def __exit__(self, *_):
        self.process.terminate()
        code = self.process.wait(LONG)
        self.process.stdout.close()
        assert code == 0, code
