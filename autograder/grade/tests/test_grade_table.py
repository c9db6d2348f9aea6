"""The committed lists, and what is refused in one."""

import pytest
import table
from conftest import LAB, ROOT


def parse(text: str):
    return table.parse(text, ROOT / "autograder/lab9/lab.toml")


@pytest.mark.parametrize("path", table.files(), ids=lambda p: p.parent.name)
def test_committed_lists_are_whole(path):
    lab = table.load(int(path.parent.name[3:]))
    if lab.number:  # (lab 0 is done or not)
        assert sum(p for c in lab.claims if not c.extra for p in c.points.values()) == 100
    for claim in lab.claims:
        assert claim.hint.endswith((".", "?"))
        # what a kernel has waited for, whom it met and what it fetched no byte tells, nor how much
        # memory is out
        counted = claim.build or claim.name.startswith((
            "launches_do_not", "nothing_waits", "later_steps_take_no_more_memory"))
        assert (claim.evidence == "hard") == bool(counted), claim.full_name
    assert lab.hard <= table.HARD_MOST == 15 or lab.steps
    # every task but the last is graded in every side that it has
    for task in lab.tasks:
        for side in task.sides:
            assert any(side in c.points for c in task.claims)


@pytest.mark.parametrize("old,changed,words", [
    ("c = 30", "c = 29", "add up to 99"),
    ("c = 30", "c = 30\npoint = 1", "unknown key 'point'"),
    ("c = 30", "c = true", "wrong type"),
    ("c = 30", "c = 0", "at least one point"),
    ('hint = "look at the third"', "", "hint is missing"),
    ('name = "third"', 'name = "bonus"', "comes twice"),
    ('needs = ["one"]', 'needs = ["three"]', "does not come before"),
    ('real = ["float", "double"]', 'real = ["half"]', "real ="),
    ('evidence = "proved"', 'evidence = "sworn"', "evidence ="),
    ('evidence = "proved"\nc = 30', 'evidence = "hard"\nc = 30', "30 points hang on"),
    ('"borders" = "garbage"', '"edges" = "garbage"', "unknown pattern 'edges'"),
    ("ok=second+", "ok=third+", "unknown pattern 'ok=third'"),
    ('"borders" = "garbage"', '"borders" = "rubbish"', "is used by no claim"),
    ("lab = 9", "lab = ", "Invalid value"),
])
def test_a_slip_in_a_list_is_named(old, changed, words):
    assert old in LAB
    with pytest.raises(table.TableError, match=words):
        parse(LAB.replace(old, changed, 1))


def test_who_waits_for_whom():
    lab = parse(LAB)
    assert [t.name for t in lab.behind("one")] == ["two", "whole"]
    assert lab.behind("whole") == []
