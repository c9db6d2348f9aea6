"""What the site's pages are made of: links that lead to pages of its own, and formulas. That Sphinx
takes them is tried where it is: `make setup site test-all`.
"""

import ast
import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
spec = importlib.util.spec_from_file_location("site_build", ROOT / "site/build.py")
build = importlib.util.module_from_spec(spec)
spec.loader.exec_module(build)
# "zh_CN lab0/README" of each catalogue of a page
TRANSLATED = [f"{p.parts[0]} {Path(*p.parts[2:]).with_suffix('')}" for p in (
    p.relative_to(ROOT / "locale") for p in sorted((ROOT / "locale").rglob("*.po")))
    if p.parts[2] != "grade"]
NO_TEXT = re.compile(r"^ *```.*?^ *```|<!--.*?-->|</?(?:details|summary)>", re.M | re.S)


@pytest.fixture(name="tree")
def fixture_tree(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "ROOT", tmp_path)
    for name in ("labs/README.md", "labs/lab1/README.md", "labs/lab1/derivations.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"# {name}\n")
    (tmp_path / "tl").mkdir()
    (tmp_path / "tl/x.h").write_text("int x;\n")
    return tmp_path


def one_line(text: str) -> str:
    return " ".join(text.split())


def entries_of(catalogue: str) -> list:
    entries = re.findall(r'^msgid ((?:"[^\n]*"\n)+)', catalogue, re.M)
    return [one_line(ast.literal_eval(f"({lines})")) for lines in entries]


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
    ("![two\nlines](a.svg)", "![two lines](a.svg)"),
    ("```math\na\n```\n", "```{math}\na\n```\n")])
def test_a_link_leads_to_a_page_of_the_site(tree, text, becomes):
    assert told(tree, text)[0] == becomes


def test_a_file_that_is_named_has_a_page(tree):
    assert told(tree, "[x](../../tl/x.h)")[1] == {tree / "tl/x.h"}
    build.lay_out(tree / "source")
    assert "int x;" in (tree / "source/files/tl-x-h.md").read_text()
    assert "files/tl-x-h" in (tree / "source/files.md").read_text()


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
        assert "<math" in text and "<mo>+=</mo>" in text and 'role="search"' in text

    @pytest.mark.parametrize("page", TRANSLATED)
    def test_in_another_language_it_leads_back_to_english(tmp_path, page):
        language, place = page.split()
        made = subprocess.run(["make", "-s", "site", f"OUT={tmp_path}", f"LANGUAGE={language}"],
                              cwd=ROOT, capture_output=True, text=True)
        assert made.returncode == 0 and place in made.stdout, made.stderr
        here = tmp_path / f"html/{language}/{place}.html"
        text = here.read_text(encoding="utf-8")
        assert f'lang="{language.replace("_", "-")}"' in text
        back = re.search(r'class="admonition note".*?href="([^"]+)"', text, re.S)
        assert (here.parent / back[1]).resolve() == tmp_path / f"html/{place}.html"

    def test_what_sphinx_takes_from_a_page_is_what_its_catalogue_has(monkeypatch):
        monkeypatch.syspath_prepend(ROOT / "site")
        monkeypatch.chdir(ROOT)
        texts = importlib.import_module("page_catalogues").templates()
        for language, place in map(str.split, TRANSLATED):
            held = (ROOT / f"locale/{language}/LC_MESSAGES/{place}.po").read_text(encoding="utf-8")
            assert entries_of(held) == entries_of(texts[place]), "make update-po"


@pytest.mark.parametrize("page", TRANSLATED)
def test_a_catalogue_has_all_texts_of_its_page_and_no_other(page):
    """By what stands in both: what Sphinx would take is known to it alone (make update-po)."""
    language, place = page.split()
    text = build.of_page(ROOT / f"labs/{place}.md", set(build.pages()), set())
    held = (ROOT / f"locale/{language}/LC_MESSAGES/{place}.po").read_text(encoding="utf-8")
    if "X-Reviewed: no" in held:
        note = build.noted(place, text)
        assert note.index("This page is a translation") < note.index("\n## ")
        text = note.replace("```{note}", "").replace("```\n", "", 1)
    left = re.sub(r"\n[ \t]*> ?", "\n", NO_TEXT.sub(" ", text))
    whole = left = one_line(left)
    for entry in sorted(entries_of(held), key=len, reverse=True):
        assert entry in whole, "make update-po: it stands no more in the page"
        left = left.replace(entry, " ") if entry else left
    assert not re.findall(r"[A-Za-z]{2,}", left), "make update-po: that is new in the page"


def test_a_translated_page_says_so_and_shows_the_way_back(tree, monkeypatch):
    entries = {"": "Language: zh_CN\nX-Reviewed: no\n", "Look": "看"}
    held = type("", (), {"info": lambda self: {"x-reviewed": "no"},
                         "gettext": lambda self, text: entries.get(text, text)})()
    monkeypatch.setattr(build, "catalogue_of", lambda place, language: (
        held if place == "lab1/README" else None))
    (tree / "labs/lab1/README.md").write_text("# one\n\n<details><summary>Look</summary>\n")
    build.lay_out(tree / "source", "zh_CN")
    text = (tree / "source/lab1/README.md").read_text()
    assert text.startswith("# one\n\n```{note}\n") and "<summary>看</summary>" in text
    assert '<a href="../../lab1/README.html">' in text
    assert "translation" not in (tree / "source/lab1/derivations.md").read_text()


def test_a_language_without_pages_is_said_and_all_is_english(monkeypatch, capsys, tmp_path):
    made = []
    monkeypatch.setattr(build, "sphinx", lambda builder, source, to, *more: made.append(to.name))
    assert build.main([f"OUT={tmp_path}", "LANGUAGE=xx"]) == 0
    assert "site: LANGUAGE=xx: there is no translation" in capsys.readouterr().err
    assert made == ["html"]


def test_what_a_pdf_lacks_is_named(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(build.shutil, "which", lambda name: None)
    assert build.main([f"OUT={tmp_path}", "PDF=1"]) == 1
    assert "no xelatex: apt-get install librsvg2-bin latexmk texlive-xetex" in (
        capsys.readouterr().err)
