"""Gradients against central differences in double; floats against PyTorch's own, in double."""

import cases
import comparing
import conftest
import pytest
import torch
import torch.nn.functional as T
from torch.autograd import gradcheck, gradgradcheck

import gradlab
import gradlab.functional as F

# One random direction in place of each element's own, where there are many; first derivatives of
# the operators themselves are always judged element by element.
FAST = not conftest.ALL
# Their backward has no derivative: PyTorch's error says so (test_bad_input.py).
ONCE = ("batch_norm", "batch_norm_backward")
STEPS = ("adam_step", "sgd_step")
# batch_norm_backward is given mean and inv_std, whose own gradients it leaves out: it is judged as
# the derivative of batch_norm.
DIFFERENTIABLE = [n for n in cases.NAMES if n not in (*STEPS, "batch_norm_backward")]


def first(name):
    """What gradients are due to: the first result, where others only go with it."""
    def call(*arguments):
        if name == "cross_entropy_rows_backward":  # its prob is the softmax of its logits
            d_rows, logits, _, label = arguments
            arguments = d_rows, logits, logits.detach().softmax(1), label
        out = getattr(gradlab.ops(), name)(*arguments)
        return out if isinstance(out, torch.Tensor) else out[0]
    return call


def test_every_operator_has_cases():
    """A new operator without a case shows here."""
    namespace = f"gradlab_{gradlab.way()}::"
    there = {name.removeprefix(namespace).split(".")[0]
             for name in torch._C._dispatch_get_all_op_names() if name.startswith(namespace)}
    assert there == set(cases.NAMES)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_first_derivative(name, device):
    function = first(name)
    for arguments in cases.named(name, device):
        assert gradcheck(function, arguments, nondet_tol=0.0), arguments


@pytest.mark.parametrize("name", [n for n in DIFFERENTIABLE if n not in ONCE])
def test_second_derivative(name, device):
    function = first(name)
    for arguments in cases.named(name, device):
        assert gradgradcheck(function, arguments, fast_mode=FAST), arguments


# ---- rungs of functional.py ----------------------------------------------------------------------

def rungs(t):
    """(function's name, arguments, options) of what is composed of several operators."""
    x, label = t(3, 4, 5), torch.tensor([[0, 3, -100, 1, 2]] * 3)
    yield "conv2d", (t(2, 4, 5, 4), t(6, 2, 3, 2), t(6)), {"groups": 2, "padding": 1}
    yield "conv2d", (t(1, 3, 4, 5), t(3, 1, 2, 2)), {"groups": 3, "stride": 2}
    yield "conv2d", (t(1, 2, 5, 4), t(2, 2, 2, 4), t(2)), {"padding": "same", "dilation": (1, 3)}
    yield "conv2d", (t(2, 5, 4), t(3, 2, 3, 3)), {"padding": "valid"}
    yield "unfold", (t(2, 5, 4), 2), {"dilation": 2, "padding": (1, 0)}
    yield "fold", (t(8, 12), (4, 5), 2), {}
    yield "linear", (t(2, 3, 4), t(5, 4), t(5)), {}
    yield "linear", (t(4), t(4)), {}
    yield "max_pool2d", (t(1, 2, 7, 8), 2), {"dilation": 2, "padding": 1}
    yield "max_pool2d", (t(2, 1, 6, 5), (3, 2)), {"stride": 2, "ceil_mode": True, "padding": 1}
    yield "max_pool2d", (t(2, 9, 7), 2), {"dilation": (3, 2), "stride": (2, 3), "ceil_mode": True}
    yield "relu", (t(2, 3),), {}
    for reduction in ("none", "mean", "sum"):
        for smoothing in (0.0, 0.2):
            yield "cross_entropy", (x, label.to(x.device), t(4).abs().detach()), {
                "reduction": reduction, "label_smoothing": smoothing}
            yield "cross_entropy", (x, t(3, 4, 5).softmax(1).detach()), {
                "reduction": reduction, "label_smoothing": smoothing}
    yield "cross_entropy", (t(4), torch.tensor(2, device=x.device)), {}
    yield "batch_norm", (t(2, 3, 2, 2), None, None, t(3), t(3)), {"training": True}
    yield "batch_norm", (t(3, 2), None, None), {"training": True, "eps": 0.1}
    yield "batch_norm", (t(2, 3, 4), t(3).detach(), t(3).detach().abs(), t(3), t(3)), {}
    yield "dropout", (t(3, 4),), {"p": 1.0}


def rung_cases(device="cpu", dtype=torch.float64):
    return list(rungs(lambda *size: cases.values(*size, device=device, dtype=dtype)))


@pytest.mark.parametrize("number", range(len(rung_cases())))
def test_rungs(number, device):
    name, arguments, options = rung_cases(device)[number]
    function = getattr(F, name)
    assert gradcheck(lambda *a: function(*a, **options), arguments, fast_mode=FAST)
    if name != "batch_norm" or not options:
        assert gradgradcheck(lambda *a: function(*a, **options), arguments, fast_mode=FAST)
    for dtype in (torch.float32, torch.float64):
        _, arguments, options = rung_cases(device, dtype)[number]
        if name != "dropout":
            verdict = comparing.agree(function, getattr(T, name), *arguments, what=name, **options)
            assert verdict[0] == "agrees", verdict


# ---- larger, as floats ---------------------------------------------------------------------------

def large(device):
    """What a net has: long sums, several chunks of images, blocks that do not divide."""
    torch.manual_seed(5)

    def t(*size):
        return torch.randn(size, device=device).requires_grad_()
    yield "conv2d", (t(7, 5, 33, 29), t(13, 5, 3, 3), t(13)), {"padding": 1}
    yield "conv2d", (t(16, 32, 14, 15), t(48, 32, 5, 3), None), {"stride": 2, "dilation": (2, 1)}
    yield "linear", (t(65, 1000), t(130, 1000), t(130)), {}
    yield "max_pool2d", (t(9, 17, 31, 30), 3), {"stride": 2, "padding": 1}
    yield "cross_entropy", (t(515, 10), torch.arange(515, device=device) % 10), {}
    yield "batch_norm", (t(33, 19, 12, 11), torch.zeros(19, device=device),
                         torch.ones(19, device=device), t(19), t(19)), {"training": True}
    yield "relu", (t(100001),), {}
    yield "unfold", (t(5, 7, 21, 23), 3), {"padding": 1}


@pytest.mark.parametrize("number", range(8))
def test_floats(number, device):
    name, arguments, options = list(large(device))[number]
    verdict = comparing.agree(getattr(F, name), getattr(T, name), *arguments, what=name, **options)
    assert verdict[0] == "agrees", verdict
