"""PyTorch's own sample inputs (its OpInfo database) and random geometries: each is supported and
agrees in result and gradient, or is refused by an error that names the argument.

samples.json holds how many of each there are, so that a rung that is lost shows. Other versions of
PyTorch have other samples: of them only the refusals are held to it.
"""

import inspect
import itertools
import json
import random
from pathlib import Path

import comparing
import pytest
import torch
import torch.nn.functional as T
from torch.testing._internal.common_methods_invocations import op_db

import gradlab.functional as F

COUNTS = Path(__file__).parent / "samples.json"
TWINS = ("batch_norm", "conv2d", "cross_entropy", "dropout", "fold", "linear", "max_pool2d", "relu",
         "unfold")
INFOS = {op.name.removeprefix("nn.functional."): op for op in op_db
         if op.name.removeprefix("nn.functional.") in TWINS and op.name.startswith("nn.")
         and not op.variant_test_name}
FLOATS = (torch.float32, torch.float64)
SAMPLE_PARTS = {"max_pool2d": 8}  # more samples than all the others together: judged part by part


@pytest.fixture(autouse=True)
def one_thread():
    """Thousands of calls of a few numbers each."""
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(2)


def samples(name, device, dtype):
    """fold is no entry of its own: its samples are unfold's, turned round."""
    if name != "fold":
        for sample in INFOS[name].sample_inputs(device, dtype, requires_grad=dtype in FLOATS):
            yield [sample.input, *sample.args], sample.kwargs
        return
    for sample in INFOS["unfold"].sample_inputs(device, dtype, requires_grad=dtype in FLOATS):
        numbers = dict(zip(("kernel_size", "dilation", "padding", "stride"), sample.args))
        numbers |= sample.kwargs
        columns = T.unfold(sample.input.detach(), **numbers).requires_grad_(dtype in FLOATS)
        yield [columns, sample.input.shape[-2:]], numbers


def names_an_argument(error, function) -> bool:
    """Also PyTorch's own other words for them."""
    words = [*inspect.signature(function).parameters, "padding", "pad ", "stride", "dilation",
             "kernel", "channels", "batch_size", "Target", "mat1"]
    return any(word in str(error) for word in words)


def judge(name, arguments, options):
    ours, theirs = getattr(F, name), getattr(T, name)
    if name == "dropout":
        return judge_dropout(ours, *arguments, **options)
    verdict, mine, refusal = comparing.agree(ours, theirs, *arguments, what=name, **options)
    assert mine is None or names_an_argument(mine, ours), f"names no argument: {mine}"
    return verdict


def judge_dropout(ours, x, p=0.5, training=True, inplace=False):
    """Its mask is its own: kept elements are x / (1 - p), and backward has the same mask."""
    x = comparing.copied(x)
    given = x.detach().clone()
    y, error = comparing.outcome(ours, x * 1 if inplace else x, p, training, inplace)
    if error is not None:
        assert names_an_argument(error, ours), error
        return "refused"
    y, scale = y[0], 1 / (1 - p) if training and p < 1 else 1.0
    dropped = torch.zeros_like(given, dtype=torch.bool)
    if training:
        dropped = (y == 0) & (given != 0)
        assert p > 0 or not dropped.any()
        assert p < 1 or not (y != 0).any()
    comparing.same(y.detach(), torch.where(dropped, 0, given * scale), what="dropout")
    if y.requires_grad:
        dx, = torch.autograd.grad(y.sum(), x)
        kept = torch.full_like(dx, 0 if p == 1 and training else scale)
        comparing.same(dx, torch.where(dropped, 0, kept), what="dropout's gradient")
    return "agrees"


# (the two ways differ in what they call, and not by its type, nor by how many samples there are)
@pytest.mark.parametrize("dtype", [pytest.param(torch.float32, marks=pytest.mark.one_way),
                                   torch.float64], ids=str)
@pytest.mark.parametrize("name,part",
                         [pytest.param(n, i, marks=[pytest.mark.one_way] * (i > 0))
                          for n in TWINS for i in range(SAMPLE_PARTS.get(n, 1))])
def test_every_sample_agrees_or_is_refused(name, part, dtype, device):
    counts, parts = {"agrees": 0, "refused": 0}, SAMPLE_PARTS.get(name, 1)
    for arguments, options in itertools.islice(samples(name, device, dtype), part, None, parts):
        counts[judge(name, arguments, options)] += 1
    print(f"{name} {dtype} on {device}: {counts}")
    table = json.loads(COUNTS.read_text())
    assert counts["refused"] == table["refused"].get(name, 0)
    assert counts["agrees"] > 0
    version = ".".join(torch.__version__.split(".")[:2])
    if version == table["torch"] and device == "cpu":
        assert counts["agrees"] == len(range(part, table["agrees"][name], parts))


