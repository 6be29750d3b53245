"""The command `liteio`: replaces this process by the server binary."""

import os
import sys

from ._binary import BinaryNotFound, find_binary


def main() -> None:
    try:
        binary = find_binary()
    except BinaryNotFound as error:
        sys.exit(f"liteio: {error}")
    os.execv(binary, ["liteio", *sys.argv[1:]])
