"""What PyTorch's users do by mistake, or do in their own way: types and words of the errors are
PyTorch's, and nothing crashes."""

import concurrent.futures
import os
import re
import subprocess
import sys
import textwrap

import comparing
import pytest
import torch
import torch.nn.functional as T

import gradlab
import gradlab.functional as F
import gradlab.nn as nn
from gradlab import library


def t(*size, device="cpu", dtype=torch.float32):
    return torch.randn(size, device=device, dtype=dtype)


# ---- layouts -------------------------------------------------------------------------------------

def layouts(device):
    x, w = t(4, 3, 9, 8, device=device), t(6, 3, 3, 3, device=device)
    yield "transposed", x.transpose(2, 3), w.transpose(2, 3)
    yield "channels_last", *(a.to(memory_format=torch.channels_last) for a in (x, w))
    yield "a slice", x[1:, :, ::2, 1::2], w[::2]
    yield "expanded", x[:1].expand(4, -1, -1, -1), w[:1].expand(6, -1, -1, -1)
    yield "not aligned", t(4 * 3 * 9 * 8 + 1, device=device)[1:].view(4, 3, 9, 8), w
    yield "negated", torch._neg_view(x), w


@pytest.mark.parametrize("number", range(6))
def test_any_layout_is_taken(number, device):
    what, x, w = list(layouts(device))[number]
    x, w = x.requires_grad_(), w.requires_grad_()
    flat = x.flatten(1)
    for name, arguments in (
            ("conv2d", (x, w, None, 1, 1)), ("max_pool2d", (x, 2)), ("relu", (x,)),
            ("linear", (x, t(5, x.shape[3], device=device))), ("unfold", (x, 2)),
            ("fold", (flat[:, :12, None].expand(-1, -1, 4).detach(), 3, 2)),
            ("batch_norm", (x, None, None, None, None, True)),
            ("cross_entropy", (x, torch.zeros(x.shape[0], *x.shape[2:], dtype=torch.int64,
                                              device=device)))):
        ours, theirs = [getattr(F, name)(*arguments)], [getattr(T, name)(*arguments)]
        assert ours[0].is_contiguous()
        comparing.same(ours[0].detach(), theirs[0].detach(), what=f"{what}: {name}")
        for a, b in zip(comparing.gradients(ours, [x, w]), comparing.gradients(theirs, [x, w])):
            comparing.same(a, b, what=f"{what}: gradient of {name}")


# ---- what does not fit ---------------------------------------------------------------------------

