"""The trainer's nets in PyTorch, module for module, from the layers that a plan carries.

Names follow the trainer: "<index>.<kind>.weight", where index counts all modules of the sequential,
so "3.conv2d.bias" is the bias of its fourth module. PyTorch's own names ("3.bias") lack the kind.
"""

import math

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


class Trail:
    """Modules, and the shape of an image on its way through them. `kinds` are torch.nn's, or others
    of the same names; its own dropout draws for itself."""

    def __init__(self, shape, kinds=None):
        self.shape = tuple(int(size) for size in shape)  # c, h, w
        self.kinds = kinds or nn
        self.make_dropout = kinds.Dropout if kinds else PlannedDropout
        self.modules = []

    def conv(self, out, pad):
        c, h, w = self.shape
        out, grown = int(out), 2 * int(pad) - 2
        self.shape = (out, h + grown, w + grown)
        return self.kinds.Conv2d(c, out, 3, padding=int(pad))

    def relu(self):
        return self.kinds.ReLU()

    def pool(self):
        c, h, w = self.shape
        self.shape = (c, h // 2, w // 2)
        return self.kinds.MaxPool2d(2)

    def dropout(self, p):
        return self.make_dropout(float(p))

    def flatten(self):
        self.shape = (math.prod(self.shape),)
        return self.kinds.Flatten()

    def linear(self, out):
        inputs, self.shape = self.shape[0], (int(out),)
        return self.kinds.Linear(inputs, int(out))


_WORDS = ("conv", "relu", "pool", "dropout", "flatten", "linear")
_KINDS = {nn.Conv2d: "conv2d", nn.Linear: "linear"}


def build(layers, shape, kinds=None):
    """The net whose layers a plan gives as words ("conv:8:1 relu pool …", tl/nets.h) for images of
    shape c, h, w; its weights are PyTorch's until `load_weights` replaces them. With `kinds` it is
    made of that module's layers, and its dropout is one of them instead of the plan's."""
    trail = Trail(shape, kinds)
    for word in layers.split():
        kind, *numbers = word.split(":")
        if kind not in _WORDS:
            raise ValueError(f"layer '{word}': the twin knows {', '.join(_WORDS)}")
        try:
            trail.modules.append(getattr(trail, kind)(*numbers))
        except (TypeError, ValueError, IndexError):
            raise ValueError(f"layer '{word}' does not fit {trail.shape}") from None
    return nn.Sequential(*trail.modules)


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
