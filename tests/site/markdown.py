"""Links and anchors of Markdown documents, as GitHub reads them."""

import importlib.machinery
import importlib.util
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def load_builder():
    """`.ci/site` as a module: it reads the links that are checked here."""
    loader = importlib.machinery.SourceFileLoader("site_builder", str(ROOT / ".ci/site"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("site_builder", loader))
    loader.exec_module(module)
    return module


builder = load_builder()


def documents():
    """All documents of the tree, and new ones that are not added yet."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT, check=True,
                            text=True, capture_output=True).stdout.splitlines()
    return [path for path in listed if (ROOT / path).exists()]


def anchors(text):
    """The anchors of the headings."""
    found = {}
    for heading in re.findall(r"^#{1,6} +(.*?) *#*$", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE):
        heading = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found[anchor] = found.get(anchor, -1) + 1
    return {f"{anchor}-{number}" if number else anchor for anchor, last in found.items() for number in range(last + 1)}


def dead_links(root, document):
    """The links of a document that lead to no file, or to no heading."""
    dead = []
    for target in builder.links((root / document).read_text("utf-8")):
        path, fragment = builder.resolve(document, target)
        file = root / path
        if not file.exists() or path.startswith(".."):
            dead.append(f"{document}: {target} is not there")
        elif fragment and file.suffix == ".md" and fragment not in anchors(file.read_text("utf-8")):
            dead.append(f"{document}: {target}: no such heading")
    return dead
