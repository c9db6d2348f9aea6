"""Parity: the comparison itself finds what is wrong, and the built programs agree with the twin."""

import contextlib
import math

import numpy as np
import pytest

import bench_step
import lines
import parity


def verdict():
    return parity.Verdict("a", "float", parity.Worst(2e-6), parity.Worst(1e-4))


def compare(*changes):
    """Compares gradients of three parameters with copies of which `changes` = (index, function)."""
    rng = np.random.default_rng(1)
    theirs = [rng.standard_normal((4, 3)).astype(np.float32) for _ in range(3)]
    ours = [array.copy() for array in theirs]
    for i, change in changes:
        ours[i] = change(ours[i])
    found = verdict()
    parity.compare_step(found, 5, ["0.w", "1.w", "2.w"], (1.0, ours), (1.0, theirs))
    return found


def test_equal_gradients_agree():
    found = compare()
    assert found.agrees and found.gradient.error == 0 and not found.causes


def test_a_factor_is_named():
    found = compare((1, lambda g: g * 64), (0, lambda g: g * 64))
    assert not found.agrees and found.gradient.first_bad == "0.w, step 5"
    assert any("1.w: the right direction, but 64 times" in cause for cause in found.causes)


def test_the_last_wrong_parameter_is_pointed_at():
    found = compare((0, lambda g: g + 1), (1, lambda g: g + 1))
    assert "look at 1.w or at the layer right after it" in found.causes[-1]
    found = compare(*((i, lambda g: g + 1) for i in range(3)))
    assert "every gradient is wrong" in found.causes[-1]


@pytest.mark.parametrize(
    "change, says",
    [
        (lambda g: g * 0, "all zeros"),
        (lambda g: g * 0 + g.mean(), "one number for all"),
        (lambda g: g * np.float32(1 + 2e-4), "1.0002 times"),
    ],
)
def test_patterns_are_named(change, says):
    assert says in " ".join(compare((2, change)).causes)


def test_nan_never_agrees():
    found = compare((2, lambda g: g * np.float32("nan")))
    assert not found.agrees and math.isnan(found.gradient.error)
    worst = parity.Worst(1.0)
    for error in (0.5, math.nan, 0.7):
        worst.see(error, str(error))
    assert math.isnan(worst.error) and worst.first_bad == "nan"


def test_relative_errors_of_zeros():
    assert parity.relative(0.0, 0.0) == 0 and parity.relative(1.0, 0.0) == math.inf
    zero = np.zeros(3, np.float32)
    assert parity.relative_l2(zero, zero) == 0 and parity.relative_l2(zero + 1, zero) == math.inf


def test_thread_counts_reach_all_cores():
    wanted = {1: [1], 2: [1, 2], 3: [1, 2, 3], 4: [1, 2, 4], 6: [1, 2, 4, 6]}
    assert {n: bench_step.thread_counts(n) for n in wanted} == wanted


@pytest.mark.parametrize("net", ["a", "m"])
def test_built_programs_agree_with_the_twin(net, data_root, tmp_path, monkeypatch, capsys):
    """5 steps of the real thing on generated data; fails without the programs: run make first."""
    monkeypatch.setenv("GRADLAB_DATA", data_root)
    monkeypatch.setattr(parity, "RESULTS", str(tmp_path / "parity.jsonl"))
    # 36 images in batches of 16: the steps cross a partial batch and the start of an epoch
    code = parity.main([f"NET={net}", "STEPS=5", "LIMIT=36", "BATCH=16", "EPOCHS=2"])
    assert code == 0, capsys.readouterr().out
    got = lines.read_lines(tmp_path / "parity.jsonl")
    found = [(line["precision"], line["agrees"]) for line in got]
    assert found == [("double", True), ("float", True)]


def test_a_deep_net_has_room_for_roundings_of_its_own():
    for products in ("fp32", "tf32", "bf16", "fp16"):
        flat, deep = parity.bounds_of(products, 4), parity.bounds_of(products, 8)
        wider = [one.bound > other.bound for one, other in zip(deep, flat)]
        assert wider == [products != "fp32"] * 2


def judge_rounded(products, data_root, tmp_path, monkeypatch):
    monkeypatch.setenv("GRADLAB_DATA", data_root)
    options = {"NET": "a", "LIMIT": 64, "BATCH": 64, "PRECISION": products, "DEVICE": "cpu"}
    return parity.judge_float("a", options, 1, str(tmp_path))


@pytest.mark.parametrize("products", ["tf32", "bf16", "fp16"])
def test_other_precisions_agree_and_are_not_those_of_fp32(
    products, data_root, tmp_path, monkeypatch
):
    found = judge_rounded(products, data_root, tmp_path, monkeypatch)
    assert found.agrees and found.precision == products, found
    # a twin that does not round
    monkeypatch.setattr(parity.twin.precision, "prepared", lambda net, *_: net)
    monkeypatch.setattr(parity.twin.precision, "computing", lambda *_: contextlib.nullcontext())
    other = judge_rounded(products, data_root, tmp_path, monkeypatch)
    assert not other.agrees and other.loss.first_bad == "step 0", other
