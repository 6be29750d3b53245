"""The fenced blocks of the documents, and the markers before them.

A marker is an HTML comment on the line before a block, `<!-- example: WORD… -->`:

    after        continues the block before it: alone, it is run behind that one
    once         is not run a second time, because the text around it says so
    file=NAME    is the content of a file, for the blocks after it
    PATH[::NAME] cannot be run here; PATH (and in it NAME) is the test that has its commands
"""

import pathlib
import re
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "crates/server/README.md",
             *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").glob("*.md")))]
# Figures and samples of output, not for running. The rustdoc of a crate runs what is `rust,no_run`.
FIGURES = ("text",)
PROXIES = ("nginx", "caddy", "haproxy")
PROGRAMS = ("sh", "python", "js", "rust", "go", "java", "xml", "toml", "json", "yaml", *PROXIES)
# They are not run here: their lines stand in the file of their test.
COMPILED = ("rust", "go", "java", "xml")


@dataclass(frozen=True)
class Block:
    document: str
    line: int
    language: str
    text: str
    after: bool = False
    once: bool = False
    file: str | None = None
    test: str | None = None

    @property
    def name(self):
        return f"{self.document}:{self.line}:{self.language}"


def parse(document, text):
    """The blocks of a document, without its figures.

    Raises ValueError for a block that says no language, and for a marker that says nothing."""
    blocks = []
    lines = iter(enumerate(text.splitlines(), 1))
    previous = ""
    for number, line in lines:
        if opening := re.match(r"```(\S*)$", line):
            language = opening[1]
            content = []
            for _, inner in lines:
                if inner == "```":
                    break
                content.append(inner)
            marker = re.fullmatch(r"<!-- example: (.+) -->", previous)
            if language not in PROGRAMS + FIGURES:
                raise ValueError(f"{document}:{number}: no language that is known: {line}")
            if language in PROGRAMS:
                blocks.append(Block(document, number, language, "\n".join(content) + "\n",
                                    **read_marker(marker[1].split() if marker else [])))
            elif marker:
                raise ValueError(f"{document}:{number}: a figure is no example")
        previous = line
    return blocks


def read_marker(words):
    marker = {}
    for word in words:
        if word in ("after", "once"):
            marker[word] = True
        elif word.startswith("file="):
            marker["file"] = word.removeprefix("file=")
        else:
            marker["test"] = word
    return marker


def check_marker(block, root=ROOT):
    """Raises ValueError if the test that a marker names is not there, or does not have the block.

    The lines of a block that is compiled stand in the file of the test in their order, between others; those of Go without others
    between them, since a variable that only a missing line uses is an error. From `package` on they are the file."""
    path, _, name = block.test.partition("::")
    path = root / path
    if not path.exists():
        raise ValueError(f"{block.name}: there is no test {block.test}")
    if name and not (path.is_file() and re.search(rf"\b{re.escape(name)}\b", path.read_text())):
        raise ValueError(f"{block.name}: {path} has no {name}")
    if block.language == "go":
        check_go(block, path.read_text())
    elif block.language in COMPILED:
        lines = (line.strip() for line in path.read_text().splitlines())
        for line in filter(None, map(str.strip, block.text.splitlines())):
            if line not in lines:
                raise ValueError(f"{block.name}: {block.test} does not have the line: {line}")


def check_go(block, text):
    whole = block.text.startswith("package ")
    if text != block.text if whole else f"\n{block.text}" not in text:
        raise ValueError(f"{block.name}: {block.test} does not have the block as it is")


def chain(blocks, block):
    """A block and those before it that it continues."""
    position = blocks.index(block)
    first = position
    while blocks[first].after:
        first -= 1
    return blocks[first:position + 1]


def read_documents():
    return {document: parse(document, (ROOT / document).read_text()) for document in DOCUMENTS}