@pytest.mark.parametrize("name", TWINS)
def test_other_types_are_refused_by_name(name, device):
    others = INFOS["unfold" if name == "fold" else name].supported_dtypes(device) - set(FLOATS)
    judged = 0
    for dtype in sorted(others, key=str):
        for _, (arguments, options) in zip(range(12), samples(name, device, dtype)):
            out, error = comparing.outcome(getattr(F, name), *arguments, **options)
            if name == "dropout" and error is None:  # nothing to do: the input itself
                assert out[0] is arguments[0]
                continue
            assert isinstance(error, NotImplementedError), (dtype, error)
            assert "not implemented for" in str(error) and "float32 or float64" in str(error)
            judged += 1
    assert judged > 0


@pytest.mark.parametrize("name", [n for n in TWINS if n in INFOS and INFOS[n].error_inputs_func])
def test_what_pytorch_refuses_is_refused(name, device):
    """error_inputs: PyTorch's own list of wrong calls."""
    judged = 0
    for error in INFOS[name].error_inputs(device):
        sample = error.sample_input
        for function in (getattr(T, name), getattr(F, name)):
            _, refusal = comparing.outcome(function, sample.input, *sample.args, **sample.kwargs)
            assert refusal is not None, (function, sample)
        judged += 1
    print(f"{name}: {judged} wrong calls are refused")
    assert judged > 0


# ---- random geometries ---------------------------------------------------------------------------

GEOMETRIES, PARTS = 2000, 2


def geometry(number):
    """One of 2,000: small enough to be quick, odd enough to meet every edge; some do not fit."""
    r = random.Random(f"conv2d {number}")
    groups = r.choice([1, 1, 1, 2, 3])
    c, k = groups * r.randint(1, 3), groups * r.randint(1, 3)
    one = {"stride": r.randint(1, 4), "padding": r.randint(0, 4), "dilation": r.randint(1, 3)}
    numbers = {name: r.choice([value, (value, r.randint(name != "padding", 4))])
               for name, value in one.items()}
    if r.random() < 0.1:
        numbers["padding"] = r.choice(["same", "valid"])
    wrong = r.random() < 0.05
    if wrong:  # with an image at least: of none, PyTorch takes a dilation of 0
        numbers[r.choice(["stride", "dilation"])] = r.choice([0, -1])
    x = (r.randint(wrong, 3), c + (r.random() < 0.03), r.randint(1, 11), r.randint(1, 11))
    w = (k, c // groups, r.randint(1, 4), r.randint(1, 4))
    x = x[1:] if r.random() < 0.1 else x
    return x, w, (k,) if r.random() < 0.7 else None, numbers | {"groups": groups}


@pytest.mark.parametrize("part", range(PARTS))
def test_random_convolutions(part, device):
    counts = {"agrees": 0, "refused": 0}
    for number in range(part, GEOMETRIES, PARTS):
        x, w, b, options = geometry(number)
        generator = torch.Generator().manual_seed(number)
        dtype = FLOATS[number % 8 == 0]  # floats, and double now and then
        tensors = [None if size is None else torch.randn(size, generator=generator, dtype=dtype)
                   .to(device).requires_grad_() for size in (x, w, b)]
        verdict, _, refusal = comparing.agree(F.conv2d, T.conv2d, *tensors, what=f"{number}",
                                              **options)
        counts[verdict] += 1
        # (cuDNN takes a dilation of 0 now and then, and computes something)
        dilation = options["dilation"]
        known = device == "cuda" and 0 in (dilation if isinstance(dilation, tuple) else (dilation,))
        assert verdict == "agrees" or refusal is not None or known, f"geometry {number} is refused"
    print(f"random convolutions: {counts}")
    assert counts["agrees"] >= 0.65 * GEOMETRIES / PARTS and counts["refused"] > 0


# ---- windows of every kind -----------------------------------------------------------------------

def test_pools_of_every_geometry(device):
    """480: also where a last window would begin outside, and where all of a window is -inf."""
    x = torch.randn(2, 1, 9, 10, dtype=torch.float64, device=device)
    x[0, 0, :4, :5] = -float("inf")
    x.requires_grad_()
    counts = {"agrees": 0, "refused": 0}
    for kernel, stride, padding, dilation, ceil_mode in itertools.product(
            (1, 2, 3, (2, 4)), (None, 1, 2, 3, (3, 2)), (0, 1, (1, 0)), (1, 2, 3, (2, 3)),
            (False, True)):
        verdict, _, refusal = comparing.agree(
            F.max_pool2d, T.max_pool2d, x, kernel, stride, padding, dilation, ceil_mode, True,
            what=f"{kernel} {stride} {padding} {dilation} {ceil_mode}")
        counts[verdict] += 1
        assert verdict == "agrees" or refusal is not None
    assert counts == {"agrees": 400, "refused": 80}
