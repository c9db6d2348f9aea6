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

import copy
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
    """A decision that rounding may turn, in one image: what it changes, and by how little it fell.

    `changes` are (module, place, value): a ReLU's factor 0 or 1, a window's winner 0..3. `places`
    are two elements of the input of module `layer`, the one decided for and the other one; None
    stands for 0. `gap` is what parts them, over the root mean square of that input.
    """

    image: int
    layer: int
    changes: list
    places: tuple
    gap: float


def _windows(x):
    """x[n,c,h,w] as [n,c,h/2,w/2,4]: the four elements of each 2x2 window, row by row."""
    n, c, h, w = x.shape
    h, w = h // 2, w // 2  # an odd last row or column is in no window
    parts = x[:, :, : 2 * h, : 2 * w].reshape(n, c, h, 2, w, 2)
    return parts.permute(0, 1, 2, 4, 3, 5).reshape(n, c, h, w, 4)


def _pixel(c, p, q, e):
    """Element e of window (c,p,q), as a place before pooling."""
    return c, 2 * p + e // 2, 2 * q + e % 2


def _rms(x):
    return float(x.square().mean().sqrt())


class Decisions:
    """What every ReLU, max pool (2x2) and dropout of `net` decided for a batch; `units` are narrow.

    A ReLU and the pool behind it decide together: which element of a window passes its gradient, or
    none. (Turned on alone, an element would still lose its window to a zero that came before it.)

    Dropout masks must have been set, as for any forward pass. Images do not influence each other in
    these nets, so the gradient of one image can be taken again with one decision changed.
    """

    @torch.no_grad()
    def __init__(self, net, x, label):
        self.net, self.x, self.label = net, x, label
        self.parameters = list(net.parameters())
        self.decided = {}  # per module: factor of each element, or winner of each window
        self.rms = {}  # per ReLU, of its input
        self.units = []
        for layer, module in enumerate(net):
            if isinstance(module, PlannedDropout):
                keep = module.keep
                self.decided[layer] = module(torch.ones_like(x))
                module.keep = keep
            elif isinstance(module, nn.ReLU):
                self.decided[layer] = (x > 0).to(x.dtype)
                pooled = layer + 1 < len(net) and isinstance(net[layer + 1], nn.MaxPool2d)
                (self._see_windows if pooled else self._see_relu)(layer, x)
            elif isinstance(module, nn.MaxPool2d) and not isinstance(net[layer - 1], nn.ReLU):
                raise ValueError("a max pool is judged together with the ReLU before it")
            x = module(x)
        self.units.sort(key=lambda unit: unit.image)  # so that `turn` finds its image's gradient
        self._latest = None, None

    def _see_relu(self, layer, x):
        rms = self.rms[layer] = _rms(x)
        near = x.abs() <= MARGIN * rms
        # where all channels are 0, their inputs are zeros: no rounding, both sides get exactly 0
        near &= ~near.all(1, keepdim=True)
        for image, *place in torch.nonzero(near).tolist():
            place = tuple(place)
            value = float(x[(image, *place)])
            places = (place, None) if value > 0 else (None, place)
            change = (layer, place, int(not value > 0))
            self.units.append(Unit(image, layer, [change], places, abs(value) / rms))

    def _see_windows(self, layer, x):
        """The decisions of a ReLU and the pool behind it, `x` being the ReLU's input."""
        index = functional.max_pool2d(x.relu(), 2, return_indices=True)[1]
        winner = (index // x.shape[3] % 2) * 2 + index % x.shape[3] % 2
        self.decided[layer + 1] = winner
        windows, rms = _windows(x), _rms(x)
        self.rms[layer] = rms
        limit = MARGIN * rms
        peak = windows.amax(-1, keepdim=True)
        on = peak > 0
        near = (windows >= peak - limit) & (windows >= -limit)
        # where all channels are 0, as in _see_relu
        near &= on | ~(windows.abs() <= limit).all(1, keepdim=True)
        near &= ~on | (torch.arange(4, device=x.device) != winner.unsqueeze(-1))
        n, c, p, q, e = torch.nonzero(near, as_tuple=True)
        w, live = winner[n, c, p, q], on[n, c, p, q, 0]
        # If all channels tie at these two places, the image repeats there (black borders): whoever
        # wins, the gradients are equal. There can be ten thousands of these.
        apart = windows[n, :, p, q, w] - windows[n, :, p, q, e]
        kept = ~(live & (apart.abs() <= limit).all(1))
        gap = torch.where(live, windows[n, c, p, q, w], 0) - windows[n, c, p, q, e]
        columns = [column[kept].tolist() for column in (n, c, p, q, e, w, live, gap / rms)]
        for image, c, p, q, e, w, live, gap in zip(*columns):
            taken, other = _pixel(c, p, q, w) if live else None, _pixel(c, p, q, e)
            changes = [(layer, other, 1), (layer + 1, (c, p, q), e)]
            self.units.append(Unit(image, layer, changes, (taken, other), gap))
        for image, c, p, q, _ in torch.nonzero(on & (peak <= limit)).tolist():  # none might win
            taken = _pixel(c, p, q, int(winner[image, c, p, q]))
            gap = float(peak[image, c, p, q]) / rms
            self.units.append(Unit(image, layer, [(layer, taken, 0)], (taken, None), gap))

    @torch.no_grad()
    def exact_gap(self, unit):
        """The unit's gap with the same weights in double; negative: this net's rounding turned it.

        Dropout before the unit is taken as it was decided.
        """
        x = self.x[unit.image : unit.image + 1].double()
        for layer, module in enumerate(self.net[: unit.layer]):
            if isinstance(module, PlannedDropout):
                x = x * self.decided[layer][unit.image : unit.image + 1]
            else:
                x = copy.deepcopy(module).double()(x)
        taken, other = (0.0 if p is None else float(x[(0, *p)]) for p in unit.places)
        return (taken - other) / self.rms[unit.layer]

    def gradient(self, image, turned=None):
        """Gradients of the batch's mean loss from one image, with unit `turned` turned."""
        x = self.x[image : image + 1]
        for layer, module in enumerate(self.net):
            if layer not in self.decided:
                x = module(x)
                continue
            decided = self.decided[layer][image : image + 1]
            for at, place, value in turned.changes if turned else []:
                if at == layer:
                    decided = decided.clone()
                    decided[0][place] = value
            if isinstance(module, nn.MaxPool2d):
                x = _windows(x).gather(-1, decided.unsqueeze(-1)).squeeze(-1)
            else:
                x = x * decided
        loss = functional.cross_entropy(x, self.label[image : image + 1]) / len(self.label)
        return torch.autograd.grad(loss, self.parameters)

    def turn(self, unit):
        """What turning one unit adds to the gradients, one tensor in double per parameter."""
        if self._latest[0] != unit.image:
            self._latest = unit.image, self.gradient(unit.image)
        pairs = zip(self.gradient(unit.image, unit), self._latest[1])
        return [a.double() - b.double() for a, b in pairs]


def _sample(tensors, weights):
    """A few thousand elements of each tensor, times its weight, as one vector."""
    parts = [tensor.reshape(-1) for tensor in tensors]
    chosen = [w * p[:: -(-len(p) // _SAMPLE)] for p, w in zip(parts, weights)]
    return torch.cat(chosen).numpy(force=True)


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
    """(rest, units): what of ours - theirs is left without turned units, and which these were.

    Parameters weigh alike, each by the norm of its own gradient.
    """
    rest = [a.astype(np.float64) - b for a, b in zip(ours, theirs)]
    norms = [np.linalg.norm(b.astype(np.float64)) for b in theirs]
    weights = [1 / norm if norm > 0 else 0.0 for norm in norms]
    units, changes = [], []
    for unit in decisions.units:
        change = decisions.turn(unit)
        sizes = torch.stack([c.norm() for c in change]).tolist()
        if any(w * size > LEAST for w, size in zip(weights, sizes)):
            units.append(unit)
            changes.append(_sample(change, weights))
    if not units:
        return rest, []
    wanted = _sample([torch.from_numpy(a) for a in rest], weights)
    taken = np.flatnonzero(_choose(np.stack(changes), wanted))
    for number in taken:  # once more, now whole: all of them at once would need gigabytes
        change = decisions.turn(units[number])
        rest = [a - c.numpy(force=True) for a, c in zip(rest, change)]
    return rest, [units[number] for number in taken]
