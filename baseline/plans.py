"""What a run of the trainer wrote down for the twin: options, weights, all random decisions.

A plan folder holds options.json, init.tl, and plan-0000.tl, plan-0001.tl ... (one an epoch;
formats:
tl/include/tl/record.h, plan.h). The twin draws nothing itself: it looks everything up here.
"""

import json
import os
from dataclasses import dataclass, replace

import numpy as np

import records

# what the twin needs of options.json, and of which type
_OPTIONS = {
    "net": str, "input": list, "layers": str, "dataset": str, "data_root": str,
    "batch": int, "epochs": int, "opt": str,
    "lr": float, "momentum": float, "nesterov": int, "wd": float, "sched": str, "aug": str,
    "pad": int, "seed": int, "limit": int, "steps_per_epoch": int, "mean": list, "std": list,
}  # fmt: skip


class PlanError(Exception):
    """A plan folder is missing, incomplete or contradicts itself; the text is one line."""


@dataclass
class EpochPlan:
    """The decisions of one epoch; `steps` of them are written (a short run plans a part)."""

    batch: int
    order: np.ndarray  # u32[images]: which image stands at each position
    crop: np.ndarray | None  # u8[images,2]: dy, dx; None without augmentation
    flip: np.ndarray | None  # u8[images]
    lr: np.ndarray  # f64[steps]
    keep: list  # per dropout layer: u8[steps, bytes], bit i%8 of byte i/8 is element i

    @property
    def steps(self):
        return len(self.lr)

    def first(self, steps):
        """The same epoch, planned for its first `steps` steps only."""
        return self._part(slice(steps * self.batch), slice(steps))

    def last(self):
        """The same epoch, planned for its last step only, whose batch may be smaller."""
        return self._part(slice((self.steps - 1) * self.batch, None), slice(self.steps - 1, None))

    def _part(self, images, steps):
        return replace(
            self,
            order=self.order[images],
            crop=None if self.crop is None else self.crop[images],
            flip=None if self.flip is None else self.flip[images],
            lr=self.lr[steps],
            keep=[mask[steps] for mask in self.keep],
        )


class Plan:
    """A plan folder: `options` (dict), `init` ({parameter name: array}), and its epochs."""

    def __init__(self, folder):
        self.folder = folder
        self.options = self._read_options(os.path.join(folder, "options.json"))
        self.init_path = os.path.join(folder, "init.tl")
        sections = records.read(self.init_path)
        self.init = {name[2:]: a for name, a in sections.items() if name.startswith("w/")}
        if not self.init:
            raise PlanError(f"{self.init_path}: no parameters (sections 'w/<name>')")

    @staticmethod
    def _read_options(path):
        try:
            with open(path, encoding="utf-8") as file:
                options = json.load(file)
        except OSError as error:
            raise PlanError(f"{path}: {error.strerror}; train PLAN=folder writes it") from None
        except json.JSONDecodeError as error:
            raise PlanError(f"{path}: not JSON: {error}") from None
        for name, kind in _OPTIONS.items():
            value = options.get(name)
            # JSON has one kind of number: 0 may stand for 0.0
            good = isinstance(value, (int, float) if kind is float else kind)
            if not good or isinstance(value, bool):
                raise PlanError(f"{path}: '{name}' is {value!r}, wanted a {kind.__name__}")
        return options

    def epoch(self, number):
        """Decisions of epoch `number` (from 0), checked for shape and range."""
        path = os.path.join(self.folder, f"plan-{number:04d}.tl")
        sections = records.read(path)
        lr = records.find(sections, path, "lr", "<f8")
        order = records.find(sections, path, "order", "<u4")
        batch, whole = self.options["batch"], self.options["steps_per_epoch"]
        steps = -(-order.size // batch)
        # a run that stops within an epoch plans only its first steps, all of full batches
        if not 1 <= lr.size == steps <= whole or (steps < whole and order.size % batch):
            raise PlanError(
                f"{path}: {lr.size} learning rates and {order.size} images do not fit batches of "
                f"{batch} and {whole} steps an epoch"
            )
        if np.unique(order).size != order.size:
            raise PlanError(f"{path}: an image stands twice in 'order'")
        crop = flip = None
        if "crop" in sections or "flip" in sections:
            crop = records.find(sections, path, "crop", "<u1", 2 * order.size).reshape(-1, 2)
            flip = records.find(sections, path, "flip", "<u1", order.size)
        keep = []
        while f"keep{len(keep)}" in sections:
            name = f"keep{len(keep)}"
            mask = records.find(sections, path, name, "<u1")
            keep.append(mask.reshape(lr.size, -1))
        return EpochPlan(batch, order, crop, flip, lr, keep)
