"""Learning rates: the formulas at the places where they turn, and a wrong rate is found."""

import math

import pytest

import schedules
from plans import PlanError

OPTIONS = {"lr": 0.1, "epochs": 4, "steps_per_epoch": 10}


def rates(sched):
    return schedules.learning_rates(OPTIONS | {"sched": sched}, 0, 40)


def test_constant_stays():
    assert (rates("constant") == 0.1).all()


def test_step_falls_after_whole_and_half_epochs():
    assert rates("step:2:0.5")[[0, 19, 20, 39]].tolist() == [0.1, 0.1, 0.05, 0.05]
    assert rates("step:0.5:0.5")[[0, 4, 5, 10]].tolist() == [0.1, 0.1, 0.05, 0.025]


def test_cosine_falls_from_lr_towards_zero():
    got = rates("cosine")
    assert got[0] == 0.1 and abs(got[20] - 0.05) < 1e-16
    assert got[39] == pytest.approx(0.05 * (1 + math.cos(math.pi * 39 / 40)), rel=1e-12)


def test_triangular_rises_and_falls():
    got = rates("triangular:1")
    assert got[0] == 0 and got[5] == 0.05 and got[10] == 0.1
    assert got[25] == 0.05 and got[39] == pytest.approx(0.1 / 30)


@pytest.mark.parametrize("sched", ["linear", "step", "step:1", "constant:1", "triangular:1:2", ""])
def test_unknown_schedules_are_refused(sched):
    with pytest.raises(PlanError, match="SCHED"):
        rates(sched)


def test_a_wrong_rate_is_named_with_its_step():
    options = OPTIONS | {"sched": "cosine"}
    planned = schedules.learning_rates(options, 20, 10)
    schedules.check(options, 2, planned, "here")
    for wrong in (planned[7] * (1 + 1e-9), float("nan")):
        changed = planned.copy()
        changed[7] = wrong
        with pytest.raises(PlanError, match="here: learning rate of step 27"):
            schedules.check(options, 2, changed, "here")
