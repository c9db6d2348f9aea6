"""Kinks: turned units are found and taken out, and a wrong gradient is not."""

import numpy as np
import pytest
import torch
from conftest import make_plan

import kinks
import parity
import plans
import twin


@pytest.fixture(params=["a", "m"], scope="module")
def case(request, tmp_path_factory, data_root):
    """A batch's decisions and gradients; a wider margin finds units in so few images."""
    plan = plans.Plan(make_plan(tmp_path_factory.mktemp("plan"), data_root, request.param, batch=4))
    model = twin.Twin(plan, torch.device("cpu"))
    step = next(model.first_steps(1))
    model.gradients(step)
    model.set_masks(step)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kinks, "MARGIN", {"a": 2e-4, "m": 3e-5}[request.param])
        decisions = kinks.Decisions(model.net, step.x, step.label)
    del decisions.units[40:]
    return decisions, [p.grad.numpy().copy() for _, p in model.parameters]


def worst(rest, theirs):
    return max(parity.relative_l2(b + r, b) for r, b in zip(rest, theirs))


def test_images_add_up_to_the_batch(case):
    decisions, theirs = case
    total = [np.zeros_like(b) for b in theirs]
    for image in range(len(decisions.label)):
        total = [t + g.numpy() for t, g in zip(total, decisions.gradient(image))]
    assert max(parity.relative_l2(t, b) for t, b in zip(total, theirs)) < 1e-5


def test_turned_units_are_taken_out(case):
    decisions, theirs = case
    changes = {i: decisions.turn(unit) for i, unit in enumerate(decisions.units)}
    sizes = {i: worst(change, theirs) for i, change in changes.items()}
    chosen = sorted(sizes, key=sizes.get)[-3:]
    assert sizes[chosen[0]] > 1e-4, "the case has no three units that matter"
    ours = [b + sum(changes[i][k] for i in chosen) for k, b in enumerate(theirs)]
    rest, units = kinks.explain(decisions, ours, theirs)
    assert worst(rest, theirs) < 1e-5
    assert units == 3


def test_equal_gradients_turn_nothing(case):
    decisions, theirs = case
    rest, units = kinks.explain(decisions, theirs, theirs)
    assert units == 0 and worst(rest, theirs) == 0


@pytest.mark.parametrize(
    "number, change", [(0, lambda g: g * 1.001), (1, lambda g: g * 0), (4, lambda g: -g)]
)
def test_wrong_gradients_stay_wrong(case, number, change):
    decisions, theirs = case
    ours = list(theirs)
    ours[number] = change(ours[number])
    rest, _ = kinks.explain(decisions, ours, theirs)
    assert worst(rest, theirs) > 5e-4


def test_repeating_images_make_no_units(data_root, tmp_path):
    """Black images tie everywhere, and their gradients do not depend on who wins."""
    model = twin.Twin(plans.Plan(make_plan(tmp_path, data_root, "a")), torch.device("cpu"))
    step = next(model.first_steps(1))
    decisions = kinks.Decisions(model.net, torch.full_like(step.x, -1.5), step.label)
    assert len(decisions.units) < 50
