"""The committed lists, and what is refused in one."""

import faults
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
    ('hint = "look at the second"', 'hint = "look."\nexplained_by = ["one/second"]',
     "neither a claim"),
    ("lab = 9", 'lab = 9\nunhinted = ["edges"]', "there is no diagnosis edges"),
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


def waits(text: str, **failed) -> dict:
    """Who waits for whom; failed: claim -> kind, or (kind, file that the failure names, what the
    program printed)."""
    lab, results = parse(text), []
    for claim in lab.claims:
        told = failed.get(claim.name)
        kind, file, output = (*told, "")[:3] if isinstance(told, tuple) else (told, "", "")
        record = {"kind": kind, "file": file, "output": output}
        results.append({"claim": claim.short_name, "task": claim.task, "side": "c"} | (
            {"verdict": "fail", "kind": kind, "failures": [record]} if kind
            else {"verdict": "pass"}))
    faults.mark_waiting(lab, results)
    return {r["claim"]: r["waits_for"] for r in results if r["verdict"] == "waiting"}


BY_THE_RULE = LAB.replace('hint = "look at the first"',
                          'hint = "look at the first"\nexplained_by = ["two/third"]', 1)


def test_the_task_at_fault_is_named_first():
    assert waits(LAB, first="mismatch", third="mismatch") == {"two/third": ["one"]}
    assert waits(BY_THE_RULE, first="mismatch", third="mismatch") == {"one/first": ["two"]}
    # what its own graphs say, or another kind of failure, is no wrong rule's
    own = waits(BY_THE_RULE, first="mismatch", second="mismatch", third="mismatch")
    assert own == {"two/third": ["one"]}
    assert waits(BY_THE_RULE, first="crash", third="mismatch") == {"two/third": ["one"]}


def test_a_right_file_waits_for_a_later_one_that_it_calls_and_nobody_has_written():
    """As tape.c, finished first, whose graphs run rules of ops_math.c."""
    unwritten = ("not_implemented", "two.c")
    assert waits(LAB, first=unwritten, third=unwritten) == {"one/first": ["two"]}
    own = waits(LAB, first=("not_implemented", "one.c"), second=unwritten, third=unwritten)
    assert own == {}


def test_who_is_hit_by_damaged_memory_waits_for_who_writes_outside():
    """As somebody's init.c did, which wrote one number too many, and module.c was told to be
    mended, whose free() found it."""
    damaged = ("crash", "", "munmap_chunk(): invalid pointer")
    assert waits(LAB, third="fence", first=damaged) == {"one/first": ["two"]}
    twice = ("crash", "", "free(): double free detected in tcache 2")
    for kind, writes in (damaged, "mismatch"), (twice, "fence"), ("crash", "fence"):
        assert waits(LAB, third=writes, first=kind) == {"two/third": ["one"]}


def test_where_a_result_is_nan_a_claim_that_found_nan_explains_it():
    lab = parse(BY_THE_RULE)
    for text, waits_for in (("the weights get nan % right", ["two"]), ("nanny", None)):
        results = [{"claim": c.short_name, "task": c.task, "side": "c", "verdict": "fail",
                    "kind": kind, "failures": [{"kind": kind, "text": text}]}
                   for c, kind in zip((lab.claims[0], next(
                       c for c in lab.claims if c.name == "third")), ("mismatch", "nan"))]
        faults.mark_waiting(lab, results)
        assert results[0].get("waits_for") == waits_for


def test_a_line_of_another_file_that_touches_device_memory_is_at_fault():
    there = ("host_dereference", "two.c")
    assert waits(LAB, first=there, third=there) == {"one/first": ["two"]}
    assert waits(LAB, first=("crash", "two.c"), third="mismatch") == {"two/third": ["one"]}


def test_what_is_wrong_in_c_alone_is_wrong_on_the_device():
    lab = parse(LAB)
    assert faults.in_c_alone(lab, {("one", "c"), ("two", "c"), ("whole", "c")}) == {("two", "cuda")}
