"""The server's binary: of LITEIO_BINARY, of this package, or of PATH, in this order."""

from __future__ import annotations

import os
import pathlib
from typing import Optional, Union

from ._control import LiteIOError

PACKAGED = pathlib.Path(__file__).parent / "bin" / "liteio"


class BinaryNotFound(LiteIOError):
    """There is no binary of the server."""


def find_binary(given: Optional[Union[str, os.PathLike[str]]] = None) -> str:
    """The path of the server's binary.

    Raises BinaryNotFound with what to do about it."""
    named = os.fspath(given) if given is not None else os.environ.get("LITEIO_BINARY")
    if named:
        if is_program(named):
            return os.path.abspath(named)
        source = "binary" if given is not None else "LITEIO_BINARY"
        raise BinaryNotFound(f"{source}: {named} is not an executable file")
    if is_program(str(PACKAGED)):
        return str(PACKAGED)
    for directory in os.get_exec_path():
        path = os.path.join(directory, "liteio")
        if is_program(path) and not is_script(path):
            return path
    raise BinaryNotFound(
        "there is no binary of LiteIO: this package was built without one. Set LITEIO_BINARY to the path "
        "of the program, or put the program `liteio` on PATH"
    )


def is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def is_script(path: str) -> bool:
    """A script of this name is the command of a package such as this one, which looks for the binary itself."""
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return True
