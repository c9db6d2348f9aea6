"""Failures that are another file's: who waits for whom, and what is said of files that are not
written, or that do not compile or link.
"""

import re
from pathlib import Path

import judge
import listing
import pytest
import table
from conftest import fail


def test_behind_a_failed_task_a_failure_waits(stage, capsys):
    stage.says["lab9_one/first@cpu"] = fail()
    stage.says["lab9_two/third"] = fail()
    stage.says["lab9_whole/together"] = fail("crash")
    stage.grade()
    out = capsys.readouterr().out
    assert "waiting for one, up to 30 points" in out
    assert "two/third" not in out
    verdicts = {(c["claim"], c["side"]): c["verdict"] for c in stage.result()["claims"]}
    assert verdicts["two/third", "c"] == "waiting"
    assert verdicts["whole/together", "c"] == "waiting"
    assert verdicts["two/bonus", "c"] == "pass"
    assert stage.result()["score"]["points"] == 30
    assert stage.result()["next"]["behind"] == 50


def test_the_other_half_of_a_task_makes_nobody_wait(stage):
    stage.says["lab9_one/first@hostcuda"] = fail()
    stage.says["lab9_two/third"] = fail()
    stage.grade()
    verdicts = {c["claim"]: c["verdict"] for c in stage.result()["claims"]}
    assert verdicts["two/third"] == "fail"


def test_a_file_that_is_not_written_says_so_and_does_not_wait(stage, capsys):
    stage.says["lab9_one/first"] = fail("not_implemented", text="one.c:3: not yet")
    stage.says["lab9_two/third"] = fail("not_implemented", text="two.c:3: not yet")
    stage.says["lab9_two/bonus"] = fail("not_implemented", text="one.c:3: not yet")
    stage.grade()
    verdicts = {(c["claim"], c["side"]): c["verdict"] for c in stage.result()["claims"]}
    assert verdicts["two/third", "c"] == "fail"
    assert verdicts["two/bonus", "c"] == "waiting"


def test_taskwise_uses_a_worker_for_each_task_and_nothing_waits(stage):
    stage.says["lab9_one/first@cpu"] = fail()
    stage.says["lab9_two/third"] = fail()
    stage.grade("TASKWISE=1")
    verdicts = {c["claim"]: c["verdict"] for c in stage.result()["claims"]}
    assert verdicts["two/third"] == "fail"
    for line in stage.runs():
        worker, claims = line.split()[0], line.split()[3:]
        variant = "whole" if claims == ["lab9_whole/together"] else f"only-{claims[0][5:8]}"
        side = "-cuda" if line.split()[1] == "hostcuda" else ""
        assert worker.endswith(f"lab9/{variant}{side}/worker")


def test_c_that_does_not_link_is_named_once_and_costs_no_cuda(stage, capsys):
    for real in ("float", "double"):
        (stage.folder / f"build/{real}/lab9/all/worker").unlink()
        stage.write(f"build/{real}/lab9/all/why", "labs/lab9/one.c lacks tl_one\n")
    assert stage.grade() == 0
    out = capsys.readouterr().out
    assert out.count("labs/lab9/one.c lacks tl_one") == 1
    assert out.rstrip().endswith("lab9: 20/100")


def test_a_plugin_that_does_not_link_costs_its_lane(stage, capsys):
    for real in ("float", "double"):
        (stage.folder / f"build/{real}-check/lab9/all-cuda/libtl_hostcuda.so").unlink()
        stage.write(f"build/{real}-check/lab9/all-cuda/why-hostcuda", "one.cu lacks tl_one\n")
    assert stage.grade() == 0
    assert "lab9: 80/100" in capsys.readouterr().out


def unbuilt(stage, why: str, text: str, program: str) -> None:
    for real in ("float", "double"):
        mode = real + ("-check" if "cuda" in program else "")
        (stage.folder / f"build/{mode}/lab9/{program}").unlink()
        stage.write(str(Path(f"build/{mode}/lab9", program).with_name(why)), f"{text}\n")


