"""The platform that a wheel is tagged with."""

import pathlib
import struct
import sys

import pytest

pytest.importorskip("hatchling")
sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from build_binary import platform_of  # noqa: E402


def elf(machine, *segments):
    header = b"\x7fELF\x02\x01" + bytes(10) + struct.pack("<HHI", 2, machine, 1)
    header += struct.pack("<QQQIHHH", 0, 64, 0, 0, 64, 56, len(segments))
    program = header.ljust(64, b"\0")
    return program + b"".join(struct.pack("<I", kind).ljust(56, b"\0") for kind in segments)


@pytest.mark.parametrize("program, platform", [
    (elf(0x3E, 1, 1), "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64"),
    (elf(0xB7, 1), "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64"),
    (elf(0x3E, 6, 3, 1), "linux_x86_64"),
    (struct.pack("<II", 0xFEEDFACF, 0x0100000C) + b"\0", "macosx_11_0_arm64"),
])
def test_platforms(program, platform):
    assert platform_of(program, "program") == platform


@pytest.mark.parametrize("program", [b"", b"#!/bin/sh\n", elf(0x28), b"MZ"])
def test_what_is_no_program_of_a_known_platform_is_refused(program):
    with pytest.raises(ValueError, match="program"):
        platform_of(program, "program")