def wrong_calls(device):
    """(what, function, arguments, options, words of the error)."""
    x, w, other = t(2, 3, 5, 5), t(4, 3, 3, 3), "meta"
    yield "channels", "conv2d", (x, t(4, 2, 3, 3)), {}, "to have 2 channels, but got 3 channels"
    yield "groups", "conv2d", (x, w), {"groups": 2}, "to have 6 channels, but got 3 channels"
    yield "no groups", "conv2d", (x, w), {"groups": 0}, "non-positive groups is not supported"
    yield "uneven groups", "conv2d", (x, t(5, 1, 3, 3)), {"groups": 3}, "to be divisible by 3 at"
    yield "bias", "conv2d", (x, w, t(5)), {}, "expected bias to be 1-dimensional with 4 elements"
    yield "rank", "conv2d", (x[0, 0], w), {}, r"Expected 3D \(unbatched\) or 4D \(batched\) input"
    yield "filter's rank", "conv2d", (x, w[0]), {}, None
    yield "too large", "conv2d", (x[:, :, :2], w), {}, "Kernel size can't be greater than actual"
    yield "stride", "conv2d", (x, w), {"stride": 0}, "non-positive stride is not supported"
    yield "padding", "conv2d", (x, w), {"padding": -1}, "negative padding is not supported"
    yield "dilation", "conv2d", (x, w), {"dilation": 0}, None
    yield "three", "conv2d", (x, w), {"stride": (1, 2, 3)}, "stride to be a single integer value or"
    yield "name", "conv2d", (x, w), {"padding": "foo"}, "Invalid padding string: 'foo'"
    yield "same", "conv2d", (x, w), {"padding": "same", "stride": 2}, "not supported for strided"
    yield "a float", "conv2d", (x, w), {"stride": 1.5}, None
    yield "no tensor", "conv2d", ([1.0], w), {}, None
    yield "no filters", "conv2d", (x, w[:0]), {}, "expected weight to be at least 1 at dimension 0"
    yield "no pixels", "conv2d", (x[:, :, :0], w), {"padding": 2}, "Only zero batch or zero channel"
    yield "dtype", "conv2d", (x, w.double()), {}, "should be the same"
    yield "bias's dtype", "conv2d", (x, w, t(4).double()), {}, "should be the same"
    yield "sizes", "linear", (t(2, 3), t(4, 5)), {}, r"shapes cannot be multiplied \(2x3 and 5x4\)"
    yield "dtype", "linear", (t(2, 3), t(4, 3).double()), {}, None
    yield "rank", "linear", (t(2, 3), t(1, 4, 3)), {}, "expects a tensor with <= 2 dimensions"
    yield "no rank", "linear", (t(), t(4, 3)), {}, "both arguments to linear need to be at least 1D"
    yield "bias", "linear", (t(2, 3), t(4, 3), t(5)), {}, None
    yield "padding", "max_pool2d", (x, 2), {"padding": 2}, "pad should be at most half of"
    yield "negative", "max_pool2d", (x, 2), {"padding": -1}, None
    yield "stride", "max_pool2d", (x, 2), {"stride": 0}, None
    yield "dilation", "max_pool2d", (x, 2), {"dilation": 0}, None
    yield "too small", "max_pool2d", (x, 6), {}, "Output size is too small"
    yield "rank", "max_pool2d", (x[0, 0], 2), {}, None
    yield "no channels", "max_pool2d", (x[:, :0], 2), {}, "with optional 0 dim batch size"
    yield "three", "max_pool2d", (x, (1, 2, 3)), {}, None
    yield "classes", "cross_entropy", (t(3, 5), torch.tensor([0, 1, 5])), {}, "Target 5 is out of"
    yield "negative", "cross_entropy", (t(3, 5), torch.tensor([0, -1, 2])), {}, "Target -1 is out"
    yield "smoothed", "cross_entropy", (t(3, 5), torch.tensor([0, 5, 2])), {
        "label_smoothing": 0.1}, "out of bounds"
    yield "rows", "cross_entropy", (t(3, 5), torch.tensor([0, 1])), {}, \
        r"Expected input batch_size \(3\) to match target batch_size \(2\)."
    yield "label's type", "cross_entropy", (t(3, 5), torch.zeros(3, dtype=torch.int32)), {}, \
        "expected target dtype to be Long or Byte, but got Int"
    yield "weight", "cross_entropy", (t(3, 5), torch.tensor([0, 1, 2]), t(4)), {}, \
        "weight tensor should be defined either for all 5 classes or no classes"
    yield "smoothing", "cross_entropy", (t(3, 5), torch.tensor([0, 1, 2])), {
        "label_smoothing": 2.0}, "label_smoothing must be between 0.0 and 1.0. Got: 2"
    yield "reduction", "cross_entropy", (t(3, 5), torch.tensor([0, 1, 2])), {
        "reduction": "most"}, "most is not a valid value for reduction"
    yield "soft", "cross_entropy", (t(3, 5), t(3, 4)), {}, None
    yield "soft, ignored", "cross_entropy", (t(3, 5), t(3, 5)), {"ignore_index": 1}, \
        "ignore_index is not supported for floating point target"
    yield "one value", "batch_norm", (x[:1, :, :1, :1], None, None), {"training": True}, \
        "Expected more than 1 value per channel when training"
    yield "no mean", "batch_norm", (x, None, None), {}, "running_mean must be defined in evaluation"
    yield "one of two", "batch_norm", (x, t(3), None), {"training": True}, "must either both be N"
    yield "mean's size", "batch_norm", (x, t(2), t(3)), {}, "running_mean should contain 3 elements"
    yield "weight's size", "batch_norm", (x, t(3), t(3), t(2)), {}, "weight should contain 3 elem"
    yield "eps", "batch_norm", (x, None, None), {"training": True, "eps": -1.0}, "eps must be posit"
    yield "p", "dropout", (x, 1.5), {}, "has to be between 0 and 1, but got 1.5"
    yield "p is no number", "dropout", (x, float("nan")), {}, "has to be between 0 and 1, but got n"
    yield "too large", "unfold", (x, 6), {}, r"sliding blocks as \(0, 0\), but its components must"
    yield "stride", "unfold", (x, 2), {"stride": 0}, "stride"
    yield "blocks", "fold", (t(2, 12, 16), (5, 6), 2), {}, r"sliding blocks 4 \* 5 = 20, but got in"
    yield "taps", "fold", (t(2, 11, 16), 5, 2), {}, "to be divisible by the product of kernel_size"
    nowhere = torch.zeros(3, dtype=torch.long, device=other)
    yield "device", "cross_entropy", (t(3, 5), nowhere), {}, None
    yield "device", "batch_norm", (x, t(3, device=other), t(3)), {}, None


