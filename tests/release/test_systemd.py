"""The deb on a small Debian that systemd has booted: ready, killed, hung, reloaded, upgraded, booted again, removed."""

import os
import select
import shutil
import socket
import subprocess
import time
import unittest

from dist import DEB, ROOT, run, scratch

DEBIAN = ROOT / "target/systemd-root"
KEYS = {"LITEIO_ACCESS_KEY": "the-unit", "LITEIO_SECRET_KEY": "the-secret-of-it"}
SECONDS_MAX = 60
DROP_IN = "/etc/systemd/system/liteio.service.d/test.conf"


def debian():
    """The root of a Debian with systemd and nothing else; it is made once."""
    if not DEBIAN.exists():
        part = DEBIAN.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        part.parent.mkdir(exist_ok=True)
        subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", "--include=systemd,systemd-sysv,dbus", "bookworm", part],
                       check=True)
        (part / "etc/hosts").write_text("127.0.0.1 localhost\n")
        part.rename(DEBIAN)
    return DEBIAN


class System:
    """A container with systemd as its first process, on a copy of the root that goes with the test."""

    def __init__(self, test):
        self.directory = scratch(test)
        self.root = self.directory / "root"
        run("cp", "--archive", debian(), self.root)
        test.addCleanup(self.end)
        self.boot()

    def boot(self):
        """Returns when the first process says that the system has booted."""
        place = self.directory / "notified"
        place.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified, (self.directory / "log").open("w+") as log:
            notified.bind(str(place))
            self.container = subprocess.Popen(
                ["systemd-nspawn", "--quiet", "--boot", "--notify-ready=yes", "--register=no", "--keep-unit", "--private-network",
                 "--console=pipe", f"--directory={self.root}", f"--machine=liteio-{os.getpid()}", f"--bind-ro={DEB}:/liteio.deb"],
                env={**os.environ, "NOTIFY_SOCKET": str(place)}, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            told = {}
            while told.get("READY") != "1":
                if not select.select([notified], [], [], SECONDS_MAX)[0] or self.container.poll() is not None:
                    log.seek(0)
                    raise AssertionError(f"no system has booted: {log.read()}")
                told.update(line.partition("=")[::2] for line in notified.recv(4096).decode().splitlines())
        # The first process: commands run beside it.
        self.init = told["X_NSPAWN_LEADER_PID"]

    def end(self):
        """Shuts the system down."""
        self.container.terminate()
        self.container.wait(SECONDS_MAX)

    def run(self, *command, **options):
        """Runs a command there, with the keys of the server."""
        variables = [f"{name}={value}" for name, value in KEYS.items()]
        return run("nsenter", f"--target={self.init}", "--all", "env", "--ignore-environment", "PATH=/usr/sbin:/usr/bin",
                   "HOME=/root", *variables, *command, **options)

    def shell(self, script, **options):
        return self.run("sh", "-ec", script, **options)

    def unit(self):
        told = self.run("systemctl", "show", "liteio").stdout
        return dict(line.partition("=")[::2] for line in told.splitlines())

    def set_drop_in(self, text):
        self.shell(f"mkdir -p $(dirname {DROP_IN}) && cat >{DROP_IN} && systemctl daemon-reload", input=f"[Service]\n{text}")

    def wait_for_restart(self, restarts):
        """Waits until the unit has been restarted by itself more often, and is ready."""
        end = time.monotonic() + SECONDS_MAX
        while True:
            unit = self.unit()
            if int(unit["NRestarts"]) > restarts and unit["ActiveState"] == "active":
                return unit
            if time.monotonic() > end:
                raise AssertionError(unit)
            time.sleep(0.05)  # Between two questions.


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("systemd-nspawn") and shutil.which("mmdebstrap"),
                     "NOT CHECKED: the unit under systemd needs root, systemd-nspawn and mmdebstrap")
