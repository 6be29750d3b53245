"""The files of a release: names, sums, versions, the same bytes again."""

import json
import os
import pathlib
import re
import shutil
import tarfile
import tomllib
import unittest

import crates
from dist import DEB, DEBIAN, DIST, NAME, ROOT, RPM, TARGET, TARGETS, VERSION, run, scratch, sha256, unpacked


def files(directory):
    """SHA-256 of each file, by its path."""
    return {it.relative_to(directory).as_posix(): sha256(it) for it in directory.rglob("*") if it.is_file()}


class Files(unittest.TestCase):
    maxDiff = None

    def test_the_folder_has_what_a_release_is(self):
        names = {it.name for it in DIST.iterdir()}
        made = {f"liteio-{VERSION}-{target}{kind}" for target in TARGETS for kind in (".tar.gz", ".cdx.json")}
        made |= {f"liteio_{VERSION}_{DEBIAN[target.split('-')[0]]}.deb" for target in TARGETS}
        made |= {"SHA256SUMS", "install.sh", "liteio.rb", "PKGBUILD",
                "flake.nix", "python", "maven"} | ({"npm"} if shutil.which("npm") else set())
        self.assertEqual(names - {it.name for it in DIST.glob("*.rpm")}, made)

    def test_the_sums_name_every_file(self):
        lines = (DIST / "SHA256SUMS").read_text().splitlines()
        sums = dict(reversed(line.split("  ")) for line in lines)
        found = files(DIST)
        del found["SHA256SUMS"]
        self.assertEqual(sums, found)
        run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=DIST)

    def test_a_second_run_makes_the_same_bytes(self):
        again = pathlib.Path(os.environ["DIST_AGAIN"])
        if again == DIST:
            self.skipTest("they were made once")
        self.assertEqual(files(DIST), files(again))

    def test_the_version_of_cargo_is_the_one_everywhere(self):
        binary = unpacked(self) / "liteio"
        told = json.loads(run(binary, "version", "--json").stdout)
        bom = json.loads((DIST / f"{NAME}.cdx.json").read_text())
        found = {
            "binary": told["version"],
            "bill of materials": bom["metadata"]["component"]["version"],
            "deb": run("dpkg-deb", "--field", DEB, "Version").stdout.strip(),
            "formula": re.search(r'version "(.*)"', (DIST / "liteio.rb").read_text())[1],
            "PKGBUILD": re.search(r"^pkgver=(.*)$", (DIST / "PKGBUILD").read_text(), re.MULTILINE)[1],
            "flake": re.search(r'version = "(.*)"', (DIST / "flake.nix").read_text())[1],
            "install script": re.search(r"name=liteio-(.*)-\$target", (DIST / "install.sh").read_text())[1],
            "python": tomllib.loads((ROOT / "packages/python/pyproject.toml").read_text())["project"].get("version", VERSION),
            "javascript": json.loads((ROOT / "packages/javascript/package.json").read_text())["version"],
            "java": re.search(r"<version>(.*?)</version>", (ROOT / "packages/java/pom.xml").read_text())[1],
        }
        if RPM:
            found["rpm"] = run("rpm", "--query", "--package", "--queryformat", "%{VERSION}", RPM).stdout
        self.assertEqual(found, dict.fromkeys(found, VERSION))

    def test_a_directory_of_others_is_not_emptied(self):
        mine = scratch(self)
        (mine / "thesis.txt").write_text("mine")
        refused = run(ROOT / ".ci/release", "--binary", "/bin/true", mine, check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertEqual(len(refused.stderr.splitlines()), 1, refused.stderr)
        self.assertEqual((mine / "thesis.txt").read_text(), "mine")

    def test_the_release_is_made_of_the_binary_that_it_is_told(self):
        other = scratch(self) / "liteio"
        other.write_text("#!/bin/sh\necho liteio 9.9.9\n")
        other.chmod(0o755)
        out = scratch(self)
        result = run(ROOT / ".ci/release", "--binary", other, out, check=False)
        self.assertEqual((result.returncode, list(out.iterdir())), (1, []))
        self.assertIn(f"is not {VERSION}", result.stderr)
        result = run(ROOT / ".ci/release", "--fast", check=False)
        self.assertEqual((result.returncode, len(result.stderr.splitlines())), (2, 1))


class Archive(unittest.TestCase):
    def test_members_are_sorted_owned_by_root_and_of_one_time(self):
        with tarfile.open(DIST / f"{NAME}.tar.gz") as archive:
            members = archive.getmembers()
        names = [it.name for it in members]
        self.assertEqual(names, sorted(names))
        self.assertEqual({(it.uid, it.gid, it.uname, it.gname) for it in members}, {(0, 0, "", "")})
        self.assertEqual(len({it.mtime for it in members}), 1)
        self.assertEqual({it.mode for it in members if it.isfile()}, {0o644, 0o755})
        self.assertEqual([it.name for it in members if it.isfile() and it.mode == 0o755], [f"{NAME}/liteio"])

    def test_it_has_the_program_and_what_belongs_to_it(self):
        root = unpacked(self)
        self.assertEqual(run(root / "liteio", "--version").stdout, f"liteio {VERSION}\n")
        pages = {it.name for it in (root / "man").iterdir()}
        self.assertLessEqual({"liteio.1", "liteio-server.1", "liteio-client-cp.1"}, pages)
        for name in ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "CHANGELOG.md", "systemd/liteio.service",
                     "systemd/liteio.env", "systemd/liteio.sysusers", "completions/liteio.bash", "completions/_liteio",
                     "completions/liteio.fish", "completions/liteio.ps1"]:
            self.assertGreater((root / name).stat().st_size, 10, name)

    def test_every_linked_package_has_its_licence(self):
        text = (unpacked(self) / "THIRD-PARTY").read_text()
        for package in crates.linked(TARGET):
            name = f"{package['name']} {package['version']}"
            self.assertEqual(f"- {name}: " in text, package["source"] is not None, name)
        for words in ["Permission is hereby granted", "Apache License", "GNU Lesser General Public License"]:
            self.assertIn(words, text)

    def test_settings_of_the_service_are_those_of_the_server(self):
        known = run(unpacked(self) / "liteio", "server", "--help").stdout
        known = " ".join(known.split())
        names = re.findall(r"^#?(\w+)=", (ROOT / "packaging/config/liteio.env").read_text(), re.MULTILINE)
        self.assertGreater(len(names), 5)
        self.assertEqual([it for it in names if f"[env: {it}" not in known], [])


if __name__ == "__main__":
    unittest.main()
