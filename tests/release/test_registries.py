"""The packages for PyPI, npm and Maven Central, each installed without network where nothing of it is yet."""

import base64
import csv
import email
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import struct
import sys
import tarfile
import tempfile
import unittest
import xml.etree.ElementTree
import zipfile

import crates
from dist import DIST, PROCESSOR, ROOT, TARGETS, VERSION, run, scratch, sha256

ADDRESS = crates.own()["repository"]
WHEEL = next((DIST / "python").glob(f"*_{PROCESSOR}.whl"))
SDIST = DIST / f"python/liteio-{VERSION}.tar.gz"
PLATFORMS = {"x86_64": "linux-x64", "aarch64": "linux-arm64"}
NPM = PLATFORMS[PROCESSOR]
CLASSIFIERS = {"x86_64": "linux-x86_64", "aarch64": "linux-aarch_64"}
CLASSIFIER = CLASSIFIERS[PROCESSOR]
JAVA = DIST / "maven/liteio/liteio-junit" / VERSION
# No program `liteio` of the machine, no settings, no network: what is found is what was installed.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "npm_config_offline": "true", "npm_config_audit": "false", "npm_config_fund": "false",
               "npm_config_update_notifier": "false", "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def has(*programs):
    """Whether programs are there; those that are not are told, since their tests are left out."""
    missing = [it for it in programs if not shutil.which(it)]
    if missing:
        print(f"\n!!!! NOT CHECKED: packages that need {', '.join(missing)}\n", file=sys.stderr)
    return not missing


def one_line(result):
    lines = result.stderr.strip().splitlines()
    assert result.returncode == 1 and len(lines) == 1, (result.returncode, result.stdout, result.stderr)
    return lines[0]


class Python(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.home)
        cls.environment = ENVIRONMENT | {"HOME": str(cls.home)}
        run(sys.executable, "-m", "venv", cls.home / "venv")

    def test_it_is_installed_offline_and_stores_an_object(self):
        home = self.home
        run(home / "venv/bin/pip", "install", "--quiet", "--find-links", DIST / "python", "liteio", env=self.environment)
        script = """
import liteio, urllib.request
with liteio.Server(buckets=["photos:public"]) as server:
    url = server.endpoint + "/photos/hello.txt"
    urllib.request.urlopen(urllib.request.Request(url, data=b"hello", method="PUT")).close()
    print(urllib.request.urlopen(url).read().decode(), liteio.__version__, liteio.find_binary())
"""
        told = run(home / "venv/bin/python", "-c", script, env=self.environment).stdout.split()
        self.assertEqual(told[:2], ["hello", VERSION])
        self.assertTrue(told[2].startswith(f"{home}/venv/"), told)
        command = run(home / "venv/bin/liteio", "--version", env=self.environment)
        self.assertEqual(command.stdout, f"liteio {VERSION}\n")
        # Without the binary, as on a platform that has no wheel.
        os.unlink(told[2])
        missing = run(home / "venv/bin/liteio", "--version", env=self.environment, check=False)
        self.assertIn("Set LITEIO_BINARY to its path", one_line(missing))

    def test_a_wheel_of_another_platform_is_refused_in_one_line(self):
        other = {"x86_64": "aarch64", "aarch64": "x86_64"}[PROCESSOR]
        foreign = scratch(self) / WHEEL.name.replace(PROCESSOR, other)
        shutil.copy(WHEEL, foreign)
        refused = run(self.home / "venv/bin/pip", "install", "--quiet", foreign, env=self.environment, check=False)
        self.assertIn("is not a supported wheel on this platform", one_line(refused))

    def test_it_is_described(self):
        self.assertEqual(WHEEL.name, f"liteio-{VERSION}-py3-none-manylinux_2_17_{PROCESSOR}.manylinux2014_{PROCESSOR}"
                         f".musllinux_1_1_{PROCESSOR}.whl")
        with zipfile.ZipFile(WHEEL) as archive:
            info = f"liteio-{VERSION}.dist-info"
            metadata = email.message_from_bytes(archive.read(f"{info}/METADATA"))
            entries = archive.read(f"{info}/entry_points.txt").decode()
            names = set(archive.namelist())
        self.assertEqual((metadata["Name"], metadata["Version"]), ("liteio", VERSION))
        self.assertEqual(metadata["License-Expression"], "MIT OR Apache-2.0")
        self.assertEqual(metadata.get_all("Project-URL"), [f"Homepage, {ADDRESS}", f"Source, {ADDRESS}"])
        self.assertEqual(metadata.get_all("License-File"), ["LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY"])
        self.assertIn("Framework :: Pytest", metadata.get_all("Classifier"))
        # Both are refused together.
        self.assertFalse([it for it in metadata.get_all("Classifier") if it.startswith("License")])
        self.assertIn("LiteIO for Python", metadata.get_payload())
        self.assertRegex(entries, r"\[console_scripts\]\nliteio = liteio\._command:main")
        self.assertRegex(entries, r"\[pytest11\]\nliteio = pytest_liteio")
        self.assertLessEqual({"liteio/py.typed", "pytest_liteio.py", f"{info}/licenses/THIRD-PARTY"}, names)

    def test_its_record_and_modes_are_right(self):
        with zipfile.ZipFile(WHEEL) as archive:
            record = archive.read(f"liteio-{VERSION}.dist-info/RECORD").decode()
            for name, sum_, _ in csv.reader(io.StringIO(record)):
                if sum_:
                    digest = base64.urlsafe_b64encode(hashlib.sha256(archive.read(name)).digest()).rstrip(b"=").decode()
                    self.assertEqual(sum_, f"sha256={digest}", name)
            modes = {it.filename: it.external_attr >> 16 & 0o777 for it in archive.infolist()}
        self.assertEqual({name for name, mode in modes.items() if mode == 0o755}, {"liteio/bin/liteio"})
        self.assertEqual(set(modes.values()), {0o644, 0o755})

    def test_the_source_distribution_has_no_binary(self):
        with tarfile.open(SDIST) as archive:
            names = {it.removeprefix(f"liteio-{VERSION}/") for it in archive.getnames()}
            pyproject = archive.extractfile(f"liteio-{VERSION}/pyproject.toml").read().decode()
        self.assertLessEqual({"PKG-INFO", "build_binary.py", "src/liteio/__init__.py", "LICENSE-MIT"}, names)
        self.assertFalse([it for it in names if it.endswith(("bin/liteio", "THIRD-PARTY", ".pyc"))])
        self.assertIn(f'Source = "{ADDRESS}"', pyproject)


