"""From the grader's lines to points, exit codes and the last line."""

import json

import document
import judge
import pytest
import table
from conftest import LAB, fail

ALL = "lab9: 100/100"


def last(capsys) -> str:
    return capsys.readouterr().out.rstrip("\n").split("\n")[-1]


def test_everything_right_is_a_hundred(stage, capsys):
    assert stage.grade() == 0
    assert last(capsys) == ALL + ", extra 5/5"
    assert stage.result()["schema"] == "gradlab-grade/4"


def test_a_grade_says_what_judged_it(stage):
    """Official grading adds what was judged (test_seeds.py)."""
    stage.grade()
    result = stage.result()
    assert set(result["grader"]) == {"version", "rules", "programs"} and "sandbox" in result
    assert result["grader"]["version"] == "a version" and result["submission"] is None
    assert (result["seed"], result["seed_from"]) == (1, "default")


def test_the_rules_hash_is_that_of_the_graders_source(tmp_path, monkeypatch):
    monkeypatch.setattr(document, "ROOT", tmp_path)
    hashes = [document.rules_hash()]
    for name, content in [("autograder/lab1/lab.toml", "a"), ("tl/include/tl/x.h", "a"),
                          ("mk/labs.mk", "a"), ("mk/labs.mk", "b"), ("autograder/grade/x.py", "b"),
                          ("autograder/grade/tests/x.py", "b")]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
        hashes.append(document.rules_hash())
    (tmp_path / "mk/labs.mk").rename(tmp_path / "mk/mine.mk")
    hashes.append(document.rules_hash())
    assert len(set(hashes)) == len(hashes)
    for name in ("autograder/grade/x.pyc", "tl/x.c", "autograder/notes.txt",
                 "autograder/course/x.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("c")
    assert document.rules_hash() == hashes[-1]


def test_what_a_submission_said_is_cut(stage):
    stage.says["lab9_one/second"] = fail("crash", text="x" * 10_000, backtrace=["y" * 10_000] * 999)
    stage.grade()
    failure, = next(c for c in stage.result()["claims"] if c["claim"] == "one/second")["failures"]
    assert len(failure["text"]) < 4200 and failure["text"].endswith("... (5904 more characters)")
    assert len(failure["backtrace"]) == 200 and len(failure["backtrace"][0]) < 4200


def test_points_are_those_of_the_claims_that_hold_everywhere(stage, capsys):
    stage.says["lab9_one/first@hostcuda"] = fail()
    stage.says["lab9_two/bonus"] = fail()
    assert stage.grade() == 0
    assert last(capsys) == "lab9: 80/100"


def test_a_claim_is_run_in_each_of_its_precisions_and_lanes(stage):
    stage.grade()
    runs = [line.split()[1:] for line in stage.runs()]
    assert ["cpu", "double", "lab9_one/first"] in runs
    assert ["hostcuda", "double", "lab9_one/first"] in runs
    assert ["hostcuda", "float", "lab9_one/first"] in runs
    assert sum("lab9_one/second" in run for run in runs) == 1


def test_one_failing_precision_is_enough(stage, capsys):
    # (the double run alone; both say the same name)
    stage.says["lab9_one/first@cpu"] = fail()
    assert stage.grade("DEVICES=cpu") == 0
    assert last(capsys).startswith("lab9: 60/80 of what DEVICES=cpu asked for")
    assert stage.grade("T=one/first", "DEVICES=cpu,hostcuda") == 0
    assert last(capsys).startswith("lab9: 20/40 of what T=one/first DEVICES=cpu,hostcuda asked")


def test_a_missing_claim_is_a_fault_of_the_grader(stage, capsys):
    stage.says["lab9_two/third"] = "silent"
    assert stage.grade() == 2
    out = capsys.readouterr()
    assert "no verdict on lab9_two/third" in out.err and "lab9:" not in out.out
    assert not (stage.folder / "build/grade/lab9/grade.json").exists()


@pytest.mark.parametrize("status", [0, 1, 7])
def test_the_exit_code_of_the_grader_proves_nothing(stage, capsys, status):
    stage.says["exit"] = status
    assert stage.grade() == 0
    stage.says["lab9_two/third"] = "silent"
    assert stage.grade() == 2


@pytest.mark.parametrize("line", [
    "not json", "[]", "{}", '{"schema":"gradlab-claims/2","claim":"lab9_two/third"}',
    '{"schema":"gradlab-claims/1","claim":"lab9_two/third","device":"DEVICE","real":"REAL",'
    '"seed":1,"verdict":"perfect"}',
    '{"schema":"gradlab-claims/1","claim":"lab9_two/third","device":"cuda","real":"REAL",'
    '"seed":1,"verdict":"pass"}',
    '{"schema":"gradlab-claims/1","claim":"lab9_two/third","device":"DEVICE","real":"REAL",'
    '"verdict":"pass"}',
    '{"schema":"gradlab-claims/1","claim":"lab9_two/third","device":"DEVICE","real":"REAL",'
    '"seed":1,"verdict":"fail"}',
    '{"schema":"gradlab-claims/1","claim":"lab9_two/fourth","device":"DEVICE","real":"REAL",'
    '"seed":1,"verdict":"pass"}',
    '{"schema":"gradlab-claims/1","claim":"lab9_two/third","device":"DEVICE","real":"REAL",'
    '"seed":1,"verdict":"fail","kind":"mismatch","index":7}',
    '{"schema":"gradlab-claims/1","claim":"lab9_two/third","device":"DEVICE","real":"REAL","se',
    "[" * 100000,
])
def test_a_damaged_line_is_a_fault_of_the_grader(stage, capsys, line):
    stage.says["lab9_two/third"] = line
    assert stage.grade() == 2
    assert "line 3 of the grader's claims" in capsys.readouterr().err


def test_a_second_line_about_a_claim_is_a_fault_of_the_grader(stage, capsys):
    stage.says["lab9_two/third"] = {"times": 2}
    assert stage.grade() == 2
    assert "is a second one about lab9_two/third" in capsys.readouterr().err


@pytest.mark.parametrize("names,words", [
    (["lab9_one/first"], "has not"), (["lab9_two/new"], "has the claim lab9_two/new")])
def test_the_binary_and_the_list_have_the_same_claims(stage, capsys, names, words):
    there = set(stage.says["list"])
    stage.says["list"] = sorted(there ^ set(names))
    assert stage.grade() == 2
    assert words in capsys.readouterr().err


def test_a_killed_grader_is_tried_again_and_then_named(stage, capsys):
    stage.says["lab9_two/third"] = ["killed", {}]
    assert stage.grade("T=two", "DEVICES=cpu") == 0
    assert last(capsys).startswith("lab9: 30/30")
    (stage.folder / "runs").unlink()
    stage.says["lab9_two/third"] = "killed"
    assert stage.grade() == 2
    assert "was ended by signal 9" in capsys.readouterr().err


def test_what_the_machine_broke_is_run_again_alone(stage, capsys):
    stage.says["lab9_two/third"] = [{"verdict": "error", "kind": "machine", "text": "no pipe"}, {}]
    assert stage.grade() == 0
    assert last(capsys).startswith(ALL)
    assert stage.runs()[-1].split()[3:] == ["lab9_two/third"]


def test_what_could_not_be_judged_is_neither_right_nor_wrong(stage, capsys):
    stage.says["lab9_two/third"] = {"verdict": "error", "kind": "machine", "text": "no pipe"}
    assert stage.grade() == 2
    out = capsys.readouterr().out
    assert out.rstrip().endswith(
        "lab9: not graded: 30 of 105 points could not be judged, run it again")
    assert "two/third (C): not judged" in out


def test_wrong_somewhere_is_wrong_though_not_judged_elsewhere(stage, capsys):
    stage.says["lab9_one/first@cpu"] = fail()
    stage.says["lab9_one/first@hostcuda"] = {"verdict": "error", "kind": "machine", "text": "x"}
    assert stage.grade() == 2
    verdicts = {(c["claim"], c["side"]): c["verdict"] for c in stage.result()["claims"]}
    assert verdicts["one/first", "c"] == "fail"
    assert verdicts["one/first", "cuda"] == "unjudged"


def test_min_is_the_only_score_that_fails(stage, capsys):
    stage.says["lab9_two/third"] = fail()
    assert stage.grade("MIN=70") == 0
    assert stage.grade("MIN=71") == 1
    assert last(capsys).startswith("lab9: 70/100")


def test_a_filter_asks_for_some_claims_and_keeps_the_history(stage, capsys):
    stage.grade()
    assert stage.grade("T=one/s*") == 0
    assert last(capsys) == "lab9: 10/10 of what T=one/s* asked for"
    assert stage.result()["score"]["max"] == 100
    assert stage.grade("T=nothing") == 2
    assert "its tasks are one, two, whole" in capsys.readouterr().err


def test_a_gate_finding_costs_this_half_of_the_task(stage, capsys):
    stage.findings = [("labs/lab9/one.cu", 7, "uses asm")]
    assert stage.grade() == 0
    out = capsys.readouterr().out
    assert "not allowed: labs/lab9/one.cu:7: uses asm" in out
    assert "lab9: 80/100" in out
    stage.findings = [("labs/lab9/two.c", 1, "calls dlopen")]
    stage.grade()
    assert stage.result()["score"]["points"] == 50  # two and the whole


def test_a_gate_finding_is_told_to_who_asked_for_its_task(stage, capsys):
    stage.findings = [("labs/lab9/two.c", 1, "calls dlopen")]
    stage.grade("T=one")
    assert "two.c" not in capsys.readouterr().out
    stage.grade("T=two")
    assert "not allowed: labs/lab9/two.c:1" in capsys.readouterr().out


MORE = """
[[task]]
name = "more"
sides = ["c"]
[[task.claim]]
name = "bonus"
real = ["float"]
evidence = "proved"
c = 4
extra = true
hint = "look at more"

[[task]]
name = "whole"
"""


@pytest.mark.parametrize("taskwise", [(), ("TASKWISE=1",)])
def test_extra_credit_that_is_refused_costs_itself_alone(stage, taskwise):
    """It is not linked with the whole lab where others' work is graded, which is taskwise."""
    stage.write("autograder/lab9/lab.toml", LAB.replace('\n[[task]]\nname = "whole"\n', MORE))
    stage.program("build/float/lab9/only-more/worker", "#!/bin/sh\n")
    stage.says["list"] = [*stage.says["list"], "lab9_more/bonus"]
    stage.findings = [("labs/lab9/more.c", 2, "calls dlopen")]
    assert stage.grade(*taskwise) == 0
    assert stage.result()["score"] | {"points": 100, "extra": 5} == stage.result()["score"]
    kinds = {c["claim"]: c.get("kind") for c in stage.result()["claims"]}
    assert kinds["more/bonus"] == "gate" and kinds["whole/together"] is None


def test_the_whole_lab_is_concerned_by_the_host_code_of_a_device():
    lab = table.load(5)
    for name, sides in {"train.c": {"c", "cuda"}, "adam.c": {"c"}, "adam.cu": {"cuda"}}.items():
        found = [(f"labs/lab5/{name}", 1, "calls dlopen")]
        assert {side for side in table.SIDES
                if judge.gate_of(lab, found, lab.task("whole"), side)} == sides, name


@pytest.mark.parametrize("argument,words", [
    ("LAB=9", "LAB is given twice"), ("SED=1", "'SED=1' is not an option"),
    ("DEVICES=gpu", "DEVICES=gpu"), ("MIN=-1", "MIN=-1"), ("SEED=abc", "SEED=abc")])
def test_a_slip_on_the_command_line_is_named(stage, capsys, argument, words):
    assert stage.grade(argument) == 2
    assert words in capsys.readouterr().err


def test_missing_programs_are_named(stage, capsys):
    (stage.folder / "build/float/lab9/all/worker").unlink()
    assert stage.grade() == 2
    assert "build/float/lab9/all/worker is not there" in capsys.readouterr().err


def test_criterion_options_of_the_caller_do_not_arrive(stage, monkeypatch):
    monkeypatch.setenv("CRITERION_ALWAYS_SUCCEED", "1")  # (the stand-in looks)
    assert stage.grade() == 0


def test_change_since_the_last_run(stage, capsys):
    stage.says["lab9_two/third"] = fail()
    stage.grade()
    del stage.says["lab9_two/third"]
    stage.says["lab9_one/second"] = fail()
    capsys.readouterr()
    stage.grade()
    assert "of the whole lab: +20 in all, two/third (C) +30, one/second (C) -10" in " ".join(
        capsys.readouterr().out.split())


def test_of_a_part_nothing_is_said_of_the_last_whole_run(stage, capsys):
    """It may be long over: what has fallen since the last try would read as progress."""
    stage.says["lab9_two/third"] = fail()
    stage.grade()
    del stage.says["lab9_two/third"]
    capsys.readouterr()
    stage.grade("T=two")
    assert "since the last run" not in capsys.readouterr().out


def test_a_run_with_ones_own_other_labs_is_compared_with_its_like(stage, capsys):
    """What of another lab is the reference's, or one's own, decides points, too."""
    stage.says["lab9_two/third"] = fail()
    stage.grade("MINE=1")
    del stage.says["lab9_two/third"]
    capsys.readouterr()
    stage.grade()
    assert "since the last run" not in capsys.readouterr().out
    stage.grade("MINE=1")
    assert "since the last run of the whole lab: +30" in capsys.readouterr().out
    assert stage.result()["build"] == []


def test_json_is_the_document(stage, capsys):
    assert stage.grade("JSON=1") == 0
    out = capsys.readouterr()
    assert json.loads(out.out)["score"]["points"] == 100
    assert out.err.rstrip().endswith("extra 5/5")


def test_the_largest_error_of_a_claim_at_any_place_is_kept(stage):
    stage.says["lab9_one/first@cpu"] = {"worst": 0.125}
    stage.says["lab9_one/first@hostcuda"] = {"worst": 0.25}
    stage.says["lab9_two/bonus"] = fail(worst="nan")
    assert stage.grade() == 0
    worst = {(c["claim"], c["side"]): c.get("worst") for c in stage.result()["claims"]}
    assert worst["one/first", "c"] == 0.125 and worst["one/first", "cuda"] == 0.25
    assert worst["two/bonus", "c"] is None
