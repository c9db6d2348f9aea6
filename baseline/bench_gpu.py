#!/usr/bin/env python3
"""Times training steps on a GPU: ours and PyTorch's best of several ways, alternating in one run.

  baseline/bench_gpu.py [NETS=a,b] [BATCHES=64,512] [ROUNDS=4] [TUNE=1|0] [OUT=file.jsonl]

A sample is the mean time of a step over a run of steps without a look at the device: ours an epoch
of `make train` on so many images, PyTorch's as many replays. Each round takes samples of ours, then
of each rival. PyTorch's step works on a batch that lies on the device already; ours also draws and
loads its batch and sums its metrics. float32 on both sides, TF32 off. TUNE=0 spares max-autotune.

Memory is compared without a data set, which only ours keeps on the device: parameters, optimiser,
batch, activations, gradients and scratch at their peak, as the two allocators count them, and
cuBLAS's workspace, which PyTorch's allocator counts and ours does not.
"""

import os
import statistics
import sys
import tempfile

import torch
from torch import nn

import lines
import nets
import programs

PROGRAM = "baseline/bench_gpu.py"
_STEPS = {64: 200, 512: 90}  # of a sample
_EPOCHS = 5  # of one start of ours, the first of which is a warm-up
_WORKSPACE = (32 << 20) + 256  # cuBLAS's and the step's numbers (labs/common/cuda/cuda_device.cu)
_OPTIONS = {"a": {"lr": 0.05, "momentum": 0.0}, "b": {"lr": 0.01, "momentum": 0.9}}


def summary(samples):
    low, median, high = statistics.quantiles(samples, n=4, method="inclusive")
    return {"median": median, "quartiles": [low, high], "samples": samples}


class Rival:
    """A net of PyTorch with its optimiser, and one way to run its training step."""

    def __init__(self, net, batch, way, layout):
        torch.manual_seed(1)
        torch.compiler.reset()
        torch._C._cuda_clearCublasWorkspaces()  # or the first rival would pay for all
        before = torch.cuda.memory_allocated()
        memory = torch.channels_last if layout == "channels_last" else torch.contiguous_format
        self.model = nets.build(net).cuda().to(memory_format=memory)
        self.x = torch.randn(batch, 3, 32, 32, device="cuda").contiguous(memory_format=memory)
        self.label = torch.randint(10, (batch,), device="cuda")
        self.optimizer = torch.optim.SGD(self.model.parameters(), **_OPTIONS[net], fused=True)
        self.loss = lambda x, label: nn.functional.cross_entropy(self.model(x), label)
        if way.startswith("compile"):
            mode = "max-autotune-no-cudagraphs" if way == "compile-tuned+graph" else "default"
            self.loss = torch.compile(self.loss, mode=mode)
        self.replay = self.step
        for _ in range(3):  # what compiling and tuning take is not the step's
            self.step()
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        if way.endswith("graph"):
            self.capture()
        self.step()
        torch.cuda.synchronize()
        self.peak = torch.cuda.max_memory_allocated() - before

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.loss(self.x, self.label).backward()
        self.optimizer.step()

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.step()
        self.replay = graph.replay

    def sample(self, steps):
        """Microseconds of a step."""
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        for _ in range(10):
            self.replay()
        torch.cuda.synchronize()
        start.record()
        for _ in range(steps):
            self.replay()
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end) * 1e3 / steps


def run_ours(net, batch, steps, folder):
    """The epochs of a short run, each of so many steps."""
    options = {"NET": net, "BATCH": batch, "LIMIT": steps * batch, "EPOCHS": _EPOCHS,
               "DEVICE": "cuda", "DATASET": "shapes10", "SCHED": "constant",
               "OUT": folder}  # fmt: skip
    programs.train("float", options)
    return programs.train_lines(folder)[1]


def sample_ours(net, batch, folder):
    """Microseconds of a step in each epoch but the first."""
    steps = _STEPS[batch]
    return [e["train_s"] * 1e6 / steps for e in run_ours(net, batch, steps, folder)[1:]]


def peak_of_ours(net, batch, folder):
    """Device memory at its peak without the data set, here of two batches to train and to test."""
    data_set = 2 * 2 * batch * 3072
    return run_ours(net, batch, 2, folder)[-1]["peak_bytes"] - data_set + _WORKSPACE


def ways(tune):
    found = [(way, layout) for way in ("eager", "graph", "compile+graph")
             for layout in ("nchw", "channels_last")]  # fmt: skip
    return found + ([("compile-tuned+graph", "nchw")] if tune else [])


def compare(net, batch, rounds, tune, folder, writer):
    rivals = {}
    for way, layout in ways(tune):
        rivals[f"{way}, {layout}"] = Rival(net, batch, way, layout)
    samples = {name: [] for name in ["ours", *rivals]}
    for _ in range(rounds):
        samples["ours"] += sample_ours(net, batch, folder)
        for name, rival in rivals.items():
            samples[name] += [rival.sample(_STEPS[batch]) for _ in range(_EPOCHS - 1)]
    figures = {name: summary(values) for name, values in samples.items()}
    best = min(rivals, key=lambda name: figures[name]["median"])
    ratio = figures[best]["median"] / figures["ours"]["median"]
    for name, f in figures.items():
        low, high = f["quartiles"]
        print(f"net {net} batch {batch:3}  {name:30} {f['median']:7.1f} us  "
              f"({low:.1f} .. {high:.1f})")  # fmt: skip
    peak = peak_of_ours(net, batch, folder)
    least = min(rival.peak for rival in rivals.values())
    print(f"net {net} batch {batch}: ours {ratio:.2f}x as quick as {best}; peak memory "
          f"{peak / 2**20:.0f} MiB, PyTorch's {rivals[best].peak / 2**20:.0f} MiB, its least of "
          f"all ways {least / 2**20:.0f} MiB", flush=True)  # fmt: skip
    writer.write(kind="bench_gpu", net=net, batch=batch, unit="us", steps_per_sample=_STEPS[batch],
                 times=figures, best_rival=best, ratio=ratio, ours_peak_bytes=peak,
                 ours_workspace_bytes=_WORKSPACE,
                 ours_run=programs.train_lines(folder)[0],
                 rival_peak_bytes={n: r.peak for n, r in rivals.items()})  # fmt: skip


def main(arguments):
    options = dict(word.split("=", 1) for word in arguments if "=" in word)
    known = {"NETS": "a,b", "BATCHES": "64,512", "ROUNDS": "4", "TUNE": "1",
             "OUT": os.path.join(lines.ROOT, "results", "local", "bench_gpu.jsonl")}  # fmt: skip
    if len(options) != len(arguments) or set(options) - set(known):
        raise lines.UsageError(f"options are {', '.join(known)}, each as NAME=value")
    known.update(options)
    lines.use_fp32_only()
    common = lines.origin(PROGRAM) | {"device": "cuda", "gpu": torch.cuda.get_device_name()}
    writer = lines.LineWriter(known["OUT"], common)
    with tempfile.TemporaryDirectory(prefix="gradlab-bench-") as folder:
        for batch in map(int, known["BATCHES"].split(",")):
            for net in known["NETS"].split(","):
                compare(net, batch, int(known["ROUNDS"]), known["TUNE"] == "1", folder, writer)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (lines.UsageError, programs.ProgramError) as error:
        sys.exit(f"{PROGRAM}: {error}")
