"""The packages that a program is linked from, by cargo: for licences, the SBOM and the audit section.

`crates.py --field NAME` prints a field of the package `liteio`.
"""

import functools
import json
import pathlib
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = "liteio"


def cargo(*arguments):
    result = subprocess.run(
        ["cargo", *arguments, "--locked"], cwd=ROOT, text=True, stdout=subprocess.PIPE, check=True
    )
    return result.stdout


@functools.cache
def metadata():
    return json.loads(cargo("metadata", "--format-version", "1"))


def own():
    """The package `liteio`, as cargo describes it."""
    return next(it for it in metadata()["packages"] if it["name"] == PACKAGE)


@functools.cache
def checksums():
    """SHA-256 of the archive of each package of a registry, by name and version."""
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    return {(it["name"], it["version"]): it.get("checksum") for it in lock["package"]}


def linked(target):
    """The packages in the binary for a target, sorted; no build scripts, procedural macros or tests."""
    # Only `cargo tree` resolves the features of one binary, without those of its tests.
    tree = cargo("tree", "--package", PACKAGE, "--target", target, "--edges", "normal,no-proc-macro",
                 "--prefix", "none", "--format", "{p}")
    names = {tuple(line.split()[:2]) for line in tree.splitlines() if line.strip()}
    names = {(name, version.removeprefix("v")) for name, version in names}
    found = [it for it in metadata()["packages"] if (it["name"], it["version"]) in names]
    if len(found) != len(names):
        raise SystemExit(f"cargo tree and cargo metadata disagree: {len(names)} and {len(found)} packages")
    return sorted(found, key=lambda it: (it["name"], it["version"]))


def dependencies(packages):
    """For the id of each package, the ids among them that it is linked with."""
    ids = {it["id"] for it in packages}
    nodes = {it["id"]: it for it in metadata()["resolve"]["nodes"]}

    def of(package_id):
        edges = nodes[package_id]["deps"]
        is_normal = lambda edge: any(kind["kind"] is None for kind in edge["dep_kinds"])
        return sorted({edge["pkg"] for edge in edges if is_normal(edge)} & ids - {package_id})

    return {package_id: of(package_id) for package_id in sorted(ids)}


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--field", name]:
            print(own()[name])
        case _:
            raise SystemExit("usage: crates.py --field NAME")
