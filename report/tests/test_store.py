"""Reading results: what is damaged, unfinished or unknown is left out and said so."""

import json
import re
from pathlib import Path

import pytest
import store
import training

ROOT = Path(__file__).resolve().parents[2]


def read(lab):
    return store.read(lab.root, ["results/local"])


def test_whole_lines_count_and_half_a_line_is_named(lab):
    lines = lab.training(seeds=(1,))
    half = json.dumps(lines[-1])[:40]
    lab.write([*lines, half], end="")
    results = read(lab)
    assert len(results.runs) == 2
    assert any("half a line" in note and f":{len(lines) + 1}:" in note for note in results.notes)


def test_a_damaged_line_costs_its_run_not_the_file(lab):
    lines = lab.training(seeds=(1,))
    lines[2] = '{"kind": "epoch", "program'
    lab.write(lines)
    results = read(lab)
    assert [run.start.ours for run in results.runs] == [False]
    assert any("not JSON" in note for note in results.notes)
    assert any("2 of 3 epochs: not finished" in note for note in results.notes)


def test_a_killed_run_is_left_out_and_a_resumed_one_is_whole(lab):
    lines = [line for line in lab.training(seeds=(1,)) if line["program"] == "train"]
    lab.write(lines[:3])
    assert read(lab).runs == []
    lab.write([*lines[:3], lines[0], lines[3]])
    (run,) = read(lab).runs
    assert [e["epoch"] for e in run.epochs] == [1, 2, 3]


def test_a_run_for_a_profile_alone_is_no_run_and_no_fault(lab):
    run = next(line for line in lab.training(seeds=(1,)) if line["program"] == "train")
    lab.write([run], "results/local/p/train.jsonl")
    assert any("0 of 3 epochs: not finished" in note for note in read(lab).notes)
    lab.write(lab.rest()[:2], "results/local/p/profile.jsonl")
    results = read(lab)
    assert results.runs == [] and results.notes == []
    lab.write([run, run | {"seed": 2}], "results/local/p/train.jsonl")
    assert len(read(lab).notes) == 2


def test_a_run_resumed_in_another_folder_is_whole_and_its_time_is_not_known(lab):
    """Epochs from a checkpoint have their figures, and null where the times were."""
    lines = [line for line in lab.training(seeds=(1,)) if line["program"] == "train"]
    unknown = {"train_s": None, "eval_s": None, "images_per_s": None, "restored": 1}
    lab.write([lines[0], *[line | unknown for line in lines[1:3]], lines[3]])
    results = read(lab)
    (run,) = results.runs
    assert results.notes == []
    for name in ("train_loss", "train_acc", "test_loss", "test_acc"):
        assert [e[name] for e in run.epochs] == [line[name] for line in lines[1:]]
    assert training._total({1: run}) == [None]
    assert training._rates({1: run}) == [pytest.approx(lines[3]["images_per_s"])]
    run.epochs.pop()
    assert training._rates({1: run}) == [None]


def test_fields_that_are_not_known_do_no_harm_and_missing_ones_are_named(lab):
    good = lab.operations()[0]
    bad = {k: v for k, v in good.items() if k != "twin"}
    lab.write([good | {"flavour": "new"}, bad, {"kind": "of tomorrow"}, 17])
    results = read(lab)
    assert len(results.of("bench_op", "cpu")) == 1
    assert any(":2: no field twin" in note for note in results.notes)


@pytest.mark.parametrize("text", ["NaN", "null", "Infinity"])
def test_a_loss_that_is_no_number_is_none(lab, text):
    rows = [json.dumps(line) for line in lab.training(seeds=(1,))]
    rows[1] = json.dumps(json.loads(rows[1]) | {"train_loss": 0.125}).replace("0.125", text)
    lab.write(rows)
    assert read(lab).runs[0].epochs[0]["train_loss"] is None


def test_timings_without_quartiles_are_left_out(lab):
    lab.write([lab.operations()[0] | {"ours": {"median": 1.0}}])
    results = read(lab)
    assert results.lines == [] and "quartiles" in results.notes[0]


def test_a_folder_that_is_not_there_is_named(lab):
    assert store.read(lab.root, ["results/nowhere"]).notes == [
        "results/nowhere: no such file or folder"
    ]


def test_a_grade_of_another_form_is_left_out(lab):
    path = lab.root / "build/grade/lab1/grade.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"schema": "gradlab-grade/9"}')
    results = read(lab)
    assert results.grades == [] and any("gradlab-grade/9" in note for note in results.notes)


def grade(lab, name, points, time, number=1, schema=2):
    path = lab.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    score = {"points": points, "max": 100}
    document = {"schema": f"gradlab-grade/{schema}", "lab": number, "time": time, "score": score}
    path.write_text(json.dumps(document))


def test_of_each_lab_the_latest_grade_counts(lab):
    """Of whichever form that can be read; the grader's own is one of them."""
    written = (ROOT / "autograder/grade/document.py").read_text()
    assert re.search(r'SCHEMA = "(.*)"', written)[1] in store.GRADES
    grade(lab, "results/local/grade-lab1.json", 90, "2026-11-20T10:00:00Z", schema=3)
    grade(lab, "build/grade/lab1/grade.json", 100, "2026-11-21T10:00:00Z", schema=4)
    grade(lab, "results/local/grade-lab2.json", 80, "2026-11-22T10:00:00Z", number=2)
    grade(lab, "build/grade/lab3/grade-mine.json", 70, "2026-11-22T11:00:00Z", number=3)
    points = {d["lab"]: d["score"]["points"] for _, d in read(lab).grades}
    assert points == {1: 100, 2: 80, 3: 70}