COUNT = len(list(wrong_calls("cpu")))


def moved(value, device):
    here = isinstance(value, torch.Tensor) and value.device.type == "cpu"
    return value.to(device) if here else value


@pytest.mark.parametrize("number", range(COUNT))
def test_wrong_calls_fail_as_pytorchs(number, device):
    """PyTorch refuses it; ours by the same type, and by the same words where those are given."""
    what, name, arguments, options, words = list(wrong_calls(device))[number]
    arguments = [moved(a, device) for a in arguments]
    if device == "cuda" and name == "cross_entropy" and words and "out" in words:
        # PyTorch's own kernel stops the whole process there
        assert getattr(F, name)(*arguments, **options).isnan()
        return
    _, theirs = comparing.outcome(getattr(T, name), *arguments, **options)
    _, ours = comparing.outcome(getattr(F, name), *arguments, **options)
    assert theirs is not None and ours is not None, what
    # (NotImplementedError is a RuntimeError; a number that is no int: which of its arguments do not
    # fit, PyTorch's parser lists)
    assert type(ours) is type(theirs) or NotImplementedError in (type(ours), type(theirs)), \
        (ours, theirs)
    if words:
        assert re.search(words, str(ours)), ours
        if device == "cpu":
            assert re.search(words, str(theirs)), theirs


MIXED = {
    "conv2d": ((2, 3, 5, 5), (4, 3, 3, 3), (4,)), "linear": ((2, 3), (4, 3), (4,)),
}


@pytest.mark.parametrize("name", sorted(MIXED))
@pytest.mark.parametrize("which", [0, 1, 2])
def test_mixed_devices_are_refused(name, which, device):
    tensors = [t(*size, device="meta" if i == which else device)
               for i, size in enumerate(MIXED[name])]
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        getattr(F, name)(*tensors)


def test_meta_tensors_have_sizes_alone(device):
    """As with PyTorch's own: for who plans a model without its memory."""
    x = t(2, 3, 9, 9, device="meta").requires_grad_()
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                          nn.Linear(36, 5)).to("meta")
    y = model(x)
    assert y.device.type == "meta" and y.shape == (2, 5)
    y.sum().backward()
    assert x.grad.shape == x.shape


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int64, torch.complex64,
                                   torch.bool], ids=str)
def test_types_without_a_kernel_are_refused(dtype, device):
    x = torch.ones(2, 3, 4, 4, device=device).to(dtype)
    for call in (lambda: F.relu(x), lambda: F.max_pool2d(x, 2), lambda: F.conv2d(x, x),
                 lambda: F.linear(x, x[0, 0]), lambda: F.unfold(x, 2), lambda: F.dropout(x),
                 lambda: F.batch_norm(x, None, None, training=True), lambda: F.fold(x[0], 2, 1),
                 lambda: F.cross_entropy(x, torch.zeros(2, 4, 4, dtype=torch.long, device=device))):
        with pytest.raises(NotImplementedError, match="not implemented for '.*float32 or float64"):
            call()


def test_integers_have_no_gradient(device):
    with pytest.raises(RuntimeError, match="floating point and complex dtype can require gradient"):
        F.relu(torch.ones(3, dtype=torch.int64, device=device, requires_grad=True))


def test_sparse_tensors_are_refused(device):
    with pytest.raises((RuntimeError, NotImplementedError)):
        F.relu(torch.eye(3, device=device).to_sparse())


def test_sizes_beyond_int_are_refused(device):
    """Numbers that ctypes or a cast would cut."""
    x = torch.empty(1, device=device).expand(1, 1, 1, 1)
    with pytest.raises((RuntimeError, OverflowError)):
        F.conv2d(x, x, padding=2**31)
    with pytest.raises((RuntimeError, OverflowError)):
        F.max_pool2d(x, 2**32 + 1)


@pytest.mark.parametrize("name", ["sgd_step", "adam_step"])
def test_steps_refuse_what_does_not_fit(name, device):
    w, other = t(3, device=device), t(4, device=device)
    ops, numbers = gradlab.ops(), (1, 0.1, 0.9, 0.99, 1e-8, 0.0)
    calls = {"sgd_step": [(w, None, other, 0.1, 0.0, 0.0, False), (w, other, w, 0.1, .9, .0, False),
                          (w, None, w, 0.1, 0.9, 0.0, False), (w, w, w, 0.1, 1.0, 0.0, False)],
             "adam_step": [(w, w, w, other, *numbers), (w, w, other, w, *numbers),
                           (w, w.double(), w, w, *numbers)]}
    for arguments in calls[name]:
        before = w.clone()
        with pytest.raises(RuntimeError):
            getattr(ops, name)(*arguments)
        assert torch.equal(w, before)


