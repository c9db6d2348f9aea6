"""test_race_place.py: two writes that meet are told apart by memory and line: of one global element
on one line it is an index that is wrong, no barrier that is missing."""

from types import SimpleNamespace

import pytest
from judge import diagnose, features, named_elsewhere

PLACE = {"global", "shared", "one_line"}


def met(how: str, memory: str, line: int) -> set:
    said = (f"conv3x3.cu:48: hostcuda [race]: {how} {memory} memory that thread (1,0,0) writes at "
            f"line {line}, thread (0,0,0) of block (0,0,0)")
    return features({"kind": "race", "output": said}, "cuda") & PLACE


@pytest.mark.parametrize("memory", ["global", "shared"])
def test_two_writes_have_a_memory_and_perhaps_one_line(memory):
    assert met("writes", memory, 48) == {memory, "one_line"}
    assert met("writes", memory, 47) == {memory}


def test_a_read_is_another_matter():
    assert not met("reads", "global", 48)


@pytest.mark.parametrize("kind, told", [("bits", True), ("mismatch", True), ("leak", False)])
def test_what_comes_of_a_race_leads_to_the_lines_that_meet(kind, told):
    claim = SimpleNamespace(diagnosis={"bits+elsewhere=race": "writers_meet"})
    race = {"file": "a.cu", "line": 7, "text": "writes what thread (0,0,0) writes at line 7"}
    mine = {"task": "a", "side": "cuda", "verdict": "fail"}
    results = [mine | {"claim": "a/values", "kind": kind, "failures": [{"kind": kind}]},
               mine | {"claim": "a/no_two_threads_meet", "kind": "race", "failures": [race]}]
    said = named_elsewhere(claim, "writers_meet", results[0], results)
    assert ("T=a/no_two_threads_meet names the lines that meet (a.cu:7)" in said) == told
    assert not named_elsewhere(claim, "another", results[0], results)


def test_a_race_is_no_matter_of_the_values_that_a_claim_asks_for():
    """With CHECK=1 each claim names races: its own diagnoses, which come first, are of values."""
    claim = SimpleNamespace(diagnosis={"k>64": "slices", "race": "barrier"})
    record = {"call": "matmul C[1,1] = A B, k = 100"}
    result = {"task": "a", "side": "cuda", "claim": "a/values"}
    assert [diagnose(claim, result | {"failures": [record | {"kind": kind}]}, [])
            for kind in ("race", "mismatch")] == ["barrier", "slices"]
