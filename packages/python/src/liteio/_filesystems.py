"""The cache of s3fs, which keeps file systems with the endpoint, the keys and the listings of their first use."""

from __future__ import annotations

import asyncio
import os
import sys
import weakref
from typing import Any

LEAVE = "__aexit__"
# By identity: file systems with the same arguments are equal.
_forgotten: "weakref.WeakValueDictionary[int, Any]" = weakref.WeakValueDictionary()


def forget_filesystems() -> None:
    """Makes s3fs, if it is loaded, create file systems anew: by its arguments alone it would return one of a server, a
    space or a state that is over. Those that the suite holds lose their listings."""
    s3fs: Any = sys.modules.get("s3fs")
    if s3fs is None:
        return
    for filesystem in list(s3fs.S3FileSystem._cache.values()):
        close_on_its_loop(filesystem)
        _forgotten[id(filesystem)] = filesystem
    s3fs.S3FileSystem.clear_instance_cache()
    for filesystem in list(_forgotten.values()):
        filesystem.invalidate_cache()


def close_on_its_loop(filesystem: Any) -> None:
    """Has s3fs close the connections of a file system on the loop that made them.

    It closes them once nobody uses the file system, which may be while a test runs on a loop of its own. It would close them
    there, in vain and with an error in the test's log."""
    client, loop = getattr(filesystem, "_s3creator", None), getattr(filesystem, "_loop", None)
    is_of_parent = getattr(filesystem, "_pid", None) != os.getpid()  # A fork has no thread for the loop.
    if client is None or loop is None or is_of_parent or LEAVE in vars(client):
        return
    leave = getattr(client, LEAVE)

    async def leave_on_its_loop(*of_error: Any) -> None:
        if asyncio.get_running_loop() is loop:
            await leave(*of_error)
        else:
            # Not awaited: the loop of the test may end before.
            asyncio.run_coroutine_threadsafe(leave(*of_error), loop)

    setattr(client, LEAVE, leave_on_its_loop)
