"""What is measured: by the run that is there, with its options and its checkpoint. A measurement
that is stopped leaves nothing running, and a report that measures nothing needs no torch."""

import os
import re
import signal
import subprocess
import sys
import time

import freshness
import measure
import pytest
import store
from conftest import REPORT
from test_build import text_of


@pytest.fixture
def student(lab, monkeypatch):
    """MINE=1, with programs, and a short run of the student's own where make train puts it."""
    lab.built("build/float/mine", "0123abcd89ef4567")
    monkeypatch.setenv("MINE", "1")
    monkeypatch.setattr(measure, "ROOT", lab.root)
    lab.short = [line for line in lab.training(seeds=(1,), epochs=2) if line["program"] == "train"]
    lab.short[0] |= {"limit": 2000, "momentum": 0.5}
    lab.write(lab.short, "results/mine/train-a-auto-seed1/train.jsonl")
    (lab.root / "results/mine/train-a-auto-seed1/checkpoint").write_text("weights")
    return lab


def missing(lab, again=False):
    """{name: its commands as text} of what measure.py would do."""
    results, fresh = store.read(lab.root, ["results/mine"]), freshness.Freshness(lab.root)
    steps = measure.steps_for("cpu", "auto", False, measure.finder(results, fresh, again))
    wanted = measure.wanted(steps, results, fresh, again)
    return {step.name: [" ".join(map(str, words)) for words in step.commands] for step in wanted}


RECIPE = ["DATASET=cifar10", "EPOCHS=2", "LIMIT=2000", "MOMENTUM=0.5", "OPT=sgd", "SEED=1"]


def test_the_run_that_is_there_is_taken_with_its_options(student):
    steps = missing(student)
    assert not any(name.startswith("training") for name in steps)
    plan, twin = steps["the PyTorch twin of results/mine/train-a-auto-seed1"]
    assert set(RECIPE) <= set(plan.split()) and "PLAN_ONLY=1" in plan and "train.py" in twin
    (predict,) = steps["test images, cpu"]
    assert "RESUME=results/mine/train-a-auto-seed1/checkpoint" in predict
    assert "LIMIT=2000" in predict and "DATASET=cifar10" in predict


def test_a_run_without_its_checkpoint_is_trained_again_in_another_folder(student):
    (student.root / "results/mine/train-a-auto-seed1/checkpoint").unlink()
    train, predict = missing(student)["test images, cpu"]
    assert set(RECIPE) <= set(train.split())
    assert "OUT=results/mine/report/train-a-cpu-seed1" in train
    assert "RESUME=results/mine/report/train-a-cpu-seed1/checkpoint" in predict


def test_a_stale_run_is_trained_again_with_its_own_options(student):
    (student.root / "build/float/mine/build_info.c").write_text(
        'const char build_sources[] = "ffffffff89ef4567";\n'
    )
    assert not any(name.startswith("training") for name in missing(student))
    steps = missing(student, again=True)
    (train,) = steps["training net a, seed 1, cpu"]
    assert set(RECIPE) <= set(train.split()) and "OUT=results/mine/report/" in train
    (predict,) = steps["test images, cpu"]
    assert "RESUME=results/mine/report/train-a-cpu-seed1/checkpoint" in predict


def test_a_run_of_another_net_is_taken_where_there_is_none_of_net_a(student):
    lines = [line | {"net": "b", "seed": 7} for line in student.short]
    student.write(lines, "results/mine/train-a-auto-seed1/train.jsonl")
    steps = missing(student)
    assert not any(name.startswith("training") for name in steps)
    assert all("NET=a" not in command for commands in steps.values() for command in commands)


def test_answers_of_an_older_net_are_asked_for_again(student):
    answers = [line for line in student.rest() if line["kind"] == "predictions"]
    student.write(answers, "results/mine/predict/predictions.jsonl")
    assert "test images, cpu" not in missing(student)
    later = [line | {"time": "2026-11-21T13:00:00Z"} for line in student.short]
    student.write(later, "results/mine/train-a-auto-seed1/train.jsonl")
    assert "test images, cpu" in missing(student)


