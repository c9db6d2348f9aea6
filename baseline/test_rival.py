"""PyTorch is timed at its best: cuDNN chooses among its algorithms by trying them, before a clock
is started."""

from pathlib import Path

import pytest
import torch
from conftest import make_plan

import bench_bridge
import bench_gpu
import bench_ops
import bench_step
import bench_train
import lines
import parity
import plans
import profile_step
import programs
import train
import twin

CPU = torch.device("cpu")
# each program that times PyTorch, and the function in which it begins to
TIMED = {bench_bridge: "operators", bench_gpu: "compare", bench_ops: "compare",
         bench_step: "best_twin",
         bench_train: "measure", profile_step: "profile", train: "make_twin"}  # fmt: skip


class Reached(Exception):
    """The clock would be started now."""


class NoProgram:
    """In the place of bench_ops.Ours: a program of ours that need not be built."""

    origin = {"threads": 1, "rungs": "all"}

    def __init__(self, options):
        pass

    def results(self, case):
        return case.all(case.inputs)

    def close(self):
        pass


@pytest.fixture
def started(tmp_path, data_root, monkeypatch):
    """started(program, options): the flag of cuDNN's search when the program begins to time."""
    before = torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic
    torch.backends.cudnn.benchmark = False
    folder = make_plan(tmp_path / "plan", data_root, "a")
    plan = plans.Plan(folder)
    monkeypatch.setattr(programs, "train", lambda mode, options: None)
    monkeypatch.setattr(plans, "Plan", lambda folder: plan)
    monkeypatch.setattr(lines, "pick_device", lambda name: CPU)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "none")
    monkeypatch.setattr(bench_ops, "Ours", NoProgram)

    def run(program, options):
        seen = []

        def reached(*_):
            seen.append((torch.backends.cudnn.benchmark, torch.backends.cudnn.allow_tf32,
                         lines.origin("x").get("cudnn_benchmark")))
            raise Reached

        monkeypatch.setattr(program, TIMED[program], reached)
        with pytest.raises(Reached):
            program.main(options)
        return seen[0]

    yield run
    torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic = before


@pytest.mark.parametrize("program", TIMED, ids=lambda program: program.__name__)
def test_a_timed_program_lets_cudnn_search_in_float32(started, tmp_path, program):
    options = {bench_bridge: ["PARTS=operators"], bench_gpu: ["NETS=a", "BATCHES=8"],
               bench_step: ["NET=a"], bench_ops: [], bench_train: []}  # fmt: skip
    found = options.get(program, [f"PLAN={tmp_path / 'plan'}"])
    found += [] if program is bench_step else [f"OUT={tmp_path / 'out'}/x.jsonl"]
    assert started(program, found) == (True, False, True)


def test_no_program_with_a_clock_is_left_out():
    """A clock of PyTorch's steps is time.perf_counter, an event, or the seconds of train_epoch."""
    clocks = ("perf_counter", "enable_timing", "train_epoch(0")
    for path in Path(lines.HERE).glob("*.py"):
        text = path.read_text(encoding="utf-8")
        own = "__main__" in text and not path.stem.startswith("test_")
        if own and any(clock in text for clock in clocks):
            assert path.stem in [program.__name__ for program in TIMED], path


def test_parity_does_without(started, monkeypatch):
    """What is compared step by step must be there again when it is looked for."""
    torch.backends.cudnn.benchmark = True
    monkeypatch.setitem(TIMED, parity, "judge_double")
    assert started(parity, ["NETS=a"])[0] is False and torch.backends.cudnn.deterministic


def test_a_warm_up_meets_every_shape_and_leaves_no_trace(tmp_path, data_root, monkeypatch):
    plan = plans.Plan(make_plan(tmp_path, data_root, "b", momentum=0.9))  # batches of 8, 8 and 4
    model = twin.Twin(plan, CPU)
    fresh = [model.train_epoch(n)[3].tolist() for n in range(2)]
    model.reset()
    sizes, forward = set(), model.net.__class__.forward

    def watched(net, x):
        sizes.add((net.training, len(x)))
        return forward(net, x)

    monkeypatch.setattr(model.net.__class__, "forward", watched)
    train.warm_up(model)
    assert sizes == {(True, 8), (True, 4), (False, 20)}
    assert fresh == [model.train_epoch(n)[3].tolist() for n in range(2)]


def test_on_a_gpu_the_warm_up_comes_before_the_first_epoch(started, tmp_path, monkeypatch):
    order = []
    monkeypatch.setattr(lines, "pick_device", lambda name: torch.device("cuda"))
    model = type("Model", (), {"layout": "nchw"})
    monkeypatch.setattr(train, "make_twin", lambda *_: model)
    for name in ("warm_up", "describe", "train"):
        monkeypatch.setattr(train, name, lambda *_, name=name: order.append(name))
    train.main([f"PLAN={tmp_path / 'plan'}", f"OUT={tmp_path / 'out'}"])
    assert order == ["warm_up", "describe", "train"]


def rounded(case, bits):
    """What a side gives whose products take inputs of so many bits behind the leading one."""

    def cut(t):
        return torch.ldexp(torch.round(torch.ldexp(t, bits - t.frexp()[1])), t.frexp()[1] - bits)

    return case.all({name: cut(t) for name, t in case.inputs.items()})


@pytest.mark.parametrize("op, shape", [("conv2d", bench_ops.DEFAULT), ("linear", (8, 27, 16))])
def test_coarse_sums_of_the_rival_pass_and_rounded_inputs_do_not(monkeypatch, op, shape):
    """cuDNN may take Winograd's algorithm, ours must keep the bound; nobody may use TF32."""
    case = bench_ops.Case(op, shape, CPU, 1)
    wide = case.all({name: t.double() for name, t in case.inputs.items()})
    exact = {name: t.float() for name, t in wide.items()}
    coarse, tf32 = rounded(case, 18), rounded(case, 11)
    theirs = iter([coarse, coarse, tf32])

    def found(inputs):  # the definition is computed in double
        float_ = inputs["x"].dtype == torch.float
        return next(theirs) if float_ else bench_ops.Case.all(case, inputs)

    monkeypatch.setattr(case, "all", found)
    assert 1 < case.check(exact)["PyTorch"] < 16
    with pytest.raises(programs.ProgramError, match="ours is wrong"):
        case.check(coarse)
    with pytest.raises(programs.ProgramError, match="PyTorch is wrong"):
        case.check(exact)