def test_what_does_not_compile_is_called_so_and_not_what_comes_of_it(stage, capsys):
    unbuilt(stage, "why-hostcuda", "labs/lab9/one.cu does not compile: line 3: no `}`",
            "all-cuda/libtl_hostcuda.so")
    stage.findings = [("labs/lab9/one.cu", 3, "this is not legal CUDA: expected }")]
    assert stage.grade() == 0
    out = capsys.readouterr().out
    assert out.count("labs/lab9/one.cu does not compile: line 3: no `}`") == 1
    assert "one.cu: does not compile" in out and "next: fix one.cu, so that it compiles" in out
    assert "not allowed" not in out and "does not link" not in out and "lab9: 80/100" in out
    assert stage.result()["gate"] == []


def test_of_what_compiles_somewhere_every_finding_counts(stage):
    (stage.folder / "build/double-check/lab9/all-cuda/libtl_hostcuda.so").unlink()
    stage.write("build/double-check/lab9/all-cuda/why-hostcuda",
                "labs/lab9/one.cu does not compile: x\n")
    stage.findings = [("labs/lab9/one.cu", 3, "uses asm")]
    assert stage.grade() == 0
    kinds = {(c["claim"], c["side"]): c.get("kind") for c in stage.result()["claims"]}
    assert kinds["one/first", "cuda"] == "gate"


def test_a_missing_file_is_no_failure_of_the_linker(stage, capsys):
    unbuilt(stage, "why", "labs/lab9/one.c is missing: make restore LAB=9 T=one puts …",
            "all/worker")
    assert stage.grade() == 0
    out = capsys.readouterr().out
    assert out.count("is missing") == 1 and "does not link" not in out
    assert "one.c: missing" in out and "waiting for one, up to 20 points" in out
    assert "next: put one.c back in its place (up to 30 points" in out


def test_a_right_file_that_is_linked_with_a_broken_one_waits_for_it(stage, capsys):
    why = "labs/lab9/one.c does not compile: line 3: no `}`"
    for program in ("only-one/worker", "only-two/worker", "whole/worker"):
        unbuilt(stage, "why", why, program)
    assert stage.grade("TASKWISE=1") == 0
    out = capsys.readouterr().out
    assert out.count("does not compile") == 2 and "one.c: does not compile" in out
    assert "waiting for one, up to 35 points" in out and "waiting for one, up to 20" in out
    assert "next: fix one.c, so that it compiles (up to 30 points, and 55 points wait" in out
    assert stage.grade("TASKWISE=1", "DEVICES=cpu", "T=two") == 0
    out = capsys.readouterr().out
    assert why in out and "two.c" not in out and "waiting for one" in out


def test_a_call_of_no_function_is_said_once_and_is_nothing_that_is_not_allowed(stage, capsys):
    why = "labs/lab9/one.c: there is no function tl_x, which tl_one calls: is it spelled right?"
    for program in ("only-one/worker", "only-two/worker", "whole/worker"):
        unbuilt(stage, "why", why, program)
    stage.findings = [("labs/lab9/one.c", 7, "tl_x: this task is to be written without it")]
    assert stage.grade("TASKWISE=1") == 0
    out = capsys.readouterr().out
    assert " ".join(out.split()).count("there is no function tl_x") == 1
    assert "not allowed" not in out and "does not link" not in out and "two.c" not in out
    assert "one.c: calls a function that does not exist" in out
    assert "waiting for one, up to 35 points" in out and "next: fix one.c, so that it calls" in out
    # where it can be linked, the name is somebody's
    other = "x is called by y, and defined nowhere"
    (stage.folder / "build/float/lab9/whole/why").write_text(other)
    assert stage.grade("TASKWISE=1") == 0
    assert "not allowed: labs/lab9/one.c:7: tl_x" in capsys.readouterr().out


def test_a_broken_file_of_another_lab_is_named_by_itself(stage, capsys):
    for program in ("only-one/worker", "only-two/worker", "whole/worker"):
        unbuilt(stage, "why", "labs/lab8/other.c does not compile: x", program)
    assert stage.grade("TASKWISE=1") == 0
    out = capsys.readouterr().out
    assert "one.c" not in out and "two.c" not in out
    assert out.count("labs/lab8/other.c: does not compile") == 3
    assert "next: fix labs/lab8/other.c, so that it compiles" in out


