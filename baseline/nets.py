"""Nets a, b, c and m in PyTorch, module for module as the trainer builds them.

Names follow the trainer: "<index>.<kind>.weight", where index counts all modules of the sequential,
so "3.conv2d.bias" is the bias of its fourth module. PyTorch's own names ("3.bias") lack the kind.
"""

import torch
from torch import nn


class PlannedDropout(nn.Module):
    """Inverted dropout, x * keep / (1-p), whose mask is set from outside before every step.

    A mask that was not set is an error: the layer must never draw for itself in a comparison.
    With `own_draws` it is PyTorch's dropout, which is what a PyTorch user would time.
    """

    def __init__(self, p):
        super().__init__()
        self.p = p
        self.own_draws = False
        self.keep = None  # u8[bytes]: bit i%8 of byte i/8 tells whether element i of x is kept

    def forward(self, x):
        if not self.training:
            return x
        if self.own_draws:
            return nn.functional.dropout(x, self.p)
        keep, self.keep = self.keep, None
        if keep is None:
            raise RuntimeError("dropout needs the mask of this step")
        return x * unpack_bits(keep, x.numel()).view(x.shape) / (1.0 - self.p)


def _conv(inputs, outputs, pad=1):
    return nn.Conv2d(inputs, outputs, 3, padding=pad)


def _linear_stack(*sizes):
    """Linear layers with a ReLU between them, none after the last."""
    layers = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return layers[:-1]


def _net_a():
    return [
        _conv(3, 8), nn.ReLU(), nn.MaxPool2d(2),
        _conv(8, 16), nn.ReLU(), nn.MaxPool2d(2),
        _conv(16, 32), nn.ReLU(),
        nn.Flatten(), *_linear_stack(2048, 256, 10),
    ]  # fmt: skip


def _net_b():
    return [
        _conv(3, 6), nn.ReLU(), nn.MaxPool2d(2),
        _conv(6, 16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), *_linear_stack(1024, 120, 84, 10),
    ]  # fmt: skip


def _net_c():
    layers, inputs = [], 3
    for width in (64, 128, 256):
        layers += [_conv(inputs, width), nn.ReLU(), _conv(width, width), nn.ReLU(), nn.MaxPool2d(2)]
        inputs = width
    return layers + [nn.Flatten(), *_linear_stack(4096, 256, 10)]


def _net_m():
    return [
        _conv(1, 32, 0), nn.ReLU(),
        _conv(32, 64, 0), nn.ReLU(), nn.MaxPool2d(2),
        PlannedDropout(0.25), nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(),
        PlannedDropout(0.5), nn.Linear(128, 10),
    ]  # fmt: skip


_NETS = {"a": _net_a, "b": _net_b, "c": _net_c, "m": _net_m}
NAMES = tuple(_NETS)

_KINDS = {nn.Conv2d: "conv2d", nn.Linear: "linear"}


def build(name):
    """The net called `name`; its weights are PyTorch's until `load_weights` replaces them."""
    if name not in _NETS:
        raise ValueError(f"NET={name}: the twin knows {', '.join(_NETS)}")
    return nn.Sequential(*_NETS[name]())


def named_parameters(net):
    """[(trainer's name, parameter)] in order of construction."""
    named = []
    for index, module in enumerate(net):
        for suffix, parameter in module.named_parameters():
            named.append((f"{index}.{_KINDS[type(module)]}.{suffix}", parameter))
    return named


def dropouts(net):
    return [module for module in net if isinstance(module, PlannedDropout)]


def load_weights(net, weights):
    """Copies {name: array} into the net; names, order and shapes must be exactly its own."""
    named = named_parameters(net)
    if [name for name, _ in named] != list(weights):
        wanted = ", ".join(name for name, _ in named)
        raise ValueError(f"weights are of another net: {', '.join(weights)}; wanted {wanted}")
    with torch.no_grad():
        for name, parameter in named:
            array = weights[name]
            if tuple(array.shape) != tuple(parameter.shape):
                raise ValueError(
                    f"{name} has shape {array.shape}, the net needs {tuple(parameter.shape)}"
                )
            # a copy, because arrays of a record are read-only
            parameter.copy_(torch.from_numpy(array.copy()))


def unpack_bits(packed, count):
    """bool[count] from u8[bytes], least significant bit first; bits beyond `count` are not used."""
    shifts = torch.arange(8, dtype=torch.uint8, device=packed.device)
    return ((packed[:, None] >> shifts) & 1).view(-1)[:count].bool()
