"""Adds the packages of a binary to it, as cargo-auditable does: audit_section.py TARGET BINARY.

Scanners (cargo audit bin, trivy, grype, syft) read the section `.dep-v0`: compressed JSON with names, versions and sources.
"""

import json
import os
import subprocess
import sys
import tempfile
import zlib

import crates

SECTION = ".dep-v0"
# One that knows the processor of the binary: .ci/cross sets it.
OBJCOPY = os.environ.get("OBJCOPY", "objcopy")


def audit_data(target):
    packages = crates.linked(target)
    edges = crates.dependencies(packages)
    # Order matters: dependencies are indexes into the list.
    index = {it["id"]: number for number, it in enumerate(packages)}
    entries = []
    for package in packages:
        source = package["source"]
        entry = {
            "name": package["name"],
            "version": package["version"],
            "source": "local" if source is None else "crates.io",
            "dependencies": sorted(index[it] for it in edges[package["id"]]),
        }
        if package["name"] == crates.PACKAGE:
            entry["root"] = True
        if not entry["dependencies"]:
            del entry["dependencies"]
        entries.append(entry)
    return {"packages": entries}


def main(target, binary):
    text = json.dumps(audit_data(target), separators=(",", ":")).encode()
    with tempfile.NamedTemporaryFile() as file:
        file.write(zlib.compress(text, 9))
        file.flush()
        subprocess.run([OBJCOPY, "--remove-section", SECTION, binary], check=True)
        subprocess.run([OBJCOPY, "--add-section", f"{SECTION}={file.name}", binary], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
