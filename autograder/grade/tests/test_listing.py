"""`make claims` tells what a lab asks, gives no hint away, and stands by whoever mistypes T=."""

import pytest

import listing
import table

LABS = [table.load(number) for number in table.numbers()]
BY_NUMBER = pytest.mark.parametrize("lab", LABS, ids=lambda lab: f"lab{lab.number}")


def listed(capsys, *arguments) -> str:
    assert listing.main([*arguments]) == 0
    return capsys.readouterr().out


@BY_NUMBER
def test_each_claim_has_one_line_with_its_points(lab, capsys):
    lines = listed(capsys, f"LAB={lab.number}").splitlines()
    for claim in lab.claims:
        cells, = (line.split() for line in lines if line.split()[:1] == [claim.short_name])
        points = [str(claim.points.get(side, "-")) for side in ("c", "cuda")]
        assert cells[1:3] == points and cells[3].strip(",") in table.REALS
    assert max(map(len, lines)) <= 110
    sums = {"points": 100, "steps": lab.total}["steps" if lab.steps else "points"]
    assert f"{len(lab.claims)} claims, {sums} " in lines[0]


@BY_NUMBER
def test_no_hint_and_no_diagnosis_is_given_away(lab, capsys):
    said = " ".join((listed(capsys, f"LAB={lab.number}")).split())
    for secret in [c.hint for c in lab.claims] + list(lab.diagnoses.values()):
        assert not [part for part in secret.split(". ") if len(part) > 12 and part in said]
    assert not [name for name in lab.diagnoses if name in said.split()]


def test_one_task_alone(capsys):
    lines = listed(capsys, "LAB=2", "T=im2col").splitlines()
    rows = [line.split()[0] for line in lines[3:-3]]
    assert rows == [c.short_name for c in LABS[2].task("im2col").claims]


@pytest.mark.parametrize("lab, typed, task", [
    (2, "im2cl", "im2col"), (2, "task/x", "whole"), (2, "conv2d_fwd/forward", "conv2d_fwd"),
    (2, "columns_hold_receptive_feilds", "im2col"), (3, "softmax", "softmax_xent"),
    (1, "matmull/x", "matmul")])
def test_a_wrong_name_shows_the_claims_of_the_nearest_task(lab, typed, task, capsys):
    if task == "whole":  # nothing is near: any task's claims are better than none
        task = listing.nearest(LABS[lab], typed).name
    assert listing.main([f"LAB={lab}", f"T={typed}"]) == 2
    said = capsys.readouterr().err
    assert f"T={typed}: no claim of lab {lab} is called so" in said
    assert f"{task} is the nearest" in said
    for claim in LABS[lab].claims:
        assert (f"\n{claim.short_name} " in said) == (claim.task == task)


def test_grading_says_the_same(stage, capsys):
    assert stage.grade("T=tow") == 2
    said = capsys.readouterr().err
    assert "two is the nearest" in said and "two/third" in said and "look at" not in said


@pytest.mark.parametrize("lab", ["9", "x", "-1"])
def test_a_lab_that_is_not_there_is_refused(lab, capsys):
    assert listing.main([f"LAB={lab}"]) == 2
    assert f"claims: LAB={lab}: there is no such lab: LAB=0, LAB=1" in capsys.readouterr().err


def test_without_a_number_it_is_the_lab_built_last(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(listing, "LAST", tmp_path / "lab")
    assert listing.main([]) == 2
    assert "claims: say which lab: LAB=0, LAB=1" in capsys.readouterr().err
    (tmp_path / "lab").write_text("3\n")
    assert listed(capsys).startswith("lab 3, ")
