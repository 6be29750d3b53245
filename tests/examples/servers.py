"""The servers of one sandbox: each on its port, stopped when another takes the port or the data directory, or at
the end.

A server runs in the background, as in another terminal. It holds a lock of a file as long as it
lives, so that its end can be waited for without being its parent."""

import fcntl
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

START_SECONDS_MAX = 30


def start(binary, arguments, port, directory):
    """Starts a server in place of the one on this port, and of the one with this data directory; returns its exit
    code if it ended at once, else 0."""
    state = pathlib.Path(os.environ["EXAMPLES_STATE"])
    stop(state / str(port))
    for file in servers(state):
        if directory and file.read_text().partition("\n")[2] == directory:
            stop(file)
    with open(state / str(port), "w") as lock, open(state / "log", "a") as log:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = subprocess.Popen(
            [binary, *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            pass_fds=[lock.fileno()], start_new_session=True)
        lock.write(f"{process.pid}\n{directory or ''}")
    deadline = time.monotonic() + START_SECONDS_MAX
    while process.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
                # Before the server listens, the kernel may choose the same port for this end: then it
                # is connected to itself.
                if connection.getsockname() != connection.getpeername():
                    return 0
        except OSError:
            pass
        time.sleep(0.05)
        if time.monotonic() > deadline:
            stop(state / str(port))
            break
    sys.stderr.write((state / "log").read_text())
    return process.returncode or 1


def stop(file):
    """Ends the server of this file in order, and waits until it is gone."""
    if not file.exists():
        return
    with open(file) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.kill(int(lock.readline()), signal.SIGTERM)
            fcntl.flock(lock, fcntl.LOCK_EX)
    file.unlink()


def stop_all(state):
    for file in servers(state):
        stop(file)


def servers(state):
    """The files of the servers."""
    return [file for file in state.iterdir() if file.name.isdigit()]
