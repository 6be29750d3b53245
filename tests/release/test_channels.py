"""The manifests of package managers, against the files in golden/: `GOLDEN=write` writes those anew."""

import os
import pathlib
import shutil
import unittest

import generate
from dist import DIST, NAME, run, scratch, sha256

GOLDEN = pathlib.Path(__file__).parent / "golden"
SUMS = {
    "aarch64-apple-darwin": "0d" * 32,
    "aarch64-unknown-linux-musl": "1a" * 32,
    "x86_64-pc-windows-gnu": "2b" * 32,
    "x86_64-unknown-linux-gnu": "3c" * 32,
}


class Channels(unittest.TestCase):
    def test_they_are_the_golden_files(self):
        made = generate.manifests("1.2.3", "https://example.org/liteio/", SUMS)
        if os.environ.get("GOLDEN") == "write":
            for name, text in made.items():
                (GOLDEN / name).parent.mkdir(exist_ok=True)
                (GOLDEN / name).write_text(text)
        self.assertEqual({it.relative_to(GOLDEN).as_posix() for it in GOLDEN.rglob("*") if it.is_file()}, set(made))
        for name, text in made.items():
            self.assertEqual(text, (GOLDEN / name).read_text(), name)

    def test_managers_of_systems_without_an_archive_get_nothing(self):
        made = generate.manifests("1.2.3", "https://example.org/liteio", {"x86_64-unknown-linux-gnu": "3c" * 32})
        self.assertNotIn("liteio.scoop.json", made)
        self.assertEqual([it for it in made if it.startswith("winget/")], [])
        self.assertNotIn("darwin", made["flake.nix"])
        self.assertNotIn("aarch64", made["PKGBUILD"])
        self.assertNotIn("on_macos", made["liteio.rb"])

    def test_those_of_the_release_have_the_sum_of_the_archive(self):
        digest = sha256(DIST / f"{NAME}.tar.gz")
        for name in ["liteio.rb", "PKGBUILD"]:
            self.assertIn(digest, (DIST / name).read_text())

    def test_archives_that_nothing_knows_are_refused(self):
        directory = scratch(self)
        with self.assertRaisesRegex(SystemExit, "no archive"):
            generate.archives(directory, "1.2.3")
        (directory / "liteio-1.2.3-sparc-sun-solaris.tar.gz").touch()
        with self.assertRaisesRegex(SystemExit, "sparc"):
            generate.archives(directory, "1.2.3")

    def test_programs_that_read_them_find_no_error(self):
        run("bash", "-n", GOLDEN / "PKGBUILD")
        run("sh", "-n", GOLDEN / "install.sh")
        for program, *arguments in [["ruby", "-c", "liteio.rb"], ["nix-instantiate", "--parse", "flake.nix"]]:
            if shutil.which(program):
                run(program, *arguments, cwd=GOLDEN)
