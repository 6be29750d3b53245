"""The files for processors that are not this machine's: every package has the program of the archive, and names its processor."""

import struct
import tarfile
import unittest
import zipfile

from dist import DEBIAN, DIST, PROCESSOR, ROOT, TARGETS, VERSION, run, scratch, sha256
from test_registries import CLASSIFIERS, PLATFORMS, has

MACHINES = {"x86_64": 0x3E, "aarch64": 0xB7}
OTHERS = [it for it in TARGETS if not it.startswith(PROCESSOR)]


@unittest.skipUnless(OTHERS, "the release is of one target: LITEIO_ARM names the program of another")
class Platforms(unittest.TestCase):
    def each(self):
        for target in OTHERS:
            with self.subTest(target):
                yield target, target.split("-")[0]

    def program(self, target):
        """The program of the archive."""
        directory, name = scratch(self), f"liteio-{VERSION}-{target}"
        with tarfile.open(DIST / f"{name}.tar.gz") as archive:
            archive.extractall(directory, filter="fully_trusted")
        return directory / name / "liteio"

    def test_the_program_is_static_and_starts(self):
        for target, processor in self.each():
            program = self.program(target)
            header = program.read_bytes()[:64]
            self.assertEqual(struct.unpack_from("<H", header, 18)[0], MACHINES[processor])
            self.assertNotIn("INTERP", run("readelf", "--segments", "--wide", program).stdout)
            cross = ROOT / f"target/cross/{target}.sh"
            self.assertTrue(cross.exists(), f"run .ci/cross {target} first")
            told = run("bash", "-c", f'source {cross}; "$LITEIO_EMULATOR" "$0" --version', program).stdout
            self.assertEqual(told, f"liteio {VERSION}\n")
            # Written by this very program.
            pages = {it.name for it in (program.parent / "man").iterdir()}
            self.assertLessEqual({"liteio.1", "liteio-server.1"}, pages)

    def test_all_packages_have_this_program(self):
        for target, processor in self.each():
            digest = sha256(self.program(target))
            found = {}
            place = scratch(self)
            deb = DIST / f"liteio_{VERSION}_{DEBIAN[processor]}.deb"
            run("dpkg-deb", "--extract", deb, place / "deb")
            found["deb"] = sha256(place / "deb/usr/bin/liteio")
            self.assertEqual(run("dpkg-deb", "--field", deb, "Architecture").stdout.strip(), DEBIAN[processor])
            if has("rpm2cpio", "cpio"):
                rpm = DIST / f"liteio-{VERSION}-1.{processor}.rpm"
                (place / "rpm").mkdir()
                run("sh", "-c", f"rpm2cpio {rpm} | cpio --quiet --extract --make-directories", cwd=place / "rpm")
                found["rpm"] = sha256(place / "rpm/usr/bin/liteio")
                self.assertEqual(run("rpm", "--query", "--package", "--queryformat", "%{ARCH}", rpm).stdout, processor)
            tags = f"manylinux_2_17_{processor}.manylinux2014_{processor}.musllinux_1_1_{processor}"
            with zipfile.ZipFile(DIST / f"python/liteio-{VERSION}-py3-none-{tags}.whl") as wheel:
                wheel.extract("liteio/bin/liteio", place)
            found["wheel"] = sha256(place / "liteio/bin/liteio")
            with tarfile.open(DIST / f"npm/liteio-{PLATFORMS[processor]}-{VERSION}.tgz") as package:
                package.extract("package/bin/liteio", place, filter="fully_trusted")
            found["npm"] = sha256(place / "package/bin/liteio")
            jar = DIST / f"maven/liteio/liteio-junit/{VERSION}/liteio-junit-{VERSION}-{CLASSIFIERS[processor]}.jar"
            with zipfile.ZipFile(jar) as archive:
                inside = f"META-INF/liteio/{CLASSIFIERS[processor]}/liteio"
                archive.extract(inside, place)
                self.assertEqual(archive.read(f"{inside}.sha256").decode().strip(), digest)
            found["jar"] = sha256(place / inside)
            self.assertEqual(found, dict.fromkeys(found, digest))

    def test_what_chooses_a_platform_knows_it(self):
        for target, processor in self.each():
            digest = sha256(DIST / f"liteio-{VERSION}-{target}.tar.gz")
            self.assertIn(f"Linux-{processor} | ", (DIST / "install.sh").read_text())
            self.assertIn(f"echo {target} ;;", (DIST / "install.sh").read_text())
            for name in ("liteio.rb", "PKGBUILD"):
                self.assertIn(digest, (DIST / name).read_text(), name)
            self.assertIn(f'"{processor}-linux"', (DIST / "flake.nix").read_text())
            with tarfile.open(DIST / f"npm/liteio-{VERSION}.tgz") as main:
                manifest = main.extractfile("package/package.json").read().decode()
            self.assertIn(f'"@liteio/{PLATFORMS[processor]}": "{VERSION}"', manifest)


if __name__ == "__main__":
    unittest.main()