def test_what_another_lab_has_not_written_is_not_this_labs(stage, capsys):
    said = "not implemented yet: other.c:31: tl_other is not implemented yet"
    for claim in ("lab9_two/third", "lab9_two/bonus"):
        stage.says[claim] = fail("not_implemented", text=said)
    assert stage.grade() == 0
    out = capsys.readouterr().out
    assert "other.c is not written yet" in out and "next: write other.c" in out
    assert "two.c" not in out
    stage.says["lab9_two/third"] = fail("not_implemented", text=said.replace("other.c", "gemm.cu"))
    del stage.says["lab9_two/bonus"]  # what holds speaks for nobody's file
    stage.grade()
    assert "next: write labs/lab1/gemm.cu" in capsys.readouterr().out


@pytest.mark.parametrize("why", [
    "labs/lab9/two.c does not compile: x\nlabs/lab9/one.c does not compile: x",
    "labs/lab9/one.c does not compile: x\nf is called by g, and defined nowhere",
    "labs/lab9/three.c is missing"])
def test_whoever_has_a_part_in_it_does_not_wait(stage, why):
    unbuilt(stage, "why", why, "only-two/worker")
    assert stage.grade("TASKWISE=1") == 0
    verdicts = {c["claim"]: c["verdict"] for c in stage.result()["claims"]}
    assert verdicts["two/third"] == "fail"


def test_with_one_task_asked_for_its_claims_wait_for_what_another_has_not_written(stage, capsys):
    """As module.c, finished, whose claims build nets by module_layers.c."""
    said = "not implemented yet: two.c:31: tl_two is not implemented yet"
    for claim in ("lab9_one/first", "lab9_one/second"):
        stage.says[claim] = fail("not_implemented", text=said)
    assert stage.grade("T=one") == 0
    out = capsys.readouterr().out
    assert "one.c is not written" not in out and "waiting for two, up to " in out
    assert re.search(r"next: write two\.c \(\d+ points wait behind it\)", out)
    stage.says["lab9_one/first"] = fail("not_implemented", text=said.replace("two.c", "one.c"))
    stage.grade("T=one")
    assert "next: write one.c (up to " in capsys.readouterr().out


def test_work_in_another_stream_is_told_before_the_values_that_it_spoils(stage, capsys):
    stage.says["lab9_one/first"] = fail()
    stage.says["lab9_one/second"] = fail("other_stream", text="one.cu:5: queued elsewhere")
    assert stage.grade() == 0
    out = capsys.readouterr().out
    assert "queued elsewhere" in out and "(T=one/first shows one in full" in out
    assert ", beginning with second" in out


def unwritten(task: str, claim: str, extra: bool) -> dict:
    return {"task": task, "claim": f"{task}/{claim}", "side": "c", "verdict": "fail", "max": 5,
            "kind": "not_implemented", "extra": extra, "error": ""}


def test_extra_credit_is_next_after_all_other_points():
    lab = table.load(3)
    extra = unwritten("batchnorm", "gradients_match_numeric", True)
    cases = unwritten("cases", "broken_versions_are_noticed", False)
    assert judge.next_to_mend(lab, [extra, cases])["task"] == "cases"
    assert judge.next_to_mend(lab, [extra])["task"] == "batchnorm"


def test_a_slow_kernel_that_is_given_is_not_begun():
    lab = table.load(5)
    slow = unwritten("conv3x3", "pixels_come_from_shared_memory", False) | {
        "side": "cuda", "kind": "sectors"}
    step = unwritten("sgd", "steps_follow_the_formula", False)
    assert judge.next_to_mend(lab, [step, slow])["task"] == "sgd"
    first = slow | {"claim": "conv3x3/a_pixel_serves_several_channels", "verdict": "pass"}
    assert judge.next_to_mend(lab, [step, slow, first])["task"] == "conv3x3"


def test_a_claim_by_itself_has_those_beside_it_that_its_diagnoses_ask_about():
    lab = table.load(3)
    [alone] = listing.wanted(lab, "maxpool2d/nan_wins_over_numbers")
    beside = [c.name for c in listing.with_witnesses(lab, [alone])]
    assert {"forward_takes_the_largest", "nan_wins_over_numbers"} <= set(beside)
    assert listing.with_witnesses(lab, lab.claims) == lab.claims
