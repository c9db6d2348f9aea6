"""Whole trainings compared: the rival's loop sees each image once an epoch, starts each seed anew,
and accuracies agree if their means lie as near as chance allows."""

import math

import pytest
import torch
from conftest import make_plan

import bench_train
import nets
import plans

CPU = torch.device("cpu")


@pytest.fixture(name="plan")
def fixture_plan(tmp_path, data_root):
    """20 images in batches of 8, 8 and 4, augmented."""
    return plans.Plan(make_plan(tmp_path, data_root, "b", aug="crop+flip", pad=4, opt="adam",
                                lr=1e-3))  # fmt: skip


def weights(rival):
    return [p.detach().clone() for _, p in nets.named_parameters(rival.net)]


def test_an_epoch_takes_each_image_once(plan, monkeypatch):
    rival, seen = bench_train.Rival(plan, CPU), []
    labels = rival.train_set.labels
    monkeypatch.setattr(rival, "images", lambda size, own=rival.images: (
        seen.append((int(rival.place), size)), own(size))[1])  # fmt: skip
    rival.train(1, 3)
    assert seen == [(0, 8), (8, 8), (16, 4)] and int(rival.place) == 20
    assert sorted(rival.order.tolist()) == list(range(20))
    rival.place.fill_(8)
    x, label = rival.next_images(8)
    assert x.shape == (8, 3, 32, 32) and torch.equal(label, labels[rival.order[8:16]])


def test_a_seed_leaves_nothing_to_the_next(plan):
    rival = bench_train.Rival(plan, CPU)
    accuracy = rival.train(2, 5)[1]
    first = weights(rival)
    rival.reset(plan)
    fresh = [torch.from_numpy(array.copy()) for array in plan.init.values()]
    assert all(torch.equal(a, b) for a, b in zip(weights(rival), fresh))
    assert rival.train(2, 5)[1] == accuracy
    assert all(torch.equal(a, b) for a, b in zip(weights(rival), first))
    rival.reset(plan)
    rival.train(2, 6)
    assert any(not torch.equal(a, b) for a, b in zip(weights(rival), first))


@pytest.mark.parametrize("ours, good", [
    ([80.0, 80.2, 79.8], True), ([80.5, 80.7, 80.3], True), ([81.5, 81.7, 81.3], False),
    ([70.0, 90.0, 84.0], True)])  # fmt: skip
def test_means_may_lie_apart_by_three_errors_or_three_tenths(ours, good):
    torch_s = [80.1, 80.3, 79.9]
    found, limit = bench_train.agree(ours, torch_s)
    assert found is good and limit >= 0.3


def test_one_seed_says_nothing_of_chance():
    good, limit = bench_train.agree([10.0], [90.0])
    assert good and math.isnan(limit)
