"""What the site's pages are made of: links that lead to pages of its own, and formulas. That Sphinx
takes them is tried where it is: `make setup site test-all`.
"""

import importlib.util
import os
import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
spec = importlib.util.spec_from_file_location("site_build", ROOT / "site/build.py")
build = importlib.util.module_from_spec(spec)
spec.loader.exec_module(build)


@pytest.fixture(name="tree")
def fixture_tree(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "ROOT", tmp_path)
    for name in ("labs/README.md", "labs/lab1/README.md", "labs/lab1/derivations.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"# {name}\n")
    (tmp_path / "tl").mkdir()
    (tmp_path / "tl/x.h").write_text("int x;\n")
    return tmp_path


def told(tree: Path, text: str) -> tuple:
    page = tree / "labs/lab1/README.md"
    page.write_text(text)
    named = set()
    return build.of_page(page, set(build.pages()), named), named


def test_all_pages_of_the_labs_are_in_it_in_the_order_of_reading():
    names = [str(page.relative_to(ROOT / "labs")) for page in build.pages()]
    assert names[:2] == ["README.md", "lab0/README.md"]
    assert set(names) == {str(p.relative_to(ROOT / "labs")) for p in (ROOT / "labs").rglob("*.md")}
    assert names.index("lab4/README.md") < names.index("lab4/derivations.md") < names.index(
        "lab5/README.md")


@pytest.mark.parametrize("text, becomes", [
    ("see [why](derivations.md#a)", "see [why](derivations.md#a)"),
    ("see [x.h](../../tl/x.h)", "see [x.h](../files/tl-x-h.md)"),
    ("all of [tl](../../tl)", "all of tl"),
    ("`[x](y)` and [out](https://a.org/b)", "`[x](y)` and [out](https://a.org/b)"),
    ("```math\na\n```\n", "```{math}\na\n```\n")])
def test_a_link_leads_to_a_page_of_the_site(tree, text, becomes):
    assert told(tree, text)[0] == becomes


def test_a_file_that_is_named_has_a_page(tree):
    assert told(tree, "[x](../../tl/x.h)")[1] == {tree / "tl/x.h"}
    build.lay_out(tree / "source")
    assert "int x;" in (tree / "source/files/tl-x-h.md").read_text()
    assert "files/tl-x-h" in (tree / "source/index.md").read_text()


def test_a_link_that_leads_nowhere_ends_it(tree):
    with pytest.raises(build.SiteError, match="labs/lab1/README.md: gone.md is not there"):
        told(tree, "[x](gone.md)")


if os.environ.get("GRADLAB_TEST_ALL") == "1":  # (it needs Sphinx: make setup site)
    def test_it_is_made_without_a_warning_and_needs_no_network(tmp_path):
        assert shutil.which("sphinx-build"), "make setup site"
        assert build.main([f"OUT={tmp_path}"]) == 0
        for page in (tmp_path / "html").rglob("*.html"):
            loads = re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(https?:[^"]+)"',
                               page.read_text(encoding="utf-8"))
            assert not loads, page
        text = (tmp_path / "html/lab3/derivations.html").read_text(encoding="utf-8")
        assert "<math" in text and "<script" in text and 'role="search"' in text


def test_what_a_pdf_lacks_is_named(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(build.shutil, "which", lambda name: None)
    assert build.main([f"OUT={tmp_path}", "PDF=1"]) == 1
    assert "no xelatex: apt-get install librsvg2-bin latexmk texlive-xetex" in (
        capsys.readouterr().err)