@unittest.skipUnless(has("npm"), "no npm")
class Npm(unittest.TestCase):
    MAIN, PLATFORM = DIST / f"npm/liteio-{VERSION}.tgz", DIST / f"npm/liteio-{NPM}-{VERSION}.tgz"

    def project(self):
        home = scratch(self)
        (home / "package.json").write_text("{}")
        environment = ENVIRONMENT | {"HOME": str(home), "PATH": f"{pathlib.Path(shutil.which('node')).parent}:/usr/bin:/bin"}
        return home, environment

    def manifest(self, file):
        with tarfile.open(file) as archive:
            return json.load(archive.extractfile("package/package.json"))

    def test_it_is_installed_offline_and_stores_an_object(self):
        home, environment = self.project()
        run("npm", "install", "--silent", self.MAIN, self.PLATFORM, cwd=home, env=environment)
        script = """
import { findBinary, startServer } from "liteio";
const server = await startServer({ buckets: ["photos:public"] });
const url = `${server.endpoint}/photos/hello.txt`;
await fetch(url, { method: "PUT", body: "hello" });
console.log(await (await fetch(url)).text(), findBinary());
await server.stop();
"""
        told = run("node", "--input-type=module", "--eval", script, cwd=home, env=environment).stdout.split()
        self.assertEqual(told, ["hello", f"{home.resolve()}/node_modules/@liteio/{NPM}/bin/liteio"])
        command = run(home / "node_modules/.bin/liteio", "--version", env=environment)
        self.assertEqual(command.stdout, f"liteio {VERSION}\n")

    def test_without_its_platform_it_is_installed_and_tells_what_to_do_in_one_line(self):
        home, environment = self.project()
        run("npm", "install", "--silent", self.MAIN, cwd=home, env=environment)
        missing = run(home / "node_modules/.bin/liteio", "--version", env=environment, check=False)
        self.assertIn(f"@liteio/{NPM}", one_line(missing))

    def foreign(self, out):
        """The package of the platform that this is not, with the header of a program."""
        machine = {"x86_64": 0xB7, "aarch64": 0x3E}[PROCESSOR]
        program = b"\x7fELF\x02\x01" + bytes(10) + struct.pack("<HHIQQQIHHH", 2, machine, 1, 0, 64, 0, 0, 64, 56, 0)
        (out / "program").write_bytes(program.ljust(64, b"\0"))
        return pathlib.Path(run(ROOT / "packaging/npm/platform", out / "program", "LICENSE-MIT", out).stdout.strip())

    def test_the_package_of_another_platform_is_refused(self):
        home, environment = self.project()
        refused = run("npm", "install", self.foreign(home), cwd=home, env=environment, check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("Unsupported platform", refused.stderr)
        self.assertFalse((home / "node_modules/@liteio").exists())

    def test_a_release_of_two_platforms_is_installed_on_one(self):
        home, environment = self.project()
        out = scratch(self)
        foreign = self.foreign(out)
        shutil.copy(self.PLATFORM, out / "npm")
        # A run after the first finds its own package.
        for _ in range(2):
            main = run(ROOT / "packaging/npm/main", out).stdout.strip()
        self.assertEqual(self.manifest(main)["optionalDependencies"],
                         {"@liteio/linux-arm64": VERSION, "@liteio/linux-x64": VERSION})
        self.assertTrue(foreign.exists())
        run("npm", "install", "--silent", main, self.PLATFORM, cwd=home, env=environment)
        command = run(home / "node_modules/.bin/liteio", "--version", env=environment)
        self.assertEqual(command.stdout, f"liteio {VERSION}\n")

    def test_they_are_described(self):
        main, platform = self.manifest(self.MAIN), self.manifest(self.PLATFORM)
        released = {f"@liteio/{PLATFORMS[it.split('-')[0]]}": VERSION for it in TARGETS}
        self.assertEqual(main["optionalDependencies"], released)
        self.assertEqual((platform["name"], platform["os"], platform["cpu"]), (f"@liteio/{NPM}", ["linux"], [NPM.split("-")[1]]))
        for manifest in (main, platform):
            self.assertEqual((manifest["version"], manifest["license"], manifest["homepage"], manifest["repository"]["url"]),
                             (VERSION, "MIT OR Apache-2.0", ADDRESS, ADDRESS))
        with tarfile.open(self.PLATFORM) as archive:
            modes = {it.name.removeprefix("package/"): it.mode for it in archive.getmembers()}
        self.assertEqual(modes["bin/liteio"], 0o755)
        self.assertLessEqual({"LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY"}, set(modes))


@unittest.skipUnless(has("java", "javadoc", "mvn"), "no Java or Maven")
class Maven(unittest.TestCase):
    def classpath(self, *jars):
        gson = next(pathlib.Path.home().glob(".m2/repository/com/google/code/gson/gson/*/gson-*.jar"))
        return ":".join(map(str, (*jars, gson)))

    def smoke(self, home, *jars):
        (home / "Smoke.java").write_text("""
import java.net.URI;
import java.net.http.*;
import liteio.*;

class Smoke {
    public static void main(String[] arguments) throws Exception {
        try (LiteIOServer server = LiteIOServer.builder().buckets("photos:public").start()) {
            HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(server.endpoint() + "/photos/hello.txt"));
            HttpClient client = HttpClient.newHttpClient();
            HttpResponse.BodyHandler<String> text = HttpResponse.BodyHandlers.ofString();
            client.send(request.PUT(HttpRequest.BodyPublishers.ofString("hello")).build(), text);
            System.out.println(client.send(request.GET().build(), text).body());
        } catch (LiteIOException error) {
            System.err.println(error.getMessage());
            System.exit(1);
        }
    }
}
""")
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
        return run("java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", self.classpath(*jars), home / "Smoke.java",
                   env=environment, check=False)

    def test_the_binary_of_its_jar_stores_an_object(self):
        home = scratch(self)
        binary = JAVA / f"liteio-junit-{VERSION}-{CLASSIFIER}.jar"
        result = self.smoke(home, JAVA / f"liteio-junit-{VERSION}.jar", binary)
        self.assertEqual((result.returncode, result.stdout), (0, "hello\n"), result.stderr)
        [program] = [it for it in (home / "cache").rglob("*") if it.is_file()]
        self.assertEqual(program.stat().st_mode & 0o777, 0o700)
        self.assertEqual(program.parent.name, sha256(program))
        # A jar of another platform is none.
        foreign = home / "foreign.jar"
        with zipfile.ZipFile(binary) as archive, zipfile.ZipFile(foreign, "w") as other:
            for name in archive.namelist():
                if not name.endswith("/liteio"):
                    other.writestr(name.replace(CLASSIFIER, "linux-s390x"), archive.read(name))
        missing = self.smoke(home, JAVA / f"liteio-junit-{VERSION}.jar", foreign)
        self.assertIn(f"with the classifier {CLASSIFIER}", one_line(missing))

    def test_the_repository_has_what_maven_central_requires(self):
        prefix = f"liteio-junit-{VERSION}"
        classifiers = [CLASSIFIERS[it.split("-")[0]] for it in TARGETS]
        made = {f"{prefix}{it}" for it in (".pom", ".jar", "-sources.jar", "-javadoc.jar", *(f"-{it}.jar" for it in classifiers))}
        sums = ("md5", "sha1", "sha256", "sha512")
        self.assertEqual({it.name for it in JAVA.iterdir()}, made | {f"{name}.{kind}" for name in made for kind in sums})
        for name in made:
            for kind in sums:
                expected = hashlib.new(kind, (JAVA / name).read_bytes()).hexdigest()
                self.assertEqual((JAVA / f"{name}.{kind}").read_text(), expected, name)
        for name, member in (("-sources", "liteio/LiteIOServer.java"), ("-javadoc", "liteio/LiteIOServer.html"),
                             ("-javadoc", "liteio/testcontainers/LiteIOContainer.html"), ("", "liteio/LiteIOServer.class"),
                             ("", "liteio/testcontainers/LiteIOContainer.class"), (f"-{CLASSIFIER}", "META-INF/THIRD-PARTY")):
            with zipfile.ZipFile(JAVA / f"{prefix}{name}.jar") as archive:
                names = archive.namelist()
            self.assertEqual(names[0], "META-INF/MANIFEST.MF")
            self.assertLessEqual({member, "META-INF/LICENSE-MIT"}, set(names))

    def test_it_is_described(self):
        pom = xml.etree.ElementTree.parse(JAVA / f"liteio-junit-{VERSION}.pom")
        space = {"m": "http://maven.apache.org/POM/4.0.0"}
        found = {path: pom.findtext(f"m:{path.replace('/', '/m:')}", namespaces=space)
                 for path in ("groupId", "artifactId", "version", "url", "scm/url", "scm/connection", "developers/developer/name")}
        self.assertEqual(found, {"groupId": "liteio", "artifactId": "liteio-junit", "version": VERSION, "url": ADDRESS,
                                 "scm/url": ADDRESS, "scm/connection": f"scm:git:{ADDRESS}",
                                 "developers/developer/name": "The LiteIO developers"})
        self.assertTrue(pom.findtext("m:description", namespaces=space))
        licences = [(it.findtext("m:name", namespaces=space), it.findtext("m:url", namespaces=space))
                    for it in pom.iterfind("m:licenses/m:license", space)]
        self.assertEqual([it[0] for it in licences], ["MIT", "Apache-2.0"])
        self.assertTrue(all(it[1].startswith("https://") for it in licences))


class Tools(unittest.TestCase):
    def test_a_missing_program_is_told_and_ends_a_release_that_has_to_be_complete(self):
        script = "source packaging/lib.sh; if has no-such-program 'the thing' a-package; then echo made; fi; echo 'went on'"
        for complete, expected in (("", (0, "went on\n")), ("1", (1, ""))):
            told = run("bash", "-euc", script, cwd=ROOT, env=os.environ | {"LITEIO_RELEASE_COMPLETE": complete}, check=False)
            self.assertEqual((told.returncode, told.stdout), expected)
            self.assertEqual(told.stderr.strip(), "!!!! NOT MADE: the thing: apt-get install a-package")


class Versions(unittest.TestCase):
    def test_a_package_of_another_version_is_not_packed(self):
        for kind, source in (("python", "python/pyproject.toml"), ("npm", "javascript/package.json"), ("maven", "java/pom.xml")):
            file = scratch(self) / "file"
            text = (ROOT / "packages" / source).read_text()
            file.write_text(text.replace(VERSION, "9.9.9", 1))
            refused = run(sys.executable, ROOT / "packaging/registry.py", kind, file, check=False)
            self.assertIn(f"has version 9.9.9, and Cargo.toml {VERSION}", one_line(refused))

    def test_the_documents_and_the_library_name_it(self):
        init = (ROOT / "packages/python/src/liteio/__init__.py").read_text()
        self.assertIn(f'__version__ = "{VERSION}"', init)
        found = re.findall(r"<artifactId>liteio.*</artifactId>\s*<version>(.*)</version>", (ROOT / "docs/java.md").read_text())
        self.assertEqual(set(found), {VERSION})


if __name__ == "__main__":
    unittest.main()
