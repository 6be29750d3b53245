"""A fresh sandbox for each test, with a server in it that was started as the README says."""

import shutil

import pytest

from sandbox import Sandbox


@pytest.fixture
def sandbox(tmp_path):
    sandbox = Sandbox(tmp_path / "work")
    yield sandbox
    sandbox.close()
    shutil.rmtree(tmp_path)
