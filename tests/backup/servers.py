"""Servers and commands of the program under test."""

import os
import re
import signal
import subprocess
import time
import urllib.request

LITEIO = os.environ["LITEIO"]
LONG = 120


class Server:
    """A process that serves a directory."""

    def __init__(self, directory, log, *arguments):
        self.log = open(log, "ab")
        command = [LITEIO, *arguments, "--address", "127.0.0.1:0", "--metrics-auth", "public",
                   "--log", "info,liteio::access=off"]
        self.process = subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.port = None
        # The line with the address.
        for line in self.process.stdout:
            found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
            if found:
                self.port = int(found[1])
                break
        assert self.port, f"the server has ended: see {log}"

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as reply:
            return reply.read().decode()

    def metrics(self):
        return {name: float(value) for name, value in
                re.findall(r"^(liteio_\w+) ([-\d.e+]+)$", self.get("/_liteio/metrics"), re.MULTILINE)}

    def restorable(self):
        """A time before which everything that was acknowledged is in the backup; `None` before the first base."""
        asked = time.time()
        metrics = self.metrics()
        if "liteio_backup_last_base_timestamp_seconds" not in metrics:
            return None
        return asked - metrics["liteio_backup_seconds_behind"]

    def kill(self):
        """Kills it. Returns the time before."""
        killed = time.time()
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.close()
        return killed

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(LONG)
        self.close()
        assert code == 0, f"it ended with {code}"

    def close(self):
        self.process.stdout.close()
        self.log.close()


def until(condition, what):
    """Waits until a condition holds, and returns its value."""
    begun = time.time()
    while True:
        value = condition()
        if value:
            return value
        assert time.time() - begun < LONG, f"{what} takes more than {LONG} seconds"
        time.sleep(0.05)


def run(directory, *arguments):
    """The output of a command that has to succeed."""
    done = subprocess.run([LITEIO, *arguments], cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout
