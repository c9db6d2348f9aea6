"""PRECISION as the twin follows it: where PyTorch rounds the operands of products.

bf16 and fp16 are torch.autocast. tf32 is a switch of PyTorch's on a GPU; a CPU has none, so there
the twin's convolutions and linear layers round copies of their operands as PTX's cvt.rna.tf32.f32
does.
tl/include/tl/precision.h has the table of all.
"""

import contextlib

import torch
from torch import nn
from torch.nn import functional

NAMES = ("fp32", "tf32", "bf16", "fp16")
AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}


def to_tf32(x):
    """float32 with 11 bits of significand: to nearest, ties away from 0; no copy is exact NaN."""
    bits = x.contiguous().view(torch.int32)
    rounded = ((bits + 0x1000) & ~0x1FFF).view(torch.float32)
    return torch.where(x.isfinite(), rounded, x)


class _RoundedForward(torch.autograd.Function):
    """Rounds what goes into a product; its gradient passes as it is."""

    @staticmethod
    def forward(ctx, x):
        return to_tf32(x)

    @staticmethod
    def backward(ctx, dy):
        return dy


class _RoundedBackward(torch.autograd.Function):
    """Rounds the gradient that comes back to a product."""

    @staticmethod
    def forward(ctx, y):
        return y.view_as(y)

    @staticmethod
    def backward(ctx, dy):
        return to_tf32(dy)


def _product(layer, x):
    """The layer without its bias, which is added to the product in float32."""
    x, weight = _RoundedForward.apply(x), _RoundedForward.apply(layer.weight)
    if isinstance(layer, nn.Conv2d):
        y = functional.conv2d(x, weight, None, layer.stride, layer.padding, layer.dilation)
    else:
        y = functional.linear(x, weight)
    return _RoundedBackward.apply(y)


class Tf32(nn.Module):
    """A convolution or linear layer whose products are TF32's, on any device."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        shape = (-1, 1, 1) if isinstance(self.layer, nn.Conv2d) else (-1,)
        return _product(self.layer, x) + self.layer.bias.view(shape)


def prepared(net, precision, device):
    """What computes the net in this precision: the net itself, or layers around its layers."""
    if precision != "tf32" or device.type == "cuda":
        return net
    return nn.Sequential(
        *(Tf32(m) if isinstance(m, nn.Conv2d | nn.Linear) else m for m in net.children())
    )


@contextlib.contextmanager
def computing(precision, device):
    """Within, products of `device` are computed in this precision."""
    on_gpu = precision == "tf32" and device.type == "cuda"
    before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    if on_gpu:
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    try:
        with torch.autocast(device.type, AUTOCAST.get(precision), enabled=precision in AUTOCAST):
            yield
    finally:
        if on_gpu:
            torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before
