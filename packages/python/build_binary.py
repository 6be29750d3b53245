"""Puts the server binary named by LITEIO_BINARY into the wheel, and tags the wheel with its platform.

Without LITEIO_BINARY the wheel contains no binary and fits every platform; the package then searches
LITEIO_BINARY and PATH when a server is started.
"""

import os
import pathlib
import struct

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MACHINES = {0x3E: "x86_64", 0xB7: "aarch64"}  # e_machine of ELF.
PROGRAM_INTERPRETER = 3  # p_type of the segment that names a dynamic linker.
MACH_O_64 = 0xFEEDFACF
MACH_O_MACHINES = {0x01000007: ("x86_64", "10_12"), 0x0100000C: ("arm64", "11_0")}


class BinaryHook(BuildHookInterface):
    def initialize(self, version, build_data):
        binary = os.environ.get("LITEIO_BINARY")
        if self.target_name != "wheel" or version == "editable" or not binary:
            return
        try:
            path = path_of(binary)
            platform = platform_of(path.read_bytes(), path)
        except (OSError, ValueError) as error:
            # The reason alone, without the calls of the build that led here.
            raise SystemExit(str(error)) from None
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        build_data["force_include"][str(path)] = "liteio/bin/liteio"


def path_of(binary):
    """Path of the program. A relative one is from where the command was given, which PWD remembers: the build itself
    runs in the directory of the package, or in a copy of it. A bare name may be that of a program on PATH, as for the
    package at run time.

    Raises ValueError if there is no file."""
    path = pathlib.Path(os.environ.get("PWD") or os.getcwd(), binary).resolve()
    if path.is_file():
        return path
    told = f"LITEIO_BINARY={binary}: there is no file {path}"
    if path.exists() or os.path.basename(binary) != binary:
        raise ValueError(told)
    for directory in os.get_exec_path():
        path = pathlib.Path(directory, binary).resolve()
        # A script of this name is the command of an installed package, without the binary.
        if path.is_file() and os.access(path, os.X_OK) and not path.read_bytes().startswith(b"#!"):
            return path
    raise ValueError(f"{told}, and no program of this name on PATH")


def platform_of(program, name):
    """Platform tag of a program: any Linux for a static one, only similar Linux systems otherwise."""
    if program[:4] == b"\x7fELF" and program[4:6] == b"\x02\x01":
        machine = MACHINES.get(struct.unpack_from("<H", program, 18)[0])
        if machine is None:
            raise ValueError(f"LITEIO_BINARY: {name} is a program for an unsupported machine")
        if is_dynamic(program):
            return f"linux_{machine}"
        return f"manylinux_2_17_{machine}.manylinux2014_{machine}.musllinux_1_1_{machine}"
    if len(program) > 8 and struct.unpack_from("<I", program)[0] == MACH_O_64:
        machine = MACH_O_MACHINES.get(struct.unpack_from("<I", program, 4)[0])
        if machine:
            return f"macosx_{machine[1]}_{machine[0]}"
    raise ValueError(f"LITEIO_BINARY: {name} is not a program for 64-bit Linux or macOS")


def is_dynamic(program):
    (offset,) = struct.unpack_from("<Q", program, 32)
    size, count = struct.unpack_from("<HH", program, 54)
    kinds = (struct.unpack_from("<I", program, offset + size * each)[0] for each in range(count))
    return PROGRAM_INTERPRETER in kinds
