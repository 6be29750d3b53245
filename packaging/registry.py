"""Metadata of the packages in `packages/` as registries want it, and archives of Java.

The packages name no address, because Cargo.toml alone has it. It is added here, in a copy that is published:

    registry.py python FILE           adds [project.urls] to a pyproject.toml
    registry.py python-binary FILE    adds the licences of what the binary is linked from
    registry.py npm FILE [PACKAGE…]   adds the address, and each PACKAGE as an optional dependency of this version
    registry.py maven FILE            adds address, authors and sources to a pom.xml
    registry.py maven-name FILE       prints the artifact of a pom.xml
    registry.py jar DIRECTORY FILE    packs a directory: the same bytes for the same files
"""

import json
import os
import pathlib
import re
import sys
import time
import zipfile

import crates

# A zip has no earlier time.
ZIP_TIME_MIN = 315532800


def checked(file, version):
    """Refuses a package whose version is not that of Cargo.toml."""
    if version != crates.own()["version"]:
        raise SystemExit(f"{file} has version {version}, and Cargo.toml {crates.own()['version']}: change one of them")


def python(file):
    text = file.read_text("utf-8")
    checked(file, re.search(r'^version = "(.*)"$', text, re.MULTILINE)[1])
    address = json.dumps(crates.own()["repository"])
    file.write_text(f"{text}\n[project.urls]\nHomepage = {address}\nSource = {address}\n", "utf-8")


def python_binary(file):
    text = file.read_text("utf-8")
    more = re.sub(r"^(license-files = \[.*)\]$", r'\1, "THIRD-PARTY"]', text, flags=re.MULTILINE)
    if more == text:
        raise SystemExit(f"{file} has no line license-files = […]")
    file.write_text(more, "utf-8")


def npm(file, packages):
    manifest = json.loads(file.read_text("utf-8"))
    checked(file, manifest["version"])
    address = crates.own()["repository"]
    manifest |= {"homepage": address, "repository": {"type": "git", "url": address}}
    if packages:
        # The exact version: a binary of another one would be a server with other options.
        manifest["optionalDependencies"] = dict.fromkeys(sorted(packages), manifest["version"])
    file.write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")


def maven(file):
    text = file.read_text("utf-8")
    checked(file, re.search(r"<version>(.*?)</version>", text)[1])
    address = crates.own()["repository"]
    added = f"""  <url>{address}</url>
  <developers>
    <developer><name>The LiteIO developers</name><url>{address}</url></developer>
  </developers>
  <scm>
    <connection>scm:git:{address}</connection>
    <url>{address}</url>
  </scm>
"""
    before, mark, after = text.partition("  <licenses>\n")
    if not mark:
        raise SystemExit(f"{file} has no licenses")
    file.write_text(before + added + mark + after, "utf-8")


def jar(directory, file):
    moment = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), ZIP_TIME_MIN))[:6]
    directory = pathlib.Path(directory)
    # The manifest goes first: readers of streams look for it there.
    names = sorted(it.relative_to(directory).as_posix() for it in directory.rglob("*") if it.is_file())
    names.sort(key=lambda name: name != "META-INF/MANIFEST.MF")
    level = int(os.environ.get("LITEIO_PACK_LEVEL", "9"))
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name in names:
            entry = zipfile.ZipInfo(name, moment)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, (directory / name).read_bytes())


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["python", file]:
            python(pathlib.Path(file))
        case ["python-binary", file]:
            python_binary(pathlib.Path(file))
        case ["npm", file, *packages]:
            npm(pathlib.Path(file), packages)
        case ["maven", file]:
            maven(pathlib.Path(file))
        case ["maven-name", file]:
            print(re.search(r"<artifactId>(.*?)</artifactId>", pathlib.Path(file).read_text("utf-8"))[1])
        case ["jar", directory, file]:
            jar(directory, file)
        case _:
            raise SystemExit(__doc__)