# ---- PyTorch's machinery -------------------------------------------------------------------------

def test_empty_batches(device):
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Dropout(), nn.Flatten(), nn.Linear(36, 5)).to(device)
    x = t(0, 3, 9, 9, device=device).requires_grad_()
    y = model(x)
    assert y.shape == (0, 5)
    y.sum().backward()
    assert x.grad.shape == x.shape
    assert all(p.grad is not None and not p.grad.any() for p in model.parameters())
    label = torch.zeros(0, dtype=torch.int64, device=device)
    assert F.cross_entropy(y, label).isnan() and F.cross_entropy(y, label, reduction="sum") == 0


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_autocast_runs_in_float32(dtype, device):
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Flatten(), nn.Linear(36, 5)).to(device)
    x, label = t(4, 3, 9, 9, device=device), torch.arange(4, device=device)
    wanted = torch.autograd.grad(F.cross_entropy(model(x), label), list(model.parameters()))
    with torch.autocast(device, dtype):
        y = model(x.requires_grad_())
        low = torch.mm(t(2, 2, device=device), t(2, 2, device=device))
        mixed = F.linear(low, t(3, 2, device=device).requires_grad_())
        loss = F.cross_entropy(y, label)
    assert low.dtype == dtype and y.dtype == loss.dtype == mixed.dtype == torch.float32
    found = torch.autograd.grad(loss, list(model.parameters()))
    for a, b in zip(found, wanted):
        comparing.same(a, b, what="gradient under autocast")


def test_vmap(device):
    x, w = t(5, 2, 3, 6, 6, device=device), t(4, 3, 3, 3, device=device)
    comparing.same(torch.vmap(F.conv2d, in_dims=(0, None))(x, w),
                   torch.vmap(T.conv2d, in_dims=(0, None))(x, w))
    comparing.same(torch.vmap(lambda a: F.max_pool2d(F.relu(a), 2), in_dims=1, out_dims=1)(x),
                   T.max_pool2d(T.relu(x.flatten(0, 1)), 2).view(5, 2, 3, 3, 3))
    weights, label = t(3, 7, 4, device=device), torch.tensor([1, 0, 3], device=device)
    comparing.same(
        torch.vmap(lambda a: F.cross_entropy(F.linear(weights[0, :3], a), label))(weights),
        torch.stack([T.cross_entropy(T.linear(weights[0, :3], a), label) for a in weights]))
    comparing.same(torch.vmap(lambda a: F.batch_norm(a, None, None, training=True))(x),
                   torch.stack([T.batch_norm(a, None, None, training=True) for a in x]))


def test_gradients_for_many_at_once(device, way):
    """is_grads_batched maps backward over rows; torch.func.grad of operators whose derivative is
    written in Python is refused by PyTorch itself."""
    x, w = t(2, 3, 5, 5, device=device), t(2, 3, 3, 3, device=device).requires_grad_()
    rows = t(4, 2, 2, 3, 3, device=device)
    for ours, theirs in ((F.conv2d, T.conv2d), (F.relu, T.relu)):
        arguments = (x, w) if ours is F.conv2d else (w[:, :2],)
        found, wanted = (torch.autograd.grad(f(*arguments), w, rows, is_grads_batched=True)[0]
                         for f in (ours, theirs))
        comparing.same(found, wanted)
    def gradient(conv2d):
        return torch.func.grad(lambda v: conv2d(x, v).sum())(w.detach())
    if way == "cpp":
        comparing.same(gradient(F.conv2d), gradient(T.conv2d))
        return
    with pytest.raises(RuntimeError, match="functorch"):
        gradient(F.conv2d)


def test_batch_norm_differentiated_twice(device, way):
    """As PyTorch's by the C++ way, refused by the Python way: never a wrong number."""
    x = t(4, 3, device=device).double().requires_grad_()

    def second(batch_norm):
        dx, = torch.autograd.grad(batch_norm(x, None, None, training=True).pow(3).sum(), x,
                                  create_graph=True)
        return torch.autograd.grad(dx.square().sum(), x)[0]
    if way == "cpp":
        comparing.same(second(F.batch_norm), second(T.batch_norm))
        return
    with pytest.raises((RuntimeError, NotImplementedError), match="batch_norm"):
        second(F.batch_norm)


