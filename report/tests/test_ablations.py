"""Lab 5's ablations: which runs are one, what the table says of them, and what is to be typed."""

import re

import ablations
import freshness
import pytest
import store
import training
import units
from build import Report, _entry
from conftest import REPORT
from test_build import check_text, comes_from_its_line

ALL = {"lr": 0.01, "momentum": 0.9, "wd": 5e-4, "aug": "crop+flip"}


def runs(lab, net="a", seeds=(1, 2), **options):
    """Of ours alone, with all three and these in their place; each has accuracies of its own."""
    recipe = ALL | options
    lines = [line for line in lab.training(net, seeds) if line["program"] == "train"]
    worse = 0.01 * sum(recipe[name] in (0, "none") for name in store.OFF)
    worse += 0.02 * (not recipe["wd"])
    for line in lines:
        if line["kind"] == "run":
            line |= recipe
        else:
            line["test_acc"] -= worse
    return lines


def off(lab, *names, **options):
    return [line for name in names for line in runs(lab, **{name: store.OFF[name]}, **options)]


def report_of(lab) -> Report:
    return Report(store.read(lab.root, ["results/local"]), freshness.Freshness(lab.root), "en")


def missing(lab) -> str:
    with pytest.raises(ablations.Missing) as error:
        ablations.table(report_of(lab), "cpu")
    return error.value.fix


def test_each_row_is_the_number_of_its_lines(lab):
    lab.write(lab.training() + runs(lab) + off(lab, "momentum", "wd"))
    report = report_of(lab)
    (table,) = ablations.table(report, "cpu")
    assert [row[0] for row in table.rows] == [
        "all three", "without momentum", "without weight decay", "without augmentation"]
    cells = [_entry(cell) for row in table.rows[:3] for cell in row[1:] if cell]
    for cell in cells:
        check_text(cell)
    assert len([c for c in cells if c["source"] and comes_from_its_line(lab, c)]) == 3 * 3
    changes = [_entry(row[-1])["text"] for row in table.rows]
    assert changes == ["", "-1.00", "-3.00", units.DASH]
    assert report.values["ablations.a.cpu.no-wd.change"] is table.rows[2][-1]
    assert report.values["ablations.a.cpu.with-all.acc"] is table.rows[0][4]
    assert "momentum 0.9, weight decay 0.0005 and augmentation crop+flip" in table.caption
    assert re.fullmatch(r"Not trained yet: make train NET=a .*AUG=none \S+", table.note)


def test_a_change_is_of_equal_seeds(lab):
    lab.write(runs(lab, seeds=(1, 2)) + off(lab, "momentum", seeds=(2, 3))
              + off(lab, "aug", seeds=(4,)))
    table = ablations.table(report_of(lab), "cpu")[0]
    assert [row[-1] if isinstance(row[-1], str) else row[-1].text for row in table.rows] == [
        "", "-1.00", units.DASH, units.DASH]


@pytest.mark.parametrize("other", [
    {"lr": 0.02}, {"epochs": 4}, {"limit": 500}, {"sched": "constant"}, {"momentum": 0, "wd": 0}])
def test_runs_that_differ_in_more_are_no_ablation(lab, other):
    lab.write(runs(lab) + runs(lab, **({"momentum": 0} | other)))
    assert "MOMENTUM=0" in missing(lab)


def test_nesterov_goes_with_momentum(lab):
    lab.write(runs(lab, nesterov=1) + off(lab, "momentum") + off(lab, "wd", nesterov=1))
    to_type = ablations.table(report_of(lab), "cpu")[0].note
    assert "AUG=none" in to_type and "NESTEROV=1" in to_type and "MOMENTUM=0 " not in to_type


def test_what_is_not_there_is_typed_like_this(lab):
    lab.write(lab.everything())
    assert missing(lab).split("; ") == [
        "make train NET=a LR=0.01 MOMENTUM=0.9 WD=0.0005 AUG=crop+flip OUT=results/local/with-all "
        "DEVICE=cpu",
        "make train NET=a LR=0.01 MOMENTUM=0 WD=0.0005 AUG=crop+flip OUT=results/local/no-momentum "
        "DEVICE=cpu",
        "make train NET=a LR=0.01 MOMENTUM=0.9 WD=0 AUG=crop+flip OUT=results/local/no-wd "
        "DEVICE=cpu",
        "make train NET=a LR=0.01 MOMENTUM=0.9 WD=0.0005 AUG=none OUT=results/local/no-aug "
        "DEVICE=cpu"]  # fmt: skip


def test_what_is_left_follows_the_run_that_is_there(lab):
    lab.write(lab.everything() + runs(lab, "b", seeds=(7,), limit=500))
    first, *_ = missing(lab).split("; ")
    assert {"NET=b", "LIMIT=500", "SEED=7", "MOMENTUM=0", "WD=0.0005", "AUG=crop+flip", "EPOCHS=3",
            "OUT=results/local/no-momentum"} <= set(first.split())


def test_the_run_with_all_three_is_the_one_that_the_report_is_about(lab):
    """Also where an ablation is newer: the twin would follow it."""
    later = [line | {"time": "2026-11-22T12:00:00Z"} for line in off(lab, "momentum", "wd", "aug")]
    lab.write(runs(lab) + later)
    chosen = training.chosen_runs(report_of(lab), "a", "cpu")["ours"]
    assert [run.start["momentum"] for run in chosen.values()] == [0.9, 0.9]
    assert {run.start["wd"] for run in chosen.values()} == {5e-4}


def test_lab_5s_page_has_the_same_commands_typed(lab, monkeypatch, tmp_path):
    """As in a handout, where MINE=1 is not typed: labs may be closed."""
    (tmp_path / "given").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINE", "1")
    monkeypatch.setenv("MAKEFLAGS", "")
    page = (REPORT.parent / "labs/lab5/experiments.md").read_text(encoding="utf-8")
    for name in ablations.NAMES:
        assert f"\n{ablations.command(name)}\n" in page
