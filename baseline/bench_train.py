#!/usr/bin/env python3
"""Whole trainings, ours and PyTorch's in its quickest loop: seconds and accuracies over seeds.

  baseline/bench_train.py [NET=c] [PRECISION=fp32|tf32|bf16|fp16] [SEEDS=8] [EPOCHS=10] [BATCH=64]
                          [DATASET=cifar10] [LIMIT=0] [DEVICE=cuda|cpu] [RUNGS=all] [OUT=file.jsonl]

Both start from the same weights, seed by seed, train with the same augmentation, optimiser and
constant rate, each by its own draws, and evaluate after every epoch. Seconds are those of all
epochs with their evaluations; starting, compiling and the capture of graphs are not counted.

PyTorch's loop has all images on the device. Its step is compiled and captured in one CUDA graph:
gathering, cropping and mirroring a batch, forward, backward, the fused optimiser and the sums of
the epoch. What differs from step to step, the place in the epoch's order, is counted in the graph.
The last, smaller batch has a graph of its own. (On a CPU, for tests, nothing is captured.)

The ratio is that of medians over the seeds. Accuracies agree if the difference of their means is at
most the larger of 0.3 points and three standard errors; else the exit is 1.
"""

import os
import statistics
import sys
import tempfile
import time

import torch
from torch.nn import functional

import data
import lines
import nets
import plans
import precision
import programs

PROGRAM = "baseline/bench_train.py"
_EVALUATION_BATCH = 1000
_POINTS, _ERRORS = 0.3, 3  # how far means may lie apart


class Rival:
    """PyTorch's training of a plan's net, from its weights, in the given precision."""

    def __init__(self, plan, device):
        options = plan.options
        self.device, self.batch = device, options["batch"]
        self.precision = options.get("precision", "fp32")
        splits = data.load(options["dataset"], options["data_root"], options["limit"])
        lut = data.table(options["mean"], options["std"], torch.float32).to(device)
        augment = options["aug"] != "none"
        self.train_set = data.Loader(splits[0], lut, "channels_last", augment, options["pad"])
        self.test_set = data.Loader(splits[1], lut, "channels_last")
        self.net = nets.build(options["layers"], options["input"])
        self.net = self.net.to(device, memory_format=torch.channels_last)
        rates = {"lr": options["lr"], "weight_decay": options["wd"], "fused": True}
        if options["opt"] == "adam":
            self.optimizer = torch.optim.Adam(self.net.parameters(), **rates, capturable=self.gpu)
        else:
            self.optimizer = torch.optim.SGD(self.net.parameters(), **rates,
                                             momentum=options["momentum"],
                                             nesterov=bool(options["nesterov"]))  # fmt: skip
        count = self.train_set.count
        self.order = torch.zeros(count, dtype=torch.int64, device=device)
        self.crop = torch.zeros(count, 2, dtype=torch.int64, device=device)
        self.flip = torch.zeros(count, dtype=torch.int64, device=device)
        self.place = torch.zeros((), dtype=torch.int64, device=device)
        self.loss = torch.zeros((), dtype=torch.float64, device=device)
        self.hits = torch.zeros((), dtype=torch.int64, device=device)
        self.images = self.compiled(self.next_images)
        self.judge = self.compiled(self.loss_and_hits)
        self.prepare(plan)

    @property
    def gpu(self):
        return self.device.type == "cuda"

    def compiled(self, call):
        """For each size by itself, none of which is dynamic."""
        return torch.compile(call, dynamic=False) if self.gpu else call

    def prepare(self, plan):
        """Compiles and captures what the epochs will replay."""
        sizes = [size for size in (self.batch, self.train_set.count % self.batch) if size]
        self.net.train()
        self.steps = {size: self.captured(lambda size=size: self.step(size)) for size in sizes}
        self.net.eval()
        chunks = range(0, self.test_set.count, _EVALUATION_BATCH)
        self.evaluations = [self.captured(lambda first=first: self.test(first)) for first in chunks]
        self.reset(plan)

    def captured(self, call):
        """call, or on a GPU what replays it."""
        if not self.gpu:
            return call
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.place.zero_()
                call()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            call()
        return graph.replay

    def reset(self, plan):
        """The plan's weights and an optimiser that has not stepped, where the graphs find them."""
        nets.load_weights(self.net, plan.init)
        for state in self.optimizer.state.values():
            for value in state.values():
                if isinstance(value, torch.Tensor):
                    value.zero_()

    def loss_and_hits(self, x, label):
        products = precision.AUTOCAST.get(self.precision)
        with torch.autocast(self.device.type, products, enabled=products is not None,
                            cache_enabled=False):  # fmt: skip
            logits = self.net(x).float()
        loss = functional.cross_entropy(logits, label)
        return loss, (logits.detach().argmax(1) == label).sum()

    def next_images(self, size):
        """Those at the epoch's place, in its order."""
        at = self.place + torch.arange(size, device=self.device)
        if not self.train_set.augment:
            return self.train_set.batch(self.order[at])
        return self.train_set.batch(self.order[at], self.crop[at], self.flip[at])

    def step(self, size):
        x, label = self.images(size)
        self.optimizer.zero_grad(set_to_none=True)
        loss, hits = self.judge(x, label)
        loss.backward()
        self.optimizer.step()
        self.loss += loss.detach().double() * size
        self.hits += hits
        self.place += size

    @torch.no_grad()
    def test(self, first):
        self.hits += self.judge(*self.test_set.part(first, _EVALUATION_BATCH))[1]

    def draw(self):
        """The decisions of an epoch."""
        count, pad = self.train_set.count, self.train_set.pad
        self.order.copy_(torch.randperm(count, device=self.device))
        if self.train_set.augment:
            self.crop.copy_(torch.randint(2 * pad + 1, (count, 2), device=self.device))
            self.flip.copy_(torch.randint(2, (count,), device=self.device))

    def epoch(self):
        """Trains and evaluates; the test accuracy in percent."""
        self.net.train()
        self.draw()
        for counter in (self.place, self.loss, self.hits):
            counter.zero_()
        whole, rest = divmod(self.train_set.count, self.batch)
        for _ in range(whole):
            self.steps[self.batch]()
        if rest:
            self.steps[rest]()
        self.loss.item()  # as a training that reports it
        self.net.eval()
        self.hits.zero_()
        for evaluate in self.evaluations:
            evaluate()
        return 100 * self.hits.item() / self.test_set.count

    def train(self, epochs, seed):
        """Seconds and the last accuracy."""
        torch.manual_seed(seed)
        begin = time.perf_counter()
        for _ in range(epochs):
            accuracy = self.epoch()
        return time.perf_counter() - begin, accuracy


