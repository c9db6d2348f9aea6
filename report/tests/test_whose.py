"""MINE=1: a student's own programs are measured and reported, and nobody else's."""

import json
import os
import re
import subprocess
import sys

import build
import catalogue
import freshness
import measure
import pytest
import store
import whose
from conftest import BUILD, CODE, REPORT
from test_build import text_of

OWN = "facade01" + BUILD  # sources of the student's programs
SAID = "a student's own files"


@pytest.fixture
def mine(lab, monkeypatch):
    """The student's programs lie beside the reference's, and MINE=1 was typed."""
    lab.built("build/float/mine", OWN)
    monkeypatch.setenv("MINE", "1")
    return lab


def own(lines):
    """The lines as the student's programs write them; the twin is the same."""
    text = json.dumps(lines).replace(CODE + BUILD, OWN)
    return json.loads(text.replace('"rungs": "all"', '"rungs": "none"'))


def sources(lab, folder="out"):
    """Files that the values on the page came from."""
    ledger = json.loads((lab.root / folder / "tex/values.json").read_text())
    cells = [cell for entry in ledger for cell in entry.get("row", [entry])]
    return {name for cell in cells for name in re.findall(r"results/\S+?\.jsonl", str(cell))}


def commands(text):
    """The make commands that measure again, of the messages of a report."""
    goals = r"report|train|baseline|predict|bench-\w+|gpu-suite"
    found = re.findall(rf"make (?:{goals})\b[^;')\n]*", text)
    assert len(found) > 5
    return found


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_own_results_are_reported_and_the_references_are_not(mine, device):
    mine.write(mine.everything(device))
    mine.write(own(mine.everything(device)), "results/mine/all.jsonl")
    page = text_of(mine.build())
    assert SAID in page and "STALE" not in page and "Kernel ladder" not in page
    assert sources(mine) == {"results/mine/all.jsonl"}


