"""Other packages that are not installed, or too old."""

import importlib
import sys

import pytest

import liteio


@pytest.fixture
def not_imported(monkeypatch):
    monkeypatch.delitem(sys.modules, "liteio.testcontainers", raising=False)


@pytest.mark.parametrize("missing", ["testcontainers", "testcontainers.core.wait_strategies"])
def test_the_module_for_testcontainers_says_what_to_install(monkeypatch, not_imported, missing):
    for name in [name for name in sys.modules if name.partition(".")[0] == "testcontainers"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ModuleNotFoundError, match=r"testcontainers.*: pip install boto3 'testcontainers>=4.13'$"):
        importlib.import_module("liteio.testcontainers")


def test_a_client_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(liteio.LiteIOError, match=r"boto3 is not installed: pip install boto3$"):
        liteio.Server().client()
