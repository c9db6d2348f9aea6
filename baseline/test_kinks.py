"""Kinks: turned units are found and taken out, and a wrong gradient is not."""

import copy

import numpy as np
import pytest
import torch
from conftest import make_plan

import kinks
import nets
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
    decisions.net_name = request.param
    decisions.all_units = list(decisions.units)
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
    turned = [decisions.turn(unit) for unit in decisions.units]
    changes = {i: [c.numpy() for c in change] for i, change in enumerate(turned)}
    sizes = {i: worst(change, theirs) for i, change in changes.items()}
    chosen = sorted(sizes, key=sizes.get)[-3:]
    assert sizes[chosen[0]] > 1e-4, "the case has no three units that matter"
    ours = [b + sum(changes[i][k] for i in chosen) for k, b in enumerate(theirs)]
    rest, units = kinks.explain(decisions, ours, theirs)
    assert worst(rest, theirs) < 1e-5
    assert len(units) == 3


def test_equal_gradients_turn_nothing(case):
    decisions, theirs = case
    rest, units = kinks.explain(decisions, theirs, theirs)
    assert not units and worst(rest, theirs) == 0


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


def nudged(decisions, unit):
    """The gradients of the unit's image by plain autograd, its two elements pushed past the kink.

    A push of 3 gaps leaves every other number where it was, but for what 3e-3 of this one means.
    """
    x = decisions.x[unit.image : unit.image + 1].double()
    net = copy.deepcopy(decisions.net).double()
    for layer, module in enumerate(net):
        if layer in decisions.decided and isinstance(module, nets.PlannedDropout):
            x = x * decisions.decided[layer][unit.image : unit.image + 1]
            continue
        if layer == unit.layer:
            push = torch.zeros_like(x)
            for place, sign in zip(unit.places, (-1, 1)):
                if place is not None:
                    push[(0, *place)] = sign * 3 * unit.gap * decisions.rms[layer] + sign * 1e-9
            x = x + push
        x = module(x)
    label = decisions.label[unit.image : unit.image + 1]
    loss = torch.nn.functional.cross_entropy(x, label) / len(decisions.label)
    return [g.numpy() for g in torch.autograd.grad(loss, list(net.parameters()))]


def kind(unit):
    """What a unit turns from and to, and whether a pool is involved: all of these must be right."""
    return len(unit.changes), unit.places[0] is None, unit.places[1] is None


def test_turning_is_what_autograd_gives_beyond_the_kink(case):
    decisions, theirs = case
    chosen = {}
    for unit in decisions.all_units:
        chosen.setdefault(kind(unit), []).append(unit)
    # an element off; one instead of another; one on, in a dead window (a) and without a pool (m)
    wanted = {(1, False, True), (2, False, False)}
    assert set(chosen) >= wanted | {(2 if decisions.net_name == "a" else 1, True, False)}
    for units in chosen.values():
        for unit in units[:6]:
            plain = decisions.gradient(unit.image)
            beyond = nudged(decisions, unit)
            turned = [(p + c).numpy() for p, c in zip(plain, decisions.turn(unit))]
            assert max(parity.relative_l2(a, b) for a, b in zip(turned, beyond)) < 5e-4, unit


def test_the_gap_in_double_is_the_gap(case):
    decisions, _ = case
    for unit in decisions.units[:10]:
        assert abs(decisions.exact_gap(unit) - unit.gap) < 1e-5, unit