class Systemd(unittest.TestCase):
    def setUp(self):
        self.system = System(self)
        self.system.run("dpkg", "--install", "/liteio.deb")

    def enable(self):
        """Starts the service, as its package says. It is ready afterwards."""
        for name, value in KEYS.items():
            self.system.shell(f"echo {name}={value} >>/etc/liteio/liteio.env")
        self.system.run("systemctl", "enable", "--now", "liteio")

    def start(self):
        """The system, with a running service that has an object."""
        self.enable()
        self.system.run("liteio", "client", "mb", "local/photos")
        self.system.run("liteio", "client", "pipe", "local/photos/cat", input="meow")
        return self.system

    def assert_kept(self):
        self.assertEqual(self.system.run("liteio", "client", "cat", "local/photos/cat").stdout, "meow")

    def test_nothing_runs_before_there_are_credentials(self):
        unit = self.system.unit()
        self.assertEqual((unit["ActiveState"], unit["UnitFileState"]), ("inactive", "disabled"))

    def test_it_runs_with_few_rights_and_its_data_are_its_own(self):
        system = self.start()
        unit = system.unit()
        self.assertEqual((unit["ActiveState"], unit["StatusText"], unit["NRestarts"]), ("active", "ready", "0"))
        lines = system.run("cat", f"/proc/{unit['MainPID']}/status").stdout.splitlines()
        status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        self.assertEqual((int(status["CapEff"], 16), status["NoNewPrivs"], status["Seccomp"]), (0, "1", "2"))
        user = system.run("id", "-u", "liteio").stdout.strip()
        self.assertEqual(set(status["Uid"].split()), {user})
        self.assertEqual(system.run("stat", "-c", "%U %a", "/var/lib/liteio").stdout, "liteio 750\n")

    def test_it_comes_back_after_a_kill_and_after_it_hangs(self):
        system = self.start()
        system.shell(f"kill -KILL {system.unit()['MainPID']}")
        system.wait_for_restart(0)
        self.assert_kept()
        system.set_drop_in("WatchdogSec=2")
        system.run("systemctl", "restart", "liteio")
        system.shell(f"kill -STOP {system.unit()['MainPID']}")
        system.wait_for_restart(0)
        self.assertIn("Watchdog timeout", system.run("journalctl", "--unit=liteio", "--no-pager").stdout)
        self.assert_kept()

    def test_it_is_started_again_however_often_it_fails(self):
        system = self.start()
        # As while its disk or its database is away, and faster.
        system.set_drop_in("RestartSec=10ms\nExecStartPre=/bin/false")
        system.run("systemctl", "restart", "liteio", check=False)
        end = time.monotonic() + SECONDS_MAX
        while int(system.unit()["NRestarts"]) < 10:
            self.assertLess(time.monotonic(), end, system.unit())
            time.sleep(0.05)  # Between two questions.
        system.shell(f"rm {DROP_IN} && systemctl daemon-reload && systemctl restart liteio")
        self.assert_kept()

    def test_a_reload_reaches_the_process_and_keeps_it(self):
        system = self.start()
        system.set_drop_in("Environment=LITEIO_AUDIT_FILE=/var/log/liteio/audit.log")
        system.run("systemctl", "restart", "liteio")
        before = system.unit()["MainPID"]
        # As logrotate does it.
        system.shell("mv /var/log/liteio/audit.log /var/log/liteio/audit.log.1")
        system.run("systemctl", "reload", "liteio")
        end = time.monotonic() + SECONDS_MAX
        while system.run("test", "-e", "/var/log/liteio/audit.log", check=False).returncode and time.monotonic() < end:
            time.sleep(0.05)  # Between two questions.
        system.run("test", "-e", "/var/log/liteio/audit.log")
        self.assertEqual(system.unit()["MainPID"], before)

    def test_settings_that_are_not_valid_end_it_until_they_are_changed(self):
        system = self.start()
        system.set_drop_in("Environment=LITEIO_ADDRESS=nonsense")
        self.assertNotEqual(system.run("systemctl", "restart", "liteio", check=False).returncode, 0)
        unit = system.unit()
        self.assertEqual((unit["ActiveState"], unit["ExecMainStatus"], unit["NRestarts"]), ("failed", "2", "0"))
        self.assertIn("nonsense", system.run("journalctl", "--unit=liteio", "--no-pager").stdout)
        # A port below 1024, as the unit says it.
        system.set_drop_in("Environment=LITEIO_ADDRESS=127.0.0.1:80\n"
                           "AmbientCapabilities=CAP_NET_BIND_SERVICE\nCapabilityBoundingSet=CAP_NET_BIND_SERVICE")
        system.run("systemctl", "restart", "liteio")
        system.run("env", "MC_HOST_low=http://the-unit:the-secret-of-it@127.0.0.1", "liteio", "client", "ready", "low")

    def test_an_upgrade_restarts_it_and_a_boot_starts_it(self):
        system = self.start()
        before = system.unit()["MainPID"]
        system.run("dpkg", "--install", "/liteio.deb")
        after = system.unit()
        self.assertEqual((after["ActiveState"], before == after["MainPID"]), ("active", False))
        self.assert_kept()
        system.end()
        system.boot()
        self.assertEqual(system.unit()["ActiveState"], "active")
        self.assert_kept()

    def test_it_is_stopped_and_removed_and_its_objects_stay(self):
        system = self.start()
        system.run("dpkg", "--remove", "liteio")
        self.assertEqual(system.run("systemctl", "is-active", "liteio", check=False).stdout, "inactive\n")
        self.assertEqual(system.shell("ls /etc/liteio").stdout, "liteio.env\n")
        system.run("dpkg", "--purge", "liteio")
        self.assertNotEqual(system.shell("ls /etc/liteio", check=False).returncode, 0)
        self.assertIn("format\n", system.shell("ls /var/lib/liteio").stdout)
        system.run("dpkg", "--install", "/liteio.deb")
        self.enable()
        self.assert_kept()


if __name__ == "__main__":
    unittest.main()
