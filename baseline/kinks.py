"""Tells rounding at a kink from a wrong gradient.

ReLU and max pooling decide: positive or not, which of four is the largest. Where what is decided
lies closer together than rounding, two right programs may decide differently. That one unit then
passes its gradient on or not, or elsewhere, and whole layers differ by 1e-4 to 1e-2 in relative L2
because of 1e-7 in one number. PyTorch does so against itself when only the memory layout changes:
in 2 of 30 steps of net a, and in almost every step of net c, which makes 15 million decisions a
step.

So a step above the bound is looked at again. Every unit of the twin that lies within MARGIN of its
kink is decided the other way, one at a time, and the disagreement is written as a sum of some of
these differences. What remains must keep the bound: a wrong gradient is not a sum of a few such
units.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from nets import PlannedDropout

# Of the layer's root mean square. Near kinks, float32 activations of net c were seen 3e-6 away from
# their values in double, on one side; so much on both sides, and some room.
MARGIN = 1e-5
LEAST = 1e-5  # a unit that changes the gradients by less explains nothing at a bound of 1e-4
_SAMPLE = 4096  # elements of each parameter by which the turned units are found


@dataclass
class Unit:
    """A decision that rounding may turn: element `where` of `image` at module `layer`."""

    layer: int
    image: int
    where: tuple
    other: int  # the decision not taken: 0 or 1 of a ReLU, position 0..3 of a pooling window


def _windows(x):
    """x[n,c,h,w] as [n,c,h/2,w/2,4]: the four elements of each 2x2 window, row by row."""
    n, c, h, w = x.shape
    parts = x.reshape(n, c, h // 2, 2, w // 2, 2)
    return parts.permute(0, 1, 2, 4, 3, 5).reshape(n, c, h // 2, w // 2, 4)


class Decisions:
    """What every ReLU, max pool (2x2) and dropout of `net` decided for a batch; `units` are narrow.

    Dropout masks must have been set, as for any forward pass. Images do not influence each other in
    these nets, so the gradient of one image can be taken again with one decision changed.
    """

    @torch.no_grad()
    def __init__(self, net, x, label):
        self.net, self.x, self.label = net, x, label
        self.parameters = list(net.parameters())
        self.decided = {}  # per module: factor of each element, or winner of each window
        self.units = []
        for layer, module in enumerate(net):
            if isinstance(module, PlannedDropout):
                keep = module.keep
                self.decided[layer] = module(torch.ones_like(x))
                module.keep = keep
            elif isinstance(module, nn.ReLU):
                self._see_relu(layer, x)
            elif isinstance(module, nn.MaxPool2d):
                self._see_pool(layer, x)
            x = module(x)
        self.units.sort(key=lambda unit: unit.image)  # so that `turn` finds its image's gradient
        self._latest = None, None

    def _see_relu(self, layer, x):
        positive = self.decided[layer] = (x > 0).to(x.dtype)
        limit = self._limit(x)
        near = x.abs() <= limit
        # where all channels are 0, their inputs are zeros: no rounding, both sides get exactly 0
        near &= ~near.all(1, keepdim=True)
        for at in torch.nonzero(near).tolist():
            self.units.append(Unit(layer, at[0], tuple(at[1:]), 1 - int(positive[tuple(at)])))

    def _see_pool(self, layer, x):
        index = functional.max_pool2d(x, 2, return_indices=True)[1]
        winner = (index // x.shape[3] % 2) * 2 + index % x.shape[3] % 2
        self.decided[layer] = winner
        windows, limit = _windows(x), self._limit(x)
        near = (windows.amax(-1, keepdim=True) - windows <= limit) & (windows > 0)
        near.scatter_(-1, winner.unsqueeze(-1), False)
        # If all channels tie at these two places, the image repeats there (black borders): whoever
        # wins, the gradients are equal. There can be ten thousands of these.
        n, c, p, q, other = torch.nonzero(near, as_tuple=True)
        gap = windows[n, :, p, q, other] - windows[n, :, p, q, winner[n, c, p, q]]
        repeats = (gap.abs() <= limit).all(1)
        for at in torch.stack((n, c, p, q, other), 1)[~repeats].tolist():
            self.units.append(Unit(layer, at[0], tuple(at[1:4]), at[4]))

    @staticmethod
    def _limit(x):
        return MARGIN * float(x.square().mean().sqrt())

    def gradient(self, image, turned=None):
        """Gradients of the batch's mean loss from one image, with unit `turned` turned."""
        x = self.x[image : image + 1]
        for layer, module in enumerate(self.net):
            if layer not in self.decided:
                x = module(x)
                continue
            decided = self.decided[layer][image : image + 1]
            if turned is not None and turned.layer == layer:
                decided = decided.clone()
                decided[0][turned.where] = turned.other
            if isinstance(module, nn.MaxPool2d):
                x = _windows(x).gather(-1, decided.unsqueeze(-1)).squeeze(-1)
            else:
                x = x * decided
        loss = functional.cross_entropy(x, self.label[image : image + 1]) / len(self.label)
        return torch.autograd.grad(loss, self.parameters)

    def turn(self, unit):
        """What turning one unit adds to the gradients, one array in double per parameter."""
        if self._latest[0] != unit.image:
            self._latest = unit.image, self.gradient(unit.image)
        pairs = zip(self.gradient(unit.image, unit), self._latest[1])
        return [(a.double() - b.double()).numpy(force=True) for a, b in pairs]


def _sample(arrays, weights):
    """A few thousand elements of each array, times its weight, as one vector."""
    parts = [array.reshape(-1) for array in arrays]
    return np.concatenate([w * p[:: -(-p.size // _SAMPLE)] for p, w in zip(parts, weights)])


def _choose(changes, rest):
    """Which rows of changes[k,m] make up rest[m] best: bool[k], each taken once or not at all.

    Least squares, rounded, then single rows taken or put back as long as that helps.
    """
    gram, share = changes @ changes.T, changes @ rest
    taken = np.linalg.lstsq(gram, share, rcond=1e-10)[0] > 0.5
    while True:
        sign = np.where(taken, -1.0, 1.0)
        gain = 2 * sign * (share - gram @ taken) - gram.diagonal()
        best = int(np.argmax(gain))
        # no gain beyond rounding: without this limit a row could go in and out for ever
        if not gain[best] > 1e-9 * (rest @ rest):
            return taken
        taken[best] = not taken[best]


def explain(decisions, ours, theirs):
    """(rest, units): what of ours - theirs is left without turned units, and how many were.

    Parameters weigh alike, each by the norm of its own gradient.
    """
    rest = [a.astype(np.float64) - b for a, b in zip(ours, theirs)]
    norms = [np.linalg.norm(b.astype(np.float64)) for b in theirs]
    weights = [1 / norm if norm > 0 else 0.0 for norm in norms]
    units, changes = [], []
    for unit in decisions.units:
        change = decisions.turn(unit)
        if any(w * np.linalg.norm(c) > LEAST for w, c in zip(weights, change)):
            units.append(unit)
            changes.append(_sample(change, weights))
    if not units:
        return rest, 0
    taken = np.flatnonzero(_choose(np.stack(changes), _sample(rest, weights)))
    for number in taken:  # once more, now whole: all of them at once would need gigabytes
        rest = [a - b for a, b in zip(rest, decisions.turn(units[number]))]
    return rest, len(taken)
