"""The committed mutants still fit the solution, and a mutant is judged by its first message."""

import re

import failure_patterns
import mutants
import pytest
import table
from conftest import ROOT

NUMBERS = sorted(int(p.parent.name[3:]) for p in ROOT.glob("autograder/lab*/mutants.toml"))


@pytest.mark.parametrize("number", NUMBERS)
def test_committed_mutants_fit_the_solution(number, monkeypatch):
    monkeypatch.chdir(ROOT)
    lab = table.load(number)
    found = mutants.load(lab)  # each old text stands once, each diagnosis is known
    for mutant in found:
        assert mutants.mutated(mutant) != (ROOT / "solution" / mutant.file).read_text()
        assert mutant.task in [t.name for t in lab.tasks]
    same = {}  # the same code under two names proves nothing twice
    for mutant in found:
        code = "".join(mutants.mutated(mutant).split())
        same.setdefault((mutant.file, mutant.device, code), []).append(mutant.name)
    assert [names for names in same.values() if len(names) > 1] == []
    sides = {(m.task, m.device) for m in found}
    # every file has at least one, but for extra credit
    for task in (task for task in lab.tasks if task.code):
        for side in task.sides:
            extra = all(c.extra for c in task.claims)
            assert extra or (task.name, table.SIDES[side][0]) in sides


MUTANT = mutants.Mutant("a", "lab2/im2col.c", ["x"], ["y"], "misread", "hint")


def claim(name: str, verdict: str, **fields) -> dict:
    return {"claim": f"im2col/{name}", "verdict": verdict, **fields}


def graded(*claims, points=3) -> dict:
    return {"claims": list(claims), "score": {"points": points, "max": 10}}


def test_the_first_message_counts():
    outcome = mutants.judge(MUTANT, graded(
        claim("one", "pass"), claim("two", "fail", kind="mismatch", diagnosis="misread"),
        claim("three", "fail", kind="crash", diagnosis="")))
    assert outcome == {"name": "a", "killed": True, "said": "misread", "right": True,
                       "claims": ["two", "three"], "points": 7}


def test_without_a_diagnosis_the_kind_takes_its_place():
    outcome = mutants.judge(MUTANT, graded(claim("one", "fail", kind="crash", diagnosis="")))
    assert outcome["said"] == "crash" and not outcome["right"]
    assert mutants.line(MUTANT, outcome).startswith("misnamed  a: -7, crash, expected misread")


def test_a_mutant_that_loses_nothing_has_survived():
    outcome = mutants.judge(MUTANT, graded(claim("one", "pass"), points=10))
    assert not outcome["killed"]
    assert mutants.line(MUTANT, outcome) == "SURVIVED  a: hint"


def test_a_mutant_that_does_not_build_proves_nothing():
    failure = claim("one", "fail", kind="build", failures=[{"text": "tl_im2col is missing"}])
    with pytest.raises(mutants.MutantError, match="tl_im2col is missing"):
        mutants.judge(MUTANT, graded(failure))


def test_an_old_text_stands_once(monkeypatch):
    monkeypatch.chdir(ROOT)
    for old in ("no such text", "int"):
        mutant = mutants.Mutant("a", "lab2/im2col.c", [old], ["y"], "misread", "hint")
        with pytest.raises(mutants.MutantError, match="times in lab2/im2col.c"):
            mutants.mutated(mutant)


def test_the_grid_that_is_told_is_the_one_that_is_graded():
    """claim/pattern_places.c, and the texts, speak of the blocks that mk/workers.mk allows."""
    graded = re.search(r"-DTL_MAX_BLOCKS=(\d+)", (ROOT / "mk/workers.mk").read_text())[1]
    told = (ROOT / "autograder/claim/pattern_places.c").read_text()
    assert f"REACHED = {graded} * 256 " in told
    words = str(int(graded) * 256)
    assert words in failure_patterns.PATTERNS["behind_the_grid"]
    assert words in table.load(2).diagnoses["kernel_without_a_loop"]
