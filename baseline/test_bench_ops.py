"""bench_ops runs operations by their rows in tl/ops.def: right results, and refusals in words."""

import subprocess

import pytest
import torch

import bench_ops
import programs

SMALL = {"conv2d": (2, 3, 4, 5), "linear": (3, 7, 5)}


@pytest.fixture
def ours():
    started = bench_ops.Ours({"DEVICE": "cpu", "SEED": 1})
    yield started
    started.close()


@pytest.mark.parametrize("op", bench_ops.OPERATIONS)
def test_results_are_pytorchs(ours, op):
    shape = SMALL.get(op, bench_ops.OPERATIONS[op].long)
    case = bench_ops.Case(op, shape, torch.device("cpu"), 1)
    results = ours.results(case)
    assert 0 < case.check(results)["ours"] <= 1
    assert min(ours.times(True, "eager", 5, 2)) > 0
    results["dx"].view(-1)[-1] += 1
    with pytest.raises(programs.ProgramError, match="ours is wrong"):
        case.check(results)


def test_one_case_may_follow_another(ours):
    for op in [*bench_ops.OPERATIONS, *bench_ops.OPERATIONS]:
        shape = SMALL.get(op, bench_ops.OPERATIONS[op].long)
        case = bench_ops.Case(op, shape, torch.device("cpu"), 2)
        assert case.check(ours.results(case))["ours"] <= 1


@pytest.mark.parametrize("command, said", [
    ("op tanh 1", "there is no operation tanh_fwd"), ("op linear 1 2", "n in out"),
    ("op linear 1 2 0", "out"), ("op dropout 8", "geometry is more than whole numbers"),
    ("op ", "op NAME"), ("conv2d 1 1 1 1", "unknown command"), ("time both eager 1 1", "after op")])
def test_what_is_no_operation_is_refused(command, said):
    done = subprocess.run([programs.path("float", "bench_ops"), "DEVICE=cpu"], text=True,
                          input=f"{command}\n", capture_output=True, timeout=60)  # fmt: skip
    assert done.returncode == 1 and said in done.stderr, done.stderr
