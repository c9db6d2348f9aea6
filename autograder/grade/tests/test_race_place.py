"""test_race_place.py: two writes that meet are told apart by memory and line: of one global element
on one line it is an index that is wrong, no barrier that is missing."""

import pytest
from judge import features

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
