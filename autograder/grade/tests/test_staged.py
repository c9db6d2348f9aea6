"""DIAGNOSIS=staged: evidence and a question first, and the cause as far as HINT= asks for it."""

import re

import failure_kinds
import pytest
from conftest import fail

FIELDS = {"patterns": ["borders"], "seed": 7}
TOLD = ["only at the border", "look at the first", "an index left its row"]  # by hint 1, 2 and 3
ASKED = failure_kinds.QUESTIONS["mismatch"]  # with no hint, with one, with two


def shown(stage, capsys, *arguments) -> str:
    stage.says["lab9_one/first@cpu"] = fail(**FIELDS)
    assert stage.grade("T=one/first", "SEED=7", *arguments) == 0
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("hints", [0, 1, 2, 3])
def test_each_hint_tells_one_thing_more(stage, capsys, hints):
    out = shown(stage, capsys, "DIAGNOSIS=staged", *[f"HINT={hints}"] * bool(hints))
    assert [told in out for told in TOLD] == [n <= hints for n in (1, 2, 3)]
    for evidence in ("one x[2,3,5,4]", "got 1.5, expected 0.25", "12 of 120", "| ..#"):
        assert evidence in out
    again = "make grade LAB=9 T=one/first SEED=7 DIAGNOSIS=staged"
    assert f"again {again}" + (f" HINT={hints}" if hints else "") in out
    assert [asked in out for asked in ASKED] == [n == hints for n in range(3)]
    assert (f"more {again} HINT={hints + 1}" in out) == (hints < 3)


@pytest.mark.parametrize("arguments", [[], ["DIAGNOSIS=full"]])
def test_without_it_all_is_told_and_nothing_asked(stage, capsys, arguments):
    out = shown(stage, capsys, *arguments)
    assert all(told in out for told in TOLD)
    assert not any(asked in out for asked in ASKED) and "staged" not in out


@pytest.mark.parametrize("kind", ["race", "out_of_bounds", "crash", "fence"])
def test_what_guessing_does_not_teach_is_told_at_once(stage, capsys, kind):
    stage.says["lab9_one/second"] = fail(kind, text="somebody said why")
    stage.grade("T=one/second", "DIAGNOSIS=staged")
    out = capsys.readouterr().out
    assert " ".join(failure_kinds.advice_of({"kind": kind}).split()) in " ".join(out.split())
    assert "  ask " not in out and "HINT=" not in out


def test_what_does_not_compile_is_told_at_once(stage, capsys):
    stage.says["lab9_one/second"] = fail("compile", text="one.c:3:1: error: expected ;")
    stage.grade("T=one/second", "DIAGNOSIS=staged")
    out = capsys.readouterr().out
    assert "one.c:3:1: error: expected ;" in out and "HINT=" not in out


def test_the_page_holds_back_as_well(stage, capsys):
    shown(stage, capsys, "DIAGNOSIS=staged", "HINT=1", "HTML=1")
    page = (stage.folder / "build/grade/lab9/part.html").read_text()
    assert [told in page for told in TOLD] == [True, False, False]
    assert ASKED[1] in page and "DIAGNOSIS=staged HINT=2</code>" in page


@pytest.mark.parametrize("arguments, said", [
    (["DIAGNOSIS=slow"], "DIAGNOSIS=slow: one of full, staged is needed"),
    (["HINT=2"], "HINT=2: it goes with DIAGNOSIS=staged; else all is told"),
    (["DIAGNOSIS=staged", "HINT=4"], "HINT=4: a whole number from 1 to 3 is needed"),
    (["DIAGNOSIS=staged", "HINT=all"], "HINT=all: a whole number from 1 to 3 is needed")])
def test_other_values_are_refused(stage, capsys, arguments, said):
    assert stage.grade(*arguments) == 2
    assert capsys.readouterr().err == f"grade: {said}\n"


def test_only_kinds_that_there_are_have_questions():
    assert set(failure_kinds.QUESTIONS) < set(failure_kinds.KINDS)


@pytest.mark.parametrize("kind", failure_kinds.QUESTIONS)
def test_each_stage_asks_something_else_in_short_sentences(kind):
    asked = failure_kinds.QUESTIONS[kind]
    assert len(set(asked)) == failure_kinds.HINTS
    for question in asked:
        sentences = re.findall(r"[^.?]+[.?]", question)
        assert "".join(sentences) == question and question.endswith("?")
        assert all(len(sentence.split()) <= 16 for sentence in sentences)
