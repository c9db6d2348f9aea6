"""The twin: a net of PyTorch that follows a plan of our trainer, step by step.

It is also the rival in speed comparisons, so the loop does nothing that a careful PyTorch user
would not do: data in memory in the net's layout, a fused optimiser, no value read back per step.
"""

import time
from dataclasses import dataclass

import torch
from torch.nn import functional

import data
import nets
import precision
import schedules
from plans import PlanError

LAYOUTS = ("nchw", "channels_last")
_EVALUATION_BATCH = 250


@dataclass
class Step:
    """One optimiser step: its number in the run, and everything the plan decided for it."""

    number: int
    first: int  # position of its first image in the epoch's order
    lr: float
    x: torch.Tensor  # [n,c,h,w]
    label: torch.Tensor  # int64[n]
    keep: list  # packed dropout masks, one u8[bytes] per dropout layer


class Twin:
    """Net, optimiser and data on one device, made from a plan.

    `splits` may be given to share loaded files between twins of several layouts. With `own_draws`
    dropout layers draw their own masks (speed runs), else they take the plan's.
    """

    def __init__(self, plan, device, dtype=torch.float32, layout="nchw", own_draws=False,
                 splits=None):  # fmt: skip
        self.plan, self.device, self.dtype, self.layout = plan, device, dtype, layout
        self.own_draws = own_draws
        options = plan.options
        self.precision = options.get("precision", "fp32")
        if splits is None:
            splits = data.load(options["dataset"], options["data_root"], options["limit"])
        self._check_statistics(splits[0])
        lut = data.table(options["mean"], options["std"], dtype).to(device)
        augment = options["aug"] != "none"
        self.train_set = data.Loader(splits[0], lut, layout, augment, options["pad"])
        self.test_set = data.Loader(splits[1], lut, layout)
        self.logits = torch.empty(self.train_set.count, 10, dtype=dtype, device=device)
        self.reset()

    def _check_statistics(self, split):
        """Both sides compute mean and deviation from the bytes: other data would show here."""
        own = data.statistics(split.images)
        given = self.plan.options["mean"], self.plan.options["std"]
        for name, mine, theirs in zip(("mean", "std"), own, given):
            close = len(mine) == len(theirs) and all(
                abs(a - b) <= 1e-12 * max(abs(a), 1e-3) for a, b in zip(mine, theirs)
            )
            if not close:
                raise PlanError(f"{self.plan.folder}: {name} is {theirs}, the data gives {mine}")

    def reset(self):
        """Back to the plan's initial weights and a fresh optimiser."""
        options = self.plan.options
        self.net = nets.build(options["layers"], options["input"]).to(self.dtype)
        nets.load_weights(self.net, self.plan.init)
        self.net.to(self.device)
        if self.layout == "channels_last":
            self.net.to(memory_format=torch.channels_last)
        self.net.train()
        self.dropouts = nets.dropouts(self.net)
        for layer in self.dropouts:
            layer.own_draws = self.own_draws
        self.parameters = nets.named_parameters(self.net)
        self.computed = precision.prepared(self.net, self.precision, self.device)
        self.optimizer = self._make_optimizer()

    def _make_optimizer(self):
        """PyTorch's own optimisers, fused: one call for all parameters, their quickest form."""
        options = self.plan.options
        if options["opt"] == "sgd":
            return torch.optim.SGD(
                self.net.parameters(), lr=options["lr"], momentum=options["momentum"],
                weight_decay=options["wd"], nesterov=bool(options["nesterov"]), fused=True,
            )  # fmt: skip
        if options["opt"] == "adam":
            return torch.optim.Adam(
                self.net.parameters(), lr=options["lr"], weight_decay=options["wd"], fused=True
            )
        raise PlanError(f"{self.plan.folder}: optimiser '{options['opt']}' is not sgd or adam")

    def epoch_plan(self, number):
        """The plan of an epoch, checked against this twin's data, net and own schedule."""
        epoch = self.plan.epoch(number)
        where = f"{self.plan.folder}, epoch {number}"
        count, whole = self.train_set.count, self.plan.options["steps_per_epoch"]
        complete = epoch.steps < whole or epoch.order.size == count
        if -(-count // epoch.batch) != whole or not complete:
            raise PlanError(f"{where}: {epoch.order.size} images, the data has {count}")
        if epoch.order.max() >= count:
            raise PlanError(f"{where}: image {epoch.order.max()} is planned, the data has {count}")
        if (epoch.crop is not None) != self.train_set.augment:
            raise PlanError(f"{where}: crops in the plan do not fit AUG={self.plan.options['aug']}")
        if epoch.crop is not None and epoch.crop.max() > 2 * self.train_set.pad:
            raise PlanError(f"{where}: a crop starts beyond the padding")
        if len(epoch.keep) != len(self.dropouts):
            raise PlanError(f"{where}: {len(epoch.keep)} masks for {len(self.dropouts)} dropouts")
        schedules.check(self.plan.options, number, epoch.lr, where)
        return epoch

    def steps(self, number, epoch=None):
        """Generates the steps of epoch `number`; `epoch` is its plan, if it was read before."""
        epoch = epoch or self.epoch_plan(number)
        order, crop, flip = (
            None if a is None else torch.from_numpy(a.astype("int64")).to(self.device)
            for a in (epoch.order, epoch.crop, epoch.flip)
        )
        keep = [torch.from_numpy(k.copy()).to(self.device) for k in epoch.keep]
        batch, before = self.plan.options["batch"], number * self.plan.options["steps_per_epoch"]
        for i, lr in enumerate(epoch.lr.tolist()):
            at = slice(i * batch, (i + 1) * batch)  # the last one may hold fewer
            if crop is None:
                x, label = self.train_set.batch(order[at])
            else:
                x, label = self.train_set.batch(order[at], crop[at], flip[at])
            yield Step(before + i, i * batch, lr, x, label, [k[i] for k in keep])

    def first_steps(self, count):
        """Generates the first `count` steps of the run, over as many epochs as that takes."""
        number = 0
        while count > 0:
            for step in self.steps(number):
                if count == 0:
                    return
                count -= 1
                yield step
            number += 1

    def set_masks(self, step):
        """Hands this step's dropout masks to their layers; each forward pass uses them up."""
        for layer, bits in zip(self.dropouts, step.keep):
            layer.keep = bits

    def gradients(self, step):
        """Forward and backward; returns mean loss and logits (tensors, nothing is waited for)."""
        self.set_masks(step)
        self.optimizer.zero_grad(set_to_none=True)
        with precision.computing(self.precision, self.device):
            logits = self.computed(step.x).to(self.dtype)
            loss = functional.cross_entropy(logits, step.label)
            loss.backward()
        return loss.detach(), logits.detach()

    def update(self, step):
        """One optimiser step with this step's learning rate."""
        for group in self.optimizer.param_groups:
            group["lr"] = step.lr
        self.optimizer.step()

    def train_epoch(self, number, epoch=None):
        """All planned steps of an epoch: (mean loss, accuracy, seconds, losses of the steps).

        Seconds run from the first batch until the results are there; the plan is read before.
        """
        epoch = epoch or self.epoch_plan(number)
        losses = torch.empty(epoch.steps, dtype=self.dtype, device=self.device)
        self._wait()
        start = time.perf_counter()
        labels = torch.empty(len(epoch.order), dtype=torch.int64, device=self.device)
        for i, step in enumerate(self.steps(number, epoch)):
            losses[i], logits = self.gradients(step)
            seen = slice(step.first, step.first + len(logits))
            self.logits[seen], labels[seen] = logits, step.label
            self.update(step)
        logits = self.logits[: len(labels)]
        loss = functional.cross_entropy(logits.double(), labels).item()
        accuracy = (logits.argmax(1) == labels).sum().item() / len(labels)
        return loss, accuracy, time.perf_counter() - start, losses

    @torch.no_grad()
    def evaluate(self):
        """Mean loss and accuracy over the test set, and the seconds it took."""
        start = time.perf_counter()
        self.net.eval()
        loss = torch.zeros((), dtype=torch.float64, device=self.device)
        hits = torch.zeros((), dtype=torch.int64, device=self.device)
        for x, label in self.test_set.whole(_EVALUATION_BATCH):
            with precision.computing(self.precision, self.device):
                logits = self.computed(x)
            loss += functional.cross_entropy(logits.double(), label, reduction="sum")
            hits += (logits.argmax(1) == label).sum()
        self.net.train()
        count = self.test_set.count
        return loss.item() / count, hits.item() / count, time.perf_counter() - start

    def _wait(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()
