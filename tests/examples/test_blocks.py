"""The reader of the blocks refuses what would not be tested."""

import pytest

from blocks import chain, check_marker, parse

FENCE = "```"


def page(*parts):
    return "\n".join(parts)


def test_blocks_have_their_line_language_and_marker():
    blocks = parse("page.md", page(
        "Text.", f"{FENCE}sh", "liteio", FENCE, "", "<!-- example: after once -->",
        f"{FENCE}python", "print()", FENCE, f"{FENCE}text", "a figure", FENCE))
    assert [(each.line, each.language, each.text) for each in blocks] == [
        (2, "sh", "liteio\n"), (7, "python", "print()\n")]
    assert not blocks[0].after and blocks[1].after and blocks[1].once
    assert chain(blocks, blocks[1]) == blocks


@pytest.mark.parametrize("language", ["", "console", "shell"])
def test_a_block_without_a_known_language_is_refused(language):
    with pytest.raises(ValueError, match="page.md:1"):
        parse("page.md", page(f"{FENCE}{language}", "ls", FENCE))


def test_a_marker_that_names_no_test_is_refused(tmp_path):
    (tmp_path / "test.sh").write_text("docker_build() { :; }\n")
    marked = lambda test: parse("page.md", page(
        f"<!-- example: {test} -->", f"{FENCE}sh", "docker build .", FENCE))[0]
    check_marker(marked("test.sh::docker_build"), tmp_path)
    for test in ("nothing.sh", "test.sh::docker_run"):
        with pytest.raises(ValueError, match="page.md:2"):
            check_marker(marked(test), tmp_path)


def test_a_block_of_go_stands_in_its_test_as_it_is(tmp_path):
    (tmp_path / "photos_test.go").write_text("package photos\n\nfunc one() {\n\ttwo := 2\n\tthree(two)\n}\n")
    marked = lambda text: parse("page.md", page(
        "<!-- example: photos_test.go -->", f"{FENCE}go", text, FENCE))[0]
    check_marker(marked("package photos\n\nfunc one() {\n\ttwo := 2\n\tthree(two)\n}"), tmp_path)
    check_marker(marked("func one() {\n\ttwo := 2\n\tthree(two)\n}"), tmp_path)
    for text in ("package photos\n\nfunc one() {", "func one() {\n\ttwo := 2\n}"):
        with pytest.raises(ValueError, match="does not have the block"):
            check_marker(marked(text), tmp_path)


def test_the_lines_of_a_block_of_rust_stand_in_its_test(tmp_path):
    (tmp_path / "it.rs").write_text("fn it() {\n    one();\n    other();\n    two();\n}\n")
    marked = lambda text: parse("page.md", page(
        "<!-- example: it.rs -->", f"{FENCE}rust", text, FENCE))[0]
    check_marker(marked("one();\ntwo();"), tmp_path)
    for text in ("two();\none();", "three();"):
        with pytest.raises(ValueError, match="does not have the line"):
            check_marker(marked(text), tmp_path)