def ours(options, folder):
    """Seconds and the last accuracy of our run, which writes its plan into the folder."""
    programs.train("float", options | {"OUT": f"{folder}/ours"})
    epochs = programs.train_lines(f"{folder}/ours")[1]
    return sum(e["train_s"] + e["eval_s"] for e in epochs), 100 * epochs[-1]["test_acc"]


def agree(a, b):
    """Whether two lists of accuracies have means as near as chance allows; and what it allows."""
    if len(a) < 2:
        return True, float("nan")
    error = (statistics.variance(a) / len(a) + statistics.variance(b) / len(b)) ** 0.5
    limit = max(_POINTS, _ERRORS * error)
    return abs(statistics.mean(a) - statistics.mean(b)) <= limit, limit


def measure(options, seeds, device, folder):
    """{"ours": (seconds, accuracies), "torch": …} over the seeds, in turns."""
    results, rival = {"ours": ([], []), "torch": ([], [])}, None
    for seed in range(1, seeds + 1):
        run = options | {"SEED": seed}
        programs.train("float", run | {"PLAN": f"{folder}/plan", "PLAN_ONLY": 1, "EPOCHS": 1,
                                       "OUT": f"{folder}/planned"})  # fmt: skip
        plan = plans.Plan(f"{folder}/plan")
        with precision.computing(options["PRECISION"], device):
            if rival is None:
                rival = Rival(plan, device)
                rival.train(1, 0)  # what is cold is warm then
            rival.reset(plan)
            sides = {"ours": ours(run, folder), "torch": rival.train(options["EPOCHS"], seed)}
        for side, (seconds, accuracy) in sides.items():
            results[side][0].append(seconds)
            results[side][1].append(accuracy)
            print(f"{side:5} seed {seed}: {seconds:7.2f} s, {accuracy:.2f} %", flush=True)
    return results


def main(arguments):
    options = lines.parse_options(arguments)
    device = lines.pick_device(options.pop("DEVICE", "cuda"))
    seeds = lines.take_number(options, "SEEDS", 8, 1, 1000)
    out = options.pop("OUT", os.path.join(lines.ROOT, "results", "local", "bench_train.jsonl"))
    run = {"NET": options.pop("NET", "c"), "PRECISION": options.pop("PRECISION", "fp32"),
           "EPOCHS": lines.take_number(options, "EPOCHS", 10, 1, 1000),
           "BATCH": lines.take_number(options, "BATCH", 64, 1, 9216),
           "DATASET": options.pop("DATASET", "cifar10"), "RUNGS": options.pop("RUNGS", "all"),
           "LIMIT": lines.take_number(options, "LIMIT", 0, 0, 50000),
           "SCHED": "constant", "DEVICE": device.type}  # fmt: skip
    if run["PRECISION"] not in precision.NAMES:
        raise lines.UsageError(f"PRECISION={run['PRECISION']}: one of {','.join(precision.NAMES)}")
    lines.refuse_rest(options)
    lines.use_quickest_fp32()
    with tempfile.TemporaryDirectory(prefix="gradlab-bench-") as folder:
        results = measure(run, seeds, device, folder)
    medians = {side: statistics.median(seconds) for side, (seconds, _) in results.items()}
    ratio = medians["torch"] / medians["ours"]
    means = {side: statistics.mean(accuracies) for side, (_, accuracies) in results.items()}
    good, limit = agree(results["ours"][1], results["torch"][1])
    print(f"net {run['NET']} {run['PRECISION']}, {run['EPOCHS']} epochs: {medians['ours']:.2f} s, "
          f"PyTorch {medians['torch']:.2f} s: ours {ratio:.2f}x as quick; accuracy "
          f"{means['ours']:.2f} %, PyTorch {means['torch']:.2f} % (may differ by {limit:.2f}): "
          f"{'they agree' if good else 'they DIFFER'}")  # fmt: skip
    gpu = {"gpu": torch.cuda.get_device_name()} if device.type == "cuda" else {}
    command = " ".join([PROGRAM, *arguments])
    writer = lines.LineWriter(out, lines.origin(PROGRAM) | gpu | {"command": command})
    writer.write(kind="bench_train", net=run["NET"], precision=run["PRECISION"], seeds=seeds,
                 epochs=run["EPOCHS"], batch=run["BATCH"], dataset=run["DATASET"],
                 limit=run["LIMIT"], device=device.type, ratio=ratio, agree=good, allowed=limit,
                 sides={side: {"seconds": seconds, "test_acc": accuracies}
                        for side, (seconds, accuracies) in results.items()})  # fmt: skip
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (lines.UsageError, programs.ProgramError, plans.PlanError, data.DataError) as error:
        sys.exit(f"{PROGRAM}: {error}")