def test_in_a_handout_a_command_says_mine_only_where_it_was_typed(tmp_path, monkeypatch):
    """It is in the environment there anyway, and would take a student's files of closed labs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINE", "1")
    monkeypatch.setenv("MAKEFLAGS", " -- DRAFT=1")
    assert whose.owner().make("report") == "make report MINE=1"
    (tmp_path / "given").mkdir()
    assert whose.owner().make("report") == "make report"
    monkeypatch.setenv("MAKEFLAGS", " -- MINE=1 DRAFT=1")
    assert whose.owner().make("report") == "make report MINE=1"


def test_an_ordinary_report_is_the_same_with_and_without_own_results(lab):
    lab.write(lab.everything())
    before = lab.build(folder="before").read_bytes()
    lab.built("build/float/mine", OWN)
    lab.write(own(lab.everything()), "results/mine/all.jsonl")
    lab.write(['{"training": "sgd_step is not implemented yet"}'],
              "results/mine/report/failures.json")  # fmt: skip
    pdf = lab.build(folder="after")
    assert pdf.read_bytes() == before and SAID not in text_of(pdf)


def test_results_of_the_reference_are_refused_and_every_cure_says_mine(mine):
    mine.write(mine.everything() + mine.everything("cuda"), "results/mine/all.jsonl")
    with pytest.raises(build.ReportError, match="other code of labs/") as error:
        mine.build()
    for command in commands(str(error.value)):
        assert "MINE=1" in command and "gpu-suite" not in command


def test_what_is_not_written_yet_is_said_and_every_cure_says_mine(mine, capsys):
    mine.write(mine.everything())
    said = {
        "training net a, seed 1, cpu": "train: sgd_step is not implemented yet",
        "operations, rungs none, cpu": "bench_ops: im2col is not implemented yet",
    }
    mine.write([json.dumps(said)], "results/mine/report/failures.json")
    page = re.sub(r"\s+", " ", text_of(mine.build()))
    gaps = capsys.readouterr().out
    for part, what in (
        ("Training", "train: sgd_step"), ("Machine and software", "train: sgd_step"),
        ("Convolution", "bench_ops: im2col"), ("Forward and backward", "bench_ops: im2col"),
    ):  # fmt: skip
        text = f"not implemented yet: {what} is not implemented yet"
        assert text in page and re.search(rf"^gap: .*{part}.*: {text}", gaps, re.M)
    assert "Training (GPU): no finished training run" in page  # it has never been asked
    assert "OUT=results/mine/" in gaps and "results/local" not in gaps
    assert all("MINE=1" in command for command in commands(gaps))


def test_without_own_programs_it_says_what_to_build(mine):
    (mine.root / "build/float/mine/build_info.c").unlink()
    mine.write(own(mine.everything()), "results/mine/all.jsonl")
    with pytest.raises(build.ReportError, match="make build/float/mine/train MINE=1"):
        mine.build()


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("full", [False, True])
def test_own_programs_are_measured_without_quicker_kernels(mine, device, full):
    steps = measure.steps_for(device, "auto", full)
    found = [[str(word) for word in command] for step in steps for command in step.commands]
    ours = [command for command in found if command[0] != sys.executable]
    assert {command[0] for command in ours} == {
        "build/float/mine/train", "build/float/mine/predict"
    }  # fmt: skip
    assert all("RUNGS=none" in command for command in ours)
    # the scripts know by themselves, and make refuses the option in a line's command
    assert not any("RUNGS" in " ".join(command) for command in found if command not in ours)
    places = [word for command in found for word in command if word.startswith("OUT=")]
    assert places and all(word.startswith("OUT=results/mine/report/") for word in places)


def failing(*rows):
    code = f"print({chr(10).join(rows)!r}); raise SystemExit(1)"
    return [[sys.executable, "-c", code]]


def steps_of(*steps):
    return lambda *_: [measure.Step(name, "1 s", lambda line: False, commands, after)
                       for name, commands, after in steps]  # fmt: skip


def test_what_is_not_written_yet_is_no_failure(mine, monkeypatch):
    """Also where another program has the last word, and what cannot be without it is not tried."""
    said, around = "conv2d_fwd is not implemented yet", "train, SEED=1: exit 1: "
    monkeypatch.setattr(measure, "ROOT", mine.root)
    monkeypatch.setattr(measure, "have_gpu", lambda: False)
    never = [["true"], ["never-run"]]
    monkeypatch.setattr(measure, "steps_for", steps_of(
        ("operations", failing(around + said, "bench_ops stopped; it says why above"), ""),
        ("its twin", never, "operations"),
    ))  # fmt: skip
    measure.main([])
    path = mine.root / "results/mine/report/failures.json"
    failures = json.loads(path.read_text())
    assert failures == {"operations": said, "its twin": said}
    assert build.failures(mine.root) == failures


def test_what_goes_by_a_run_of_other_code_is_measured_again(mine, monkeypatch):
    lines = own(mine.training())
    for line in lines:
        if line["program"] == "train":
            line["sources"] = "ffffffff" + line["sources"][8:]
    mine.write(lines, "results/mine/all.jsonl")
    results, fresh = store.read(mine.root, ["results/mine"]), freshness.Freshness(mine.root)
    run = measure.finder(results, fresh, True)("a", "cpu")
    ours, twin = measure.training(run, "1 s")
    assert measure.wanted([ours, twin], results, fresh, again=False) == []
    assert measure.wanted([twin], results, fresh, again=True) == []
    assert measure.wanted([ours, twin], results, fresh, again=True) == [ours, twin]


def test_another_failure_is_one(mine, monkeypatch):
    monkeypatch.setattr(measure, "ROOT", mine.root)
    monkeypatch.setattr(measure, "have_gpu", lambda: False)
    monkeypatch.setattr(measure, "steps_for", steps_of(("training", failing("diverged"), "")))
    with pytest.raises(SystemExit, match=r"1 of 1 failed \(results/mine/report/measure.log\)"):
        measure.main([])
    assert build.failures(mine.root) == {"training": "diverged"}


def test_what_failed_is_refused_and_a_draft_says_why(mine):
    lines = [line for line in own(mine.everything()) if line["kind"] not in ("bench_op", "peak")]
    mine.write(lines, "results/mine/all.jsonl")
    said = "baseline/bench_ops.py: linear 64 2048 256: ours is wrong; nothing was timed"
    mine.write([json.dumps({"operations, rungs none, cpu": said})],
               "results/mine/report/failures.json")  # fmt: skip
    with pytest.raises(build.ReportError) as error:
        mine.build()
    text = f"it could not be measured: {said}\n    fix: make lab3 && make grade; "
    assert text in str(error.value)
    page = re.sub(r"\s+", " ", text_of(mine.build("DRAFT=1")))
    assert f"it could not be measured: {said}" in page


@pytest.mark.twin
def test_baseline_runs_the_same_programs_and_writes_to_the_same_place(mine):
    code = "import os, programs; print(os.path.relpath(programs.RESULTS, programs.ROOT))"
    done = subprocess.run([sys.executable, "-B", "-c", code], cwd=REPORT.parent / "baseline",
                          check=True, capture_output=True, text=True)  # fmt: skip
    assert done.stdout.strip() == str(whose.owner().results)


@pytest.mark.parametrize("goal", ["train", pytest.param("baseline", marks=pytest.mark.twin)])
def test_make_keeps_own_results_where_the_report_looks(goal):
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}
    command = ["make", "-n", goal, "MINE=1", "NET=b", "DEVICE=cpu"]
    done = subprocess.run(command, cwd=REPORT.parent, env=env, check=True, capture_output=True,
                          text=True, timeout=120)  # fmt: skip
    said = done.stdout[done.stdout.rindex("build/float/mine/train"):]
    assert f"OUT='results/mine/{goal}-b-cpu-seed1'" in said and "RUNGS=none" in said


def test_the_command_for_own_programs_that_are_not_built_is_one():
    """As baseline/programs.py and freshness.py say it."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}
    command = ["make", "-n", "build/float/mine/train", "MINE=1"]
    done = subprocess.run(command, cwd=REPORT.parent, env=env, capture_output=True, text=True,
                          timeout=120)  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_every_part_names_a_step_of_the_measurement():
    """What was said there is said in the part; scores, checks and the ladder have no step."""
    names = [step.name for step in measure.steps_for("cpu", "auto", False)]
    for part in catalogue.PARTS:
        if part.step is None:
            assert part.optional
        else:
            assert any(name.startswith(part.step) for name in names), part.id


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_step_comes_after_one_that_is_there(device):
    steps = measure.steps_for(device, "auto", True)
    for number, step in enumerate(steps):
        assert not step.after or step.after in [s.name for s in steps[:number]], step.name