def test_a_short_run_is_shown_as_what_it_is(student):
    """Beside a stale one that has its twin; and on how many images."""
    old = student.training(seeds=(1, 2))
    for line in old:
        if line["program"] == "train":
            line["sources"] = "ffffffff89ef4567"
    student.write(old, "results/mine/old/train.jsonl")
    rest = [line | {"rungs": "none"} for line in student.operations() + student.rest()]
    student.write(rest, "results/mine/rest.jsonl")
    page = re.sub(r"\s+", " ", text_of(student.build("DRAFT=1")))
    assert "cifar10 (LIMIT=2000) ours 2 1" in page and "other code of labs/" not in page


HELPER = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open(sys.argv[1], "w").write(str(child.pid))
child.wait()
"""
DRIVER = """
import sys, children, measure
from pathlib import Path
helper, pid = sys.argv[1:]
measure.ROOT = Path(pid).parent
step = measure.Step("training", "1 s", lambda line: False, [[sys.executable, helper, pid]])
measure.have_gpu, measure.steps_for = (lambda: False), (lambda *_: [step])
children.end_with_us("measure", lambda: measure.main([]))
"""


def alive(pid):
    try:
        state = open(f"/proc/{pid}/stat", encoding="utf-8").read().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


@pytest.mark.parametrize("number, name", [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")])
def test_what_is_stopped_leaves_nothing_running(tmp_path, number, name):
    """measure.py starts a program that starts another; both end with it."""
    helper, pid = tmp_path / "helper.py", tmp_path / "pid"
    helper.write_text(HELPER)
    process = subprocess.Popen([sys.executable, "-B", "-c", DRIVER, str(helper), str(pid)],
                               cwd=REPORT, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True,
                               # (a shell's job in the background has Ctrl-C ignored)
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    assert until(lambda: pid.exists() and pid.read_text())
    grandchild = int(pid.read_text())
    process.send_signal(number)
    said, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number and errors == ""
    assert said.splitlines()[-1].startswith(f"measure: stopped by {name}; ")
    assert until(lambda: not alive(grandchild), 10)
    assert (tmp_path / "results/local/report/measure.log").exists()


def no_torch(folder):
    """A Python that has what plots need, and no torch."""
    (folder / "torch.py").write_text("raise ImportError('no torch here')\n")
    python = folder / "python"
    python.write_text(f'#!/bin/bash\nPYTHONPATH={folder} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return python


def make(*words):
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}
    return subprocess.run(["make", *words], cwd=REPORT.parent, env=env, capture_output=True,
                          text=True, timeout=300)  # fmt: skip


def needs(*words):
    """What the Makefile looks for before a report with these options."""
    said = subprocess.run(["env", *words, "bash", "-c", ". tools/probe.sh; needs_of report"],
                          cwd=REPORT.parent, capture_output=True, text=True,
                          check=True)  # fmt: skip
    return said.stdout.split()


@pytest.mark.parametrize("words", [["DRAFT=1"], ["FROM=results/epyc-2c"], ["DRAFT=1", "MINE=1"]])
def test_a_draft_and_brought_results_need_no_programs_and_no_torch(words):
    said = make("-n", "report", *words).stdout
    assert "report/build.py" in said and needs(*words) == ["plotting", "latex"]
    for needed in ("measure.py", "LINK", "build/float/train"):
        assert needed not in said, needed
    assert {"compiler", "packages", "plotting", "latex"} <= set(needs())


@pytest.mark.twin
def test_a_report_of_nothing_measures():
    assert "measure.py" in make("-n", "report").stdout


def test_a_report_is_built_by_a_python_without_torch(tmp_path):
    done = make("report", "FROM=results/epyc-2c", f"OUT={tmp_path / 'report.pdf'}",
                f"PYTHON={no_torch(tmp_path)}")  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PyTorch" in text_of(tmp_path / "report.pdf")


def test_what_measures_nothing_takes_no_word_about_measuring():
    done = make("-n", "report", "DRAFT=1", "AGAIN=1")
    assert done.returncode == 2 and "leave out AGAIN" in done.stderr
