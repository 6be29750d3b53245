"""The Go module, as a proxy for modules serves it: no service has it, and nothing but a tag would publish it."""

import io
import json
import pathlib
import subprocess
import unittest
import zipfile

from dist import ROOT, VERSION, run, scratch, unpacked
from test_registries import has

MODULE = "example.org/liteio/packages/go"
TEST = """
package photos

import (
	"io"
	"net/http"
	"strings"
	"testing"

	liteio "example.org/liteio/packages/go"
)

func TestAnObjectIsStored(t *testing.T) {
	server := liteio.Start(t, liteio.Buckets("photos:public"))
	photo := server.Endpoint + "/photos/hello.txt"
	request, _ := http.NewRequest("PUT", photo, strings.NewReader("hello"))
	if answer, err := http.DefaultClient.Do(request); err != nil || answer.StatusCode != 200 {
		t.Fatal(answer, err)
	}
	answer, err := http.Get(photo)
	if err != nil {
		t.Fatal(err)
	}
	if body, _ := io.ReadAll(answer.Body); string(body) != "hello" {
		t.Fatal(string(body))
	}
}
"""


def module_files():
    """The files of the module, as git has them, without those of the module below it."""
    listed = subprocess.run(["git", "ls-files", "packages/go", ":!packages/go/testcontainers"], cwd=ROOT, check=True, text=True,
                            capture_output=True).stdout
    return {it.removeprefix("packages/go/"): (ROOT / it).read_bytes() for it in listed.split()}


@unittest.skipUnless(has("go"), "no Go")
class Go(unittest.TestCase):
    def proxy(self):
        """A folder that Go takes as a proxy, with the module under a path of a repository."""
        folder = scratch(self) / "proxy"
        versions = folder / MODULE / "@v"
        versions.mkdir(parents=True)
        files = module_files()
        files["go.mod"] = files["go.mod"].replace(b"module liteio\n", f"module {MODULE}\n".encode())
        files = {name: content.replace(b'\t"liteio"\n', f'\t"{MODULE}"\n'.encode()) for name, content in files.items()}
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for name, content in files.items():
                archive.writestr(f"{MODULE}@v{VERSION}/{name}", content)
        (versions / f"v{VERSION}.zip").write_bytes(packed.getvalue())
        (versions / f"v{VERSION}.mod").write_bytes(files["go.mod"])
        (versions / f"v{VERSION}.info").write_text(json.dumps({"Version": f"v{VERSION}"}))
        (versions / "list").write_text(f"v{VERSION}\n")
        return folder

    def test_it_is_fetched_offline_and_stores_an_object(self):
        home = scratch(self)
        project = home / "photos"
        project.mkdir()
        (project / "photos_test.go").write_text(TEST)
        (project / "go.mod").write_text("module photos\n\ngo 1.21\n")
        cache = run("go", "env", "GOCACHE").stdout.strip()
        environment = {"PATH": f"{pathlib.Path(run('go', 'env', 'GOROOT').stdout.strip())}/bin:/usr/bin:/bin", "HOME": str(home),
                       "GOPATH": str(home / "go"), "GOCACHE": cache, "GOFLAGS": "-modcacherw -mod=mod", "GOSUMDB": "off",
                       "GOTOOLCHAIN": "local", "GOPROXY": f"file://{self.proxy()}",
                       "LITEIO_BINARY": str(unpacked(self) / "liteio")}
        run("go", "get", f"{MODULE}@v{VERSION}", cwd=project, env=environment)
        run("go", "vet", MODULE, cwd=project, env=environment)
        told = run("go", "test", "-count=1", "./...", cwd=project, env=environment).stdout
        self.assertTrue(told.startswith("ok"), told)
        told = run("go", "run", f"{MODULE}/cmd/liteio@v{VERSION}", "--", "--version", cwd=home, env=environment).stdout
        self.assertTrue(told.startswith("liteio "), told)

    def test_the_module_has_its_licences_and_no_dependency(self):
        files = module_files()
        self.assertLessEqual({"go.mod", "README.md", "LICENSE-MIT", "LICENSE-APACHE", "liteio.go"}, set(files))
        self.assertNotIn(b"require", files["go.mod"])


if __name__ == "__main__":
    unittest.main()
