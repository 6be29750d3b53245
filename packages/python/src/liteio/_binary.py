"""Finds the server binary: LITEIO_BINARY, the binary of this package, or PATH, in this order."""

from __future__ import annotations

import os
import pathlib
from typing import Optional, Union

from ._control import LiteIOError

PACKAGED = pathlib.Path(__file__).parent / "bin" / "liteio"


class BinaryNotFound(LiteIOError):
    """The server binary was not found."""


def find_binary(given: Optional[Union[str, os.PathLike[str]]] = None) -> str:
    """Path of the server binary.

    Raises BinaryNotFound, whose message contains a remedy."""
    named = os.fspath(given) if given is not None else os.environ.get("LITEIO_BINARY")
    if named:
        if is_program(named):
            return os.path.abspath(named)
        found = on_path(named) if os.path.basename(named) == named else None
        if found is not None:
            return found
        source = "binary" if given is not None else "LITEIO_BINARY"
        raise BinaryNotFound(f"{source}: {named} is not an executable file")
    if is_program(str(PACKAGED)):
        return str(PACKAGED)
    found = on_path("liteio")
    if found is not None:
        return found
    raise BinaryNotFound(
        "the LiteIO binary was not found: this package was built without it. Set LITEIO_BINARY to its path, "
        "or put the program `liteio` on PATH"
    )


def on_path(name: str) -> Optional[str]:
    for directory in os.get_exec_path():
        path = os.path.join(directory, name)
        if is_program(path) and not is_script(path):
            return path
    return None


def is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def is_script(path: str) -> bool:
    """A script of this name is the command of a LiteIO package, which would search for the binary again."""
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return True
