"""No document has a dead link, and every page is in the table of contents."""

import pytest

from markdown import ROOT, anchors, builder, dead_links, documents

DOCUMENTS = documents()


def test_documents_are_found():
    assert {"README.md", "docs/backup.md", "packages/go/README.md", "packaging/helm/liteio/README.md"} <= set(DOCUMENTS)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_of_a_document_lead_somewhere(document):
    assert dead_links(ROOT, document) == []


def test_each_page_is_in_the_contents_once():
    chapters = [path for path, _ in builder.chapters()]
    assert len(chapters) == len(set(chapters))
    pages = {str(file.relative_to(ROOT)) for file in (ROOT / "docs").rglob("*.md")} - {builder.SUMMARY}
    assert pages - set(chapters) == set()
    assert {f"{name}.md" for name in ("README", "ARCHITECTURE", "CHANGELOG", "CONTRIBUTING", "SECURITY")} <= set(chapters)


@pytest.mark.parametrize("text, dead", [
    ("[a](other.md) [b](other.md#two-words) [c](#top) [d](folder) [e](https://example.com/x)", []),
    ("[a](missing.md)", ["page.md: missing.md is not there"]),
    ("[a](other.md#three)", ["page.md: other.md#three: no such heading"]),
    ("[a](#bottom)", ["page.md: #bottom: no such heading"]),
    ("![a](missing.png)", ["page.md: missing.png is not there"]),
    ("[![a](missing.png)](other.md)", ["page.md: missing.png is not there"]),
    ("[a](../outside.md)", ["page.md: ../outside.md is not there"]),
    ("`[a](missing.md)`\n\n```sh\n[ -f x ](missing.md)\n```", []),
])
def test_a_dead_link_is_found(tmp_path, text, dead):
    (tmp_path / "page.md").write_text(f"# Top\n\n{text}\n")
    (tmp_path / "other.md").write_text("## Two `words`\n")
    (tmp_path / "folder").mkdir()
    assert dead_links(tmp_path, "page.md") == dead


def test_anchors_are_those_of_the_site():
    text = "# What a 200 means\n## `liteio import s3 URL`: any S3\n## [A link](x.md), and more\n## Same\n## Same\n```sh\n# none\n```\n"
    assert anchors(text) == {"what-a-200-means", "liteio-import-s3-url-any-s3", "a-link-and-more", "same", "same-1"}
