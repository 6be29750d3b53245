"""Options of the suite, and the modules of other suites that it uses."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "cluster"))


def pytest_addoption(parser):
    parser.addoption("--update", action="store_true", help="write the golden files")
