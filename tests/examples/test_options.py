"""The options that docs/options.md names are there."""

import os
import re
import subprocess

from blocks import ROOT


def test_every_flag_of_the_table_is_one_of_the_server():
    rows = re.findall(r"^\| (`--.*?) \|", (ROOT / "docs/options.md").read_text(), re.MULTILINE)
    flags = [flag for row in rows for flag in re.findall(r"--[a-z-]+", row)]
    help = subprocess.run([os.environ["LITEIO"], "server", "--help"], check=True, text=True,
                          capture_output=True).stdout
    assert len(flags) > 10
    assert [flag for flag in flags if not re.search(rf"{flag}(?![a-z-])", help)] == []
