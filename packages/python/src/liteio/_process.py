"""The process of a server. It always ends with the process that started it.

The server runs under a small shell that holds the reading end of a pipe. The kernel closes the pipe when this process has
ended for any reason. Then the shell sends SIGTERM to the server. Unlike the parent-death signal of Linux, this does not
depend on the thread that started the server, and works on every Unix. stop() writes a line, which is the first SIGTERM,
and closes the pipe, which is the second: the server cuts off the requests in flight. A fork of this process closes its copy
of the pipe.
"""

from __future__ import annotations

import collections
import os
import re
import selectors
import signal
import subprocess
import threading
import time
import warnings
import weakref
from typing import IO, Deque, Dict, List, Optional

from ._control import Control, LiteIOError

START_SECONDS_MAX = 30.0
STOP_SECONDS_MAX = 10.0
# Time for the requests in flight: those of a test that has ended wait for a client that does not read.
IN_FLIGHT_SECONDS_MAX = 1.0
# What the server logs, and what that is in a test.
CUT_OFF = "requests still in flight are cut off"
OPEN_HINT = "requests were still open at the stop, which waited a second for them: is the body of an answer not closed?"
LOG_LINES_MAX = 1000
WATCH = """
exec 3<&0 </dev/null
"$@" 3<&- &
server=$!
{ read -r _ && kill -s TERM "$server" && read -r _; kill -s TERM "$server"; } <&3 >/dev/null 2>&1 &
watch=$!
exec 3<&-
wait "$server"
code=$?
kill "$watch" 2>/dev/null
exit "$code"
"""


class StartFailed(LiteIOError):
    """The server ended during its start, or did not become ready."""


class Process:
    #: Servers that this process has started; forks must not keep them alive.
    _all: "weakref.WeakSet[Process]" = weakref.WeakSet()

    def __init__(self, command: List[str], environment: Dict[str, str]) -> None:
        self._log: Deque[str] = collections.deque(maxlen=LOG_LINES_MAX)
        self._endpoint: Optional[str] = None
        self._announced = threading.Event()
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", WATCH, "liteio", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,  # Ctrl-C ends the tests first, and the tests end the server.
        )
        self._owner = os.getpid()
        Process._all.add(self)
        assert self._process.stdout and self._process.stderr
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout, self._process.stderr), daemon=True)
        self._reader.start()
        try:
            self.endpoint = self._wait_until_ready()
        except BaseException:
            self.stop()
            raise

    @property
    def log(self) -> str:
        """Last lines of the server log."""
        return "\n".join(list(self._log))

    def stop(self) -> None:
        """Shuts the server down and waits for it; a second call has no effect."""
        process = self._process
        if process.stdin is None or process.stdin.closed:
            return
        if os.getpid() != self._owner:
            process.stdin.close()
            return  # A fork has a copy of the pipe, but must not stop the server.
        try:
            os.write(process.stdin.fileno(), b"\n")
            process.wait(IN_FLIGHT_SECONDS_MAX)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            pass
        finally:
            process.stdin.close()
        try:
            process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self._reader.join(1.0)
        for pipe in (process.stdout, process.stderr):
            if pipe:
                pipe.close()
        if CUT_OFF in self.log:
            warnings.warn(OPEN_HINT, RuntimeWarning, stacklevel=3)

    def _read(self, start: IO[bytes], log: IO[bytes]) -> None:
        """Reads both outputs, the log first: the server writes it before the banner, so all that it has to say of its
        settings is there when it is announced."""
        rests = {log: b"", start: b""}
        with selectors.DefaultSelector() as selector:
            for pipe in rests:
                selector.register(pipe, selectors.EVENT_READ)
            while rests:
                ready = [key.fileobj for key, _ in selector.select()]
                for pipe in [pipe for pipe in rests if pipe in ready]:
                    chunk = os.read(pipe.fileno(), 1 << 16)
                    *lines, rests[pipe] = (rests[pipe] + chunk).split(b"\n")
                    if not chunk:
                        selector.unregister(pipe)
                        rest = rests.pop(pipe)
                        lines += [rest] if rest else []
                    take = self._log.append if pipe is log else self._find_endpoint
                    for line in lines:
                        take(line.decode(errors="replace").rstrip())
                    if pipe is start and not chunk:
                        self._announced.set()

    def _find_endpoint(self, line: str) -> None:
        found = re.match(r"\s*Endpoint\s+(\S+)", line)
        if found and self._endpoint is None:
            self._endpoint = found[1]
            self._announced.set()

    def _wait_until_ready(self) -> str:
        deadline = time.monotonic() + START_SECONDS_MAX
        self._announced.wait(START_SECONDS_MAX)
        if self._endpoint is None:
            raise StartFailed(self._failure())
        control = Control(self._endpoint)
        while not control.is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise StartFailed(self._failure())
            time.sleep(0.005)  # Between polls; the first poll succeeds unless the start needs a recovery.
        return self._endpoint

    def _failure(self) -> str:
        try:
            code = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            return f"the server was not ready within {START_SECONDS_MAX:.0f} s: {self.log}"
        self._reader.join(1.0)
        return f"the server has ended with exit code {code}: {in_options(self.log) or 'no output'}"


def in_options(log: str) -> str:
    """The log, with the options here in the place of flags and variables that the server names."""
    instead = "leave out port= (a free one is chosen; each worker of pytest-xdist needs its own)"
    log = log.replace("choose another with --address HOST:PORT", instead)
    # At the start of a message. Advice for other servers is left as it is.
    return re.sub(r"\bLITEIO_(ACCESS_KEY|SECRET_KEY): ", lambda found: f"{found[1].lower()}: ", log)


def _let_go() -> None:
    """In a fork: closes its copies of the pipes, which would otherwise keep the servers alive."""
    for started in list(Process._all):
        stdin = started._process.stdin
        if stdin is not None:
            stdin.close()


os.register_at_fork(after_in_child=_let_go)
