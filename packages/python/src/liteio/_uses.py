"""The uses of mock_aws in this process, and their servers.

A server is kept until the process ends, and is reset at the start of each use, so that clients made in an earlier use
go on working.
"""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack
from typing import Any, Dict, List, Mapping, Optional, Set, Tuple

from ._control import TestApiMissing
from ._environment import environment_of_mock
from ._mock_defaults import with_defaults
from ._moto import refuse_active_moto
from ._redirect import Target, redirect
from ._server import Server

SWITCHES = {"mock_credentials": True, "reset_boto3_session": True}


class Use:
    """An outermost use, with those inside it that have the same options."""

    def __init__(self, options: Mapping[str, Any], switches: Mapping[str, bool], server: Server) -> None:
        self.options = options
        self.switches = switches
        self.server = server
        self.count = 1
        self.end = ExitStack()


# A fork has the uses of its parent, but makes servers of its own: resets would disturb the parent.
_servers: Dict[Tuple[int, str], Server] = {}
# Those whose last use may be followed by one that finds its data.
_continuable: Set[Tuple[int, str]] = set()
_uses: List[Use] = []
_lock = threading.RLock()


def start(options: Mapping[str, Any], switches: Optional[Mapping[str, bool]], *, continues: bool = False) -> Use:
    """Starts a use, or takes part in the current one if that has these options or none are given. One that `continues`
    finds the data of the last one, if that did, too."""
    refuse_active_moto()
    with _lock:
        current = _uses[-1] if _uses else None
        if current is not None and (not options or options == current.options):
            if switches is None or switches == current.switches:
                current.count += 1
                return current
        else:
            current = None
        switches = switches or SWITCHES
        with ExitStack() as stack:
            server = current.server if current else server_for(options, stack, continues)
            stack.enter_context(environment_of_mock(server, region=options.get("region"), **switches))
            # Servers that a profile emulates take other locations.
            checks_location = options.get("profile") is None
            stack.enter_context(redirect(Target(server.endpoint, server, checks_location=checks_location, is_mock=True)))
            use = Use(options, switches, server)
            use.end = stack.pop_all()
        _uses.append(use)
        return use


def stop(use: Use) -> None:
    with _lock:
        use.count -= 1
        if use.count == 0:
            _uses.remove(use)
            use.end.close()


def current() -> Optional[Use]:
    return _uses[-1] if _uses else None


def server_for(options: Mapping[str, Any], stack: ExitStack, continues: bool) -> Server:
    """A running server, in its initial state unless the use continues the last one."""
    given = with_defaults(options)
    if given.get("data_dir") is not None:
        return stack.enter_context(Server(**given))  # A reset would empty the directory.
    key = (os.getpid(), repr(sorted(options.items())))
    server = _servers.get(key)
    if server is None:
        server = _servers.setdefault(key, Server(**given))
    elif server.is_running() and not (continues and key in _continuable):
        try:
            server.reset()
        except (OSError, TestApiMissing):  # It was killed, or cannot be reset.
            server.stop()
    if continues:
        _continuable.add(key)
    else:
        _continuable.discard(key)
    return server.start()


def _in_fork() -> None:
    global _lock
    _lock = threading.RLock()  # Another thread of the parent may have held it.


os.register_at_fork(after_in_child=_in_fork)
