"""Catalogues of locale/ hold each English text that a person is shown, translated, and what stands
in a text beside words: names, numbers, code."""

import ast
import re
from pathlib import Path

import catalogue
import catalogues
import languages
import pytest

ROOT = Path(__file__).resolve().parents[3]
FOUND = catalogues.catalogues()
LANGUAGES = sorted(p.parent.name for p in (ROOT / "locale").glob("*/LC_MESSAGES"))
ALL = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "locale").rglob("*.po"))
# What is the same in every language: `code`, names of C, numbers, {what is filled in}.
KEPT = (re.compile(r"`[^`]+`"), re.compile(r"[A-Za-z]\w*(?:_\w+|\(\)|->\w+|\.\w+)+"),
        re.compile(r"(?<![A-Za-z_\d])\d+(?:[.,]\d+)*"), re.compile(r"\{\w+\}"))


def read(path: Path) -> dict:
    """{English text: its translation} of a catalogue in which nothing is fuzzy or obsolete."""
    found, into = {}, None
    for line in path.read_text(encoding="utf-8").splitlines():
        assert not line.startswith(("#~", "#|")) and not re.match("#,.*fuzzy", line), line
        if word := re.match(r"(msgid|msgstr) ", line):
            if word[1] == "msgid":
                pair = ["", ""]
            into = word[1] == "msgstr"
            line = line.removeprefix(word[0])
        if line.startswith('"'):
            pair[into] += ast.literal_eval(line)
        elif not line and into:
            found[pair[0]] = pair[1]
    return found | {pair[0]: pair[1]}


def kept(said: str) -> list:
    return [sorted(set(what.findall(said))) for what in KEPT]


@pytest.mark.parametrize("domain", FOUND)
@pytest.mark.parametrize("name", LANGUAGES)
def test_every_text_of_the_grader_is_there(name, domain):
    """(of pages: tests/test_site.py)"""
    found = set(read(ROOT / languages.catalogue(name, domain))) - {""}
    assert found == set(FOUND[domain][1]), "make update-po, then translate what is new"


@pytest.mark.parametrize("path", ALL)
def test_every_text_is_translated(path):
    found = read(ROOT / path)
    assert found[""].count("X-Reviewed: ") == 1
    assert not [said for said, translated in found.items() if not translated]


@pytest.mark.parametrize("path", ALL)
def test_names_and_numbers_are_those_of_the_english_text(path):
    for said, translated in read(ROOT / path).items():
        if said:
            assert kept(translated) == kept(said), translated


def test_a_catalogue_follows_its_texts(tmp_path, monkeypatch):
    """What is gone is taken out, what is new is empty, what is nearly the same is marked."""
    monkeypatch.chdir(tmp_path)
    path = Path("a.po")
    for texts in ({"the first text of all": ["a"], "gone": ["b"]},
                  {"the first text of them": ["a"], "quite new, and \"quoted\"": ["c"]}):
        catalogue.update(path, catalogue.template(texts, "x.toml"), "zh_CN")
        said = 'msgid "the first text of all"\nmsgstr '
        path.write_text(path.read_text(encoding="utf-8").replace(said + '""', said + '"A"'),
                        encoding="utf-8")
    held = path.read_text(encoding="utf-8")
    assert "gone" not in held and 'msgid "quite new, and \\"quoted\\""\nmsgstr ""' in held
    assert '#, fuzzy\n#| msgid "the first text of all"\nmsgid "the first text of them"' in held
    assert "#. c\n#: x.toml" in held and '"Language: zh_CN\\n"' in held
