"""The deb and the rpm, installed and removed in empty roots, and the unit."""

import os
import pathlib
import shutil
import unittest

from dist import DEB, RPM, run, scratch, unpacked, VERSION

CONFIG = "etc/liteio/liteio.env"
INSTALLED = ["usr/bin/liteio", "usr/lib/systemd/system/liteio.service", "usr/lib/sysusers.d/liteio.conf",
             "usr/share/bash-completion/completions/liteio", "usr/share/zsh/site-functions/_liteio",
             "usr/share/fish/vendor_completions.d/liteio.fish", "usr/share/man/man1/liteio.1.gz",
             "usr/share/man/man1/liteio-server.1.gz", "usr/share/doc/liteio/THIRD-PARTY", CONFIG]


def missing(root):
    return [it for it in INSTALLED if not (root / it).exists()]


@unittest.skipUnless(os.geteuid() == 0, "not root: packages are not installed")
class Deb(unittest.TestCase):
    def setUp(self):
        self.root = scratch(self)
        database = self.root / "var/lib/dpkg"
        for name in ["info", "updates", "triggers"]:
            (database / name).mkdir(parents=True)
        (database / "status").touch()

    def dpkg(self, *arguments):
        # Scripts run beside the root, as for images of systems: it has no shell.
        options = ["--force-script-chrootless", "--force-depends", "--force-confold"]
        return run("dpkg", f"--root={self.root}", "--log=/dev/null", *options, *arguments)

    def test_it_is_installed_upgraded_and_removed_and_keeps_settings_and_objects(self):
        self.dpkg("--install", DEB)
        self.assertEqual(missing(self.root), [])
        self.assertEqual(run(self.root / "usr/bin/liteio", "--version").stdout, f"liteio {VERSION}\n")
        users = (self.root / "etc/passwd").read_text()
        self.assertIn("liteio:x:", users)
        self.assertEqual((self.root / CONFIG).stat().st_mode & 0o777, 0o600)
        data = self.root / "var/lib/liteio/an-object"
        data.parent.mkdir(parents=True)
        data.write_text("kept")
        (self.root / CONFIG).write_text("LITEIO_REGION=eu-west-1\n")

        self.dpkg("--install", DEB)
        self.assertEqual((self.root / CONFIG).read_text(), "LITEIO_REGION=eu-west-1\n")
        self.dpkg("--remove", "liteio")
        self.assertEqual([it for it in INSTALLED if it not in missing(self.root)], [CONFIG])
        self.dpkg("--purge", "liteio")
        self.assertFalse((self.root / CONFIG).exists())
        self.assertEqual(data.read_text(), "kept")

    def test_it_is_described(self):
        fields = run("dpkg-deb", "--field", DEB).stdout
        for line in ["Package: liteio", "Section: net", "Priority: optional"]:
            self.assertIn(line, fields)
        self.assertNotIn("@", fields)
        members = run("dpkg-deb", "--contents", DEB).stdout.splitlines()
        self.assertEqual({it.split()[1] for it in members}, {"root/root"})


@unittest.skipUnless(RPM, "no rpmbuild: there is no rpm")
class Rpm(unittest.TestCase):
    def test_it_has_the_files_of_the_deb_and_keeps_settings(self):
        files = run("rpm", "--query", "--package", "--list", RPM).stdout
        self.assertEqual([it for it in INSTALLED if f"/{it}\n" not in files], [])
        self.assertEqual(run("rpm", "--query", "--package", "--configfiles", RPM).stdout, f"/{CONFIG}\n")
        about = run("rpm", "--query", "--package", "--queryformat",
                    "%{NAME} %{LICENSE} %{BUILDHOST} %{URL}", RPM).stdout
        self.assertTrue(about.startswith("liteio MIT OR Apache-2.0 liteio https://"), about)
        scripts = run("rpm", "--query", "--package", "--scripts", RPM).stdout
        self.assertIn("systemd-sysusers liteio.conf", scripts)

    @unittest.skipUnless(os.geteuid() == 0, "not root: packages are not installed")
    def test_it_is_installed_and_removed(self):
        root = scratch(self)
        # Its scripts need a shell in the root, which is empty.
        options = [f"--root={root}", "--nodeps", "--noscripts"]
        run("rpm", *options, "--install", RPM)
        self.assertEqual(missing(root), [])
        self.assertEqual(run(root / "usr/bin/liteio", "--version").stdout, f"liteio {VERSION}\n")
        (root / CONFIG).write_text("LITEIO_REGION=eu-west-1\n")
        run("rpm", *options, "--upgrade", "--force", RPM)
        self.assertEqual((root / CONFIG).read_text(), "LITEIO_REGION=eu-west-1\n")
        run("rpm", *options, "--erase", "liteio")
        self.assertEqual([it for it in INSTALLED if it not in missing(root)], [])


@unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd: the unit is not checked")
class Unit(unittest.TestCase):
    def root(self):
        """A root with the unit, the program, and the targets that the unit names."""
        root = scratch(self)
        units = root / "usr/lib/systemd/system"
        units.mkdir(parents=True)
        archive = unpacked(self)
        shutil.copy(archive / "systemd/liteio.service", units)
        (root / "usr/bin").mkdir()
        shutil.copy(archive / "liteio", root / "usr/bin")
        (root / "bin").mkdir()
        shutil.copy("/bin/true", root / "bin/sh")
        for name in ["network-online", "sysinit", "basic", "shutdown", "multi-user"]:
            (units / f"{name}.target").write_text(f"[Unit]\nDescription={name}\n")
        return root

    def test_systemd_reads_it_without_a_warning(self):
        root = self.root()
        unit = pathlib.Path("usr/lib/systemd/system/liteio.service")
        result = run("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", f"--root={root}", f"/{unit}")
        self.assertEqual(result.stdout + result.stderr, "")

    def test_it_is_hardened(self):
        unit = self.root() / "usr/lib/systemd/system/liteio.service"
        # In tenths: 16 are 1.6 of 10, where an ordinary service has 9.6.
        run("systemd-analyze", "security", "--offline=yes", "--threshold=16", "--no-pager", unit)

    def test_a_worse_unit_would_be_found(self):
        root = self.root()
        unit = root / "usr/lib/systemd/system/liteio.service"
        text = unit.read_text()
        unit.write_text(text.replace("CapabilityBoundingSet=\n", "").replace("PrivateDevices=yes\n", ""))
        result = run("systemd-analyze", "security", "--offline=yes", "--threshold=16", "--no-pager", unit, check=False)
        self.assertNotEqual(result.returncode, 0)
        unit.write_text(text.replace("Restart=", "Restrat="))
        told = run("systemd-analyze", "verify", "--man=no", f"--root={root}", "/usr/lib/systemd/system/liteio.service",
                   check=False)
        self.assertIn("Restrat", told.stdout + told.stderr)
