"""Writes the licences of everything that is linked into the binary: third_party.py TARGET FILE.

Each text once, with the packages that it belongs to. A package without a licence file gets the texts that its
expression names, which other packages have.
"""

import collections
import pathlib
import re
import sys

import crates

NAMES = re.compile(r"^(license|licence|copying|copyright|notice|unlicense)([-._].*)?$", re.IGNORECASE)
# Sources that are in archives but not in the binary.
LEFT_OUT = {"tests", "test", "fuzz", "benches", "examples", "googletest", "wycheproof_testvectors", "node_modules"}
RULE = "=" * 100

HEAD = """Third-party software in LiteIO

LiteIO itself is licensed under MIT or Apache-2.0, at your choice. Its binary is linked from the packages below, each
under the licence behind its name, and from

- the standard library of Rust, MIT or Apache-2.0: https://www.rust-lang.org/policies/licenses
- for Linux with glibc, the GNU C Library, statically, under the GNU Lesser General Public License 2.1 or later:
  https://www.gnu.org/software/libc/ has its sources. The sources of LiteIO are public, and `.ci/static-build` links
  them with any version of it.
"""


def texts(package):
    """The licence files of a package, sorted by path."""
    directory = pathlib.Path(package["manifest_path"]).parent
    files = (it for it in directory.rglob("*") if NAMES.match(it.name) and it.is_file())
    files = [it for it in files if not LEFT_OUT & set(it.relative_to(directory).parts[:-1])]
    files = [it for it in files if it.suffix not in {".rs", ".py", ".go", ".pl", ".sh", ".toml"}]
    for file in sorted(files):
        yield "\n".join(line.rstrip() for line in file.read_text("utf-8", "replace").strip().splitlines())


def main(target, out):
    foreign = [it for it in crates.linked(target) if it["source"]]
    owners = collections.defaultdict(list)
    without = []
    for package in foreign:
        found = list(dict.fromkeys(texts(package)))
        if not package["license"] and not found:
            raise SystemExit(f"{package['name']} {package['version']} names no licence")
        if not found:
            without.append(package)
        for text in found:
            owners[text].append(f"{package['name']} {package['version']}")
    shown = [HEAD, "Packages\n"]
    for package in foreign:
        note = " (no file; its terms are those of the licences named here, printed below)" if package in without else ""
        shown.append(f"- {package['name']} {package['version']}: {package['license'] or 'see below'}{note}")
    for text, names in sorted(owners.items(), key=lambda it: (it[1], it[0])):
        shown += ["", RULE, ", ".join(names), RULE, text]
    path = pathlib.Path(out)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(shown) + "\n", "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
