"""The install script, against a server of this machine."""

import contextlib
import functools
import http.server
import os
import pathlib
import shutil
import subprocess
import threading
import unittest

from dist import DIST, NAME, VERSION, run, scratch, sha256, unpacked

SCRIPT = DIST / "install.sh"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def served(directory):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(directory)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class InstallScript(unittest.TestCase):
    def setUp(self):
        self.home = scratch(self)
        self.release = scratch(self)
        for name in [f"{NAME}.tar.gz", "SHA256SUMS"]:
            shutil.copy(DIST / name, self.release)

    def install(self, shell="sh", script=None, path=os.environ["PATH"], **variables):
        """Runs the script as `curl … | sh` does."""
        with served(self.release) as url:
            environment = {"PATH": path, "HOME": str(self.home), "LITEIO_DOWNLOAD_URL": url,
                           "LITEIO_INSTALL_DIR": str(self.home / "bin")} | variables
            environment = {name: value for name, value in environment.items() if value is not None}
            return subprocess.run([shell], input=script or SCRIPT.read_text(), env=environment, text=True,
                                  capture_output=True, timeout=120, cwd=self.home)

    def assert_refused(self, result, reason):
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn(reason, result.stderr)
        self.assertEqual([it for it in self.home.rglob("*") if it.is_file()], [])

    def path_without(self, *programs):
        """A PATH without these programs."""
        directory = scratch(self)
        for place in ["/usr/local/bin", "/usr/bin", "/bin"]:
            for program in pathlib.Path(place).glob("*"):
                if program.name not in programs and not (directory / program.name).exists():
                    (directory / program.name).symlink_to(program)
        return str(directory)

    def test_it_installs_the_program_of_the_archive(self):
        for shell in [it for it in ["sh", "dash", "bash"] if shutil.which(it)]:
            result = self.install(shell)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn(f"LiteIO {VERSION}", result.stdout)
            self.assertIn("is not in PATH", result.stdout)
            program = self.home / "bin/liteio"
            self.assertEqual(sha256(program), sha256(unpacked(self) / "liteio"))
            self.assertEqual(run(program, "--version").stdout, f"liteio {VERSION}\n")
            self.assertEqual([it.name for it in program.parent.iterdir()], ["liteio"])

    def test_it_replaces_a_program_that_runs(self):
        self.install()
        program = self.home / "bin/liteio"
        before = program.stat().st_ino
        command = [str(program), "server", "--memory", "--address", "127.0.0.1:0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
            try:
                self.assertTrue(running.stdout.readline())
                self.assertEqual(self.install().returncode, 0)
                self.assertIsNone(running.poll())
                self.assertNotEqual(program.stat().st_ino, before)
            finally:
                running.terminate()
                running.communicate()

    def test_a_directory_in_path_is_told_and_root_has_its_own(self):
        path = f"{self.home}/bin:{os.environ['PATH']}"
        self.assertIn("Start it with: liteio\n", self.install(path=path).stdout)

    def test_wget_is_enough(self):
        if not shutil.which("wget"):
            self.skipTest("no wget")
        self.assertEqual(self.install(path=self.path_without("curl")).returncode, 0)

    def test_without_a_way_to_download_or_verify_nothing_is_installed(self):
        self.assert_refused(self.install(path=self.path_without("curl", "wget")), "curl or wget")
        self.assert_refused(self.install(path=self.path_without("sha256sum", "shasum")), "sha256sum or shasum")

    def test_another_archive_than_that_of_the_sums_is_refused(self):
        with (self.release / f"{NAME}.tar.gz").open("ab") as archive:
            archive.write(b"x")
        self.assert_refused(self.install(), "instead of")

    def test_what_is_missing_is_named(self):
        (self.release / "SHA256SUMS").write_text("")
        self.assert_refused(self.install(), "does not name")
        (self.release / f"{NAME}.tar.gz").unlink()
        self.assert_refused(self.install(), "cannot download")

    def test_a_directory_that_cannot_be_written_is_named(self):
        result = self.install(LITEIO_INSTALL_DIR="/proc/liteio")
        self.assert_refused(result, "LITEIO_INSTALL_DIR")

    def test_a_program_that_does_not_run_is_not_installed(self):
        root = unpacked(self)
        (root / "liteio").write_text("#!/bin/false\n")
        archive = self.release / f"{NAME}.tar.gz"
        run("tar", "-czf", archive, "-C", root.parent, root.name)
        (self.release / "SHA256SUMS").write_text(f"{sha256(archive)}  {archive.name}\n")
        self.assert_refused(self.install(), "does not run")

    def test_other_machines_are_told_what_to_do(self):
        directory = pathlib.Path(self.path_without("uname"))
        (directory / "uname").write_text('#!/bin/sh\n[ "$1" = -s ] && echo Plan9 || echo mips\n')
        (directory / "uname").chmod(0o755)
        self.assert_refused(self.install(path=str(directory)), "Plan9 on mips")

    def test_a_script_that_is_cut_off_does_nothing(self):
        text = SCRIPT.read_text()
        for part in range(1, 10):
            result = self.install(script=text[: len(text) * part // 10])
            self.assertNotIn("Installed", result.stdout)
            self.assertEqual([it for it in self.home.rglob("*") if it.is_file()], [])

    def test_it_is_clean(self):
        if not shutil.which("shellcheck"):
            self.skipTest("no shellcheck")
        run("shellcheck", SCRIPT)
