"""The rules for Prometheus, with promtool of Debian's package `prometheus`."""

import shutil
import subprocess

import pytest

from blocks import ROOT

pytestmark = pytest.mark.skipif(not shutil.which("promtool"), reason="no promtool")


def promtool(*arguments):
    done = subprocess.run(["promtool", *arguments], cwd=ROOT, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rules_are_valid():
    promtool("check", "rules", "docs/prometheus/liteio.yml")


def test_a_server_that_is_not_scraped_is_told():
    promtool("test", "rules", "tests/examples/alerts.yml")
