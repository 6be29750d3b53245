"""A server that was started in a terminal, whose window is closed."""

import contextlib
import os
import pty
import signal


def started(tmp_path, *before):
    """A server in a terminal of its own: its process, and the other end of the terminal."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(tmp_path)
        os.execvp((*before, os.environ["LITEIO"])[0],
                  [*before, os.environ["LITEIO"], "server", "--memory", "--address", "127.0.0.1:0"])
    told = b""
    while b"aws " not in told:
        told += os.read(terminal, 1 << 16)
    return process, terminal


def test_a_server_ends_with_its_terminal(tmp_path):
    process, terminal = started(tmp_path)
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_a_hangup_from_elsewhere_reloads(tmp_path):
    process, terminal = started(tmp_path)
    os.kill(process, signal.SIGHUP)
    told = b""
    while b"read again" not in told:
        told += os.read(terminal, 1 << 16)
    os.kill(process, signal.SIGTERM)
    with contextlib.suppress(OSError):
        while os.read(terminal, 1 << 16):
            pass
    _, status = os.waitpid(process, 0)
    assert os.waitstatus_to_exitcode(status) == 0
