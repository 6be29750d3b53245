"""The bill of materials, and the packages named in the binary."""

import json
import re
import unittest
import zlib

import crates
from dist import DIST, NAME, TARGET, VERSION, run, scratch, sha256, unpacked


class Materials(unittest.TestCase):
    def setUp(self):
        self.bom = json.loads((DIST / f"{NAME}.cdx.json").read_text())

    def test_it_has_what_the_schema_requires(self):
        bom = self.bom
        self.assertEqual((bom["bomFormat"], bom["specVersion"], bom["version"]), ("CycloneDX", "1.5", 1))
        self.assertRegex(bom["serialNumber"], r"^urn:uuid:[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$")
        self.assertRegex(bom["metadata"]["timestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        components = [bom["metadata"]["component"], *bom["components"]]
        for component in components:
            self.assertIn(component["type"], {"application", "library"})
            self.assertTrue(component["name"])
            for licence in component["licenses"]:
                self.assertRegex(licence["expression"], r"^[A-Za-z0-9.() -]+$")
            for hash in component.get("hashes", []):
                self.assertRegex(hash["content"], r"^[0-9a-f]{64}$")
        refs = [it["bom-ref"] for it in components]
        self.assertEqual(len(refs), len(set(refs)))
        self.assertEqual(sorted(it["ref"] for it in bom["dependencies"]), sorted(refs))
        named = {needed for it in bom["dependencies"] for needed in it["dependsOn"]}
        self.assertLessEqual(named, set(refs))

    def test_it_describes_this_binary_and_all_that_is_in_it(self):
        main = self.bom["metadata"]["component"]
        self.assertEqual((main["name"], main["version"]), ("liteio", VERSION))
        self.assertEqual(main["hashes"][0]["content"], sha256(unpacked(self) / "liteio"))
        found = {(it["name"], it["version"]) for it in self.bom["components"]}
        linked = {(it["name"], it["version"]) for it in crates.linked(TARGET)} - {("liteio", VERSION)}
        self.assertEqual(found, linked)
        names = {name for name, _ in found}
        self.assertLessEqual({"tokio", "redb", "aws-lc-sys", "liteio-store"}, names)
        # Of tests, of build scripts, and procedural macros.
        self.assertEqual(names & {"tempfile", "proptest", "cc", "serde_derive", "clap_derive"}, set())

    def test_scanners_find_the_packages_in_the_binary(self):
        section = scratch(self) / "section"
        run("objcopy", "--dump-section", f".dep-v0={section}", unpacked(self) / "liteio", "/dev/null")
        packages = json.loads(zlib.decompress(section.read_bytes()))["packages"]
        self.assertEqual([it["name"] for it in packages if it.get("root")], ["liteio"])
        self.assertEqual(len(packages), len(crates.linked(TARGET)))
        for package in packages:
            self.assertTrue(re.fullmatch(r"\d+\.\d+\.\d+.*", package["version"]))
            own = package["name"].split("-")[0] == "liteio"
            self.assertEqual(package["source"], "local" if own else "crates.io")
            self.assertLess(max(package.get("dependencies", [0])), len(packages))
        # Everything is reached from the program.
        reached, left = set(), [next(n for n, it in enumerate(packages) if it.get("root"))]
        while left:
            number = left.pop()
            if number not in reached:
                reached.add(number)
                left.extend(packages[number].get("dependencies", []))
        self.assertEqual(len(reached), len(packages))