def test_what_was_changed_in_place_is_found(device):
    w = t(4, 3, device=device).requires_grad_()
    x = t(2, 3, device=device)
    y = F.linear(x, w)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    leaf = t(3, device=device).requires_grad_()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        F.relu(leaf, inplace=True)


def test_checkpoint_saved_tensors_and_no_grad(device):
    x, w = t(2, 3, 6, 6, device=device), t(4, 3, 3, 3, device=device).requires_grad_()
    with torch.no_grad():
        assert not F.conv2d(x, w).requires_grad
    direct, = torch.autograd.grad(F.relu(F.conv2d(x, w)).sum(), w)
    again = torch.utils.checkpoint.checkpoint(lambda v: F.relu(F.conv2d(x, v)), w,
                                              use_reentrant=False)
    assert torch.equal(torch.autograd.grad(again.sum(), w)[0], direct)
    with torch.autograd.graph.saved_tensors_hooks(lambda a: a.clone(), lambda a: a):
        hooked = F.relu(F.conv2d(x, w))
    assert torch.equal(torch.autograd.grad(hooked.sum(), w)[0], direct)


def test_host_threads(device):
    """A context serves one thread: each has its own, and all get the same."""
    torch.manual_seed(4)
    x, w = t(8, 3, 20, 20, device=device), t(6, 3, 3, 3, device=device).requires_grad_()
    wanted = F.conv2d(x, w)
    gradient, = torch.autograd.grad(wanted.sum(), w)

    def work(_):
        y = F.conv2d(x, w)
        return torch.equal(y, wanted) and torch.equal(torch.autograd.grad(y.sum(), w)[0], gradient)
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(60)))


# ---- the library ---------------------------------------------------------------------------------

def fake_tree(tmp_path, abi, real, symbols=True):
    """A tree as `make lib` lays out, with libraries that say of themselves what they are told."""
    tree = tmp_path / "tl"
    for dtype, precision in library.DTYPES.items():
        folder = tree / "lib/tl" / precision
        folder.mkdir(parents=True)
        source = tmp_path / "fake.c"
        source.write_text(textwrap.dedent(f"""
            #include <stddef.h>
            int tl_abi(void) {{ return {abi}; }}
            size_t tl_real_bytes(void) {{ return {real}; }}
            const char *tl_version(void) {{ return "9.9.9"; }}
            """ if symbols else "int nothing;"))
        subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / library.NAMES[dtype], source],
                       check=True)
    (tree / "include/tl").mkdir(parents=True)
    for header in (library.folder() / "include/tl").iterdir():
        (tree / "include/tl" / header.name).write_bytes(header.read_bytes())
    return tree


LIMIT_S = 300
# One process imports PyTorch; its children import gradlab, each with another library. (A child that
# fails leaves by its traceback.)
IMPORTS = """
import os, sys, torch
for tree, way in zip(sys.argv[1::2], sys.argv[2::2]):
    child = os.fork()
    if child == 0:
        os.environ |= {"GRADLAB_TL": tree, "GRADLAB_WAY": way}
        import gradlab.functional as F
        sys.exit(F.relu(torch.ones(1)).item() != 1)
    print("exit", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=sys.stderr, flush=True)
"""


def test_another_library_or_none_is_one_clear_error(tmp_path, way):
    expected = {"version 2 of the C interface": (2, 4, True), "numbers of 8 bytes": (1, 8, True),
                "is no libtl.so": (1, 4, False)}
    calls = []
    for number, numbers in enumerate(expected.values()):
        (tmp_path / str(number)).mkdir()
        calls += [fake_tree(tmp_path / str(number), *numbers), way]
    calls += [tmp_path, way, os.environ["GRADLAB_TL"], "fortran", os.environ["GRADLAB_TL"], way]
    done = subprocess.run([sys.executable, "-c", IMPORTS, *map(str, calls)], capture_output=True,
                          text=True, timeout=LIMIT_S)
    *failed, good, rest = re.split(r"^exit ", done.stderr, flags=re.M)
    assert rest == "0\n" and good.startswith("1\n"), done.stderr
    for text, words in zip(failed + [good], [*expected, "make lib", "there is no way 'fortran'"]):
        assert words in text, text
        assert re.search(r"^(RuntimeError|ImportError|ValueError): ", text, re.M), text
    assert str(tmp_path) in failed[3]


def test_an_unknown_way_is_refused(way):
    with pytest.raises(ValueError, match="there is no way 'fortran'"):
        gradlab.use("fortran")
    assert gradlab.way() == way and gradlab.WAYS == ("cpp", "python")
