"""`python -m liteio`: the command `liteio`, also where its directory is not on PATH."""

from ._command import main

main()
