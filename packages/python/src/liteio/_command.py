"""The command `liteio`: this process becomes the server's binary."""

import os
import sys

from ._binary import BinaryNotFound, find_binary


def main() -> None:
    try:
        binary = find_binary()
    except BinaryNotFound as error:
        sys.exit(f"liteio: {error}")
    os.execv(binary, ["liteio", *sys.argv[1:]])
