#!/usr/bin/env python3
"""Times training steps on a GPU: ours and PyTorch's best of several ways, alternating in one run.

  baseline/bench_gpu.py [NETS=a,b,c] [BATCHES=64,512] [ROUNDS=4] [OUT=file.jsonl]
                        [PRECISION=fp32|tf32|bf16] [RUNGS=all] [RIVALS=eager,graph,…]

A sample is the mean time of a step over a run of steps without a look at the device: ours an epoch
of `make train` on so many images, PyTorch's as many replays. Each round takes samples of ours, then
of each rival. PyTorch's step works on a batch that lies on the device already; ours also draws and
loads its batch and sums its metrics. The ratio is ours against the quickest of PyTorch's ways in
the same precision: float32 with TF32 off, TF32 for its products, or bfloat16 by autocast. Beside
float32 what TF32 and bfloat16 reach is measured, too, and never used for the ratio. A way that
cannot be run is named in the results, and the exit is 1.

Memory is compared without a data set, which only ours keeps on the device: parameters, optimiser,
batch, activations, gradients and scratch at their peak, as the two allocators count them, and
cuBLAS's workspace, which PyTorch's allocator counts and ours does not.
"""

import gc
import os
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import nn

import bench_step
import lines
import nets
import programs

PROGRAM = "baseline/bench_gpu.py"
_EPOCHS = 5  # of one start of ours, the first of which is a warm-up
_WORKSPACE = (2 << 20) + 256  # cuBLAS's and the step's numbers (tl/cuda/cuda_device.cu)
_LAYOUTS = {"nchw": torch.contiguous_format, "channels_last": torch.channels_last}


@dataclass(frozen=True)
class Way:
    """One way to run PyTorch's step; in results it is called `name`, with its layout."""

    name: str
    mode: str = ""  # of torch.compile; empty: not compiled
    graph: bool = True  # the whole step, optimiser included, in one CUDA graph
    precision: str = "fp32"


_TUNED = "max-autotune-no-cudagraphs"
# RIVALS= chooses among these
WAYS = {
    "eager": Way("eager", graph=False),
    "graph": Way("graph"),
    "compile": Way("compile+graph", mode="default"),
    "tuned": Way("compile-tuned+graph", mode=_TUNED),
    "tf32-graph": Way("tf32 graph", precision="tf32"),
    "tf32": Way("tf32 compile+graph", mode="default", precision="tf32"),
    "tf32-tuned": Way("tf32 compile-tuned+graph", mode=_TUNED, precision="tf32"),
    "bf16-graph": Way("bf16 graph", precision="bf16"),
    "bf16": Way("bf16 compile+graph", mode="default", precision="bf16"),
    "bf16-tuned": Way("bf16 compile-tuned+graph", mode=_TUNED, precision="bf16"),
}
# ... and without it: all of the precision, and beside float32 what a user would take instead
USUAL = {
    precision: [word for word, way in WAYS.items() if way.precision == precision]
    for precision in ("fp32", "tf32", "bf16")
}
USUAL["fp32"] += ["tf32", "bf16"]


def steps_of(net, batch):
    """Steps of a sample, which must find images enough in 50,000; net c's take ten times longer."""
    return max(5, min(200, 46080 // batch) // (3 if net == "c" else 1))


def optimizer(net, parameters, captured):
    """The net's default optimiser (DESIGN section 7), in PyTorch's quickest form."""
    if net == "c":
        return torch.optim.Adam(parameters, lr=1e-3, fused=True, capturable=captured)
    options = {"a": {"lr": 0.05}, "b": {"lr": 0.01, "momentum": 0.9}}
    return torch.optim.SGD(parameters, **options[net], fused=True)


@contextmanager
def computing_in(precision):
    """Only tf32 lets products round their inputs; what is captured inside keeps to it."""
    if precision == "tf32":
        torch.set_float32_matmul_precision("high")
        torch.backends.cudnn.allow_tf32 = True
    try:
        yield
    finally:
        lines.use_fp32_only()


class Rival:
    """A net of PyTorch with its optimiser, and one way to run its training step."""

    def __init__(self, net, batch, way, layout):
        torch.manual_seed(1)
        torch.compiler.reset()
        gc.collect()  # or a net before this one is freed while this one's memory is counted
        torch._C._cuda_clearCublasWorkspaces()  # or the first rival would pay for all
        before = torch.cuda.memory_allocated()
        memory = _LAYOUTS[layout]
        self.precision = way.precision
        known = programs.nets()[net]
        self.model = nets.build(known["layers"], known["input"]).cuda().to(memory_format=memory)
        self.x = torch.randn(batch, 3, 32, 32, device="cuda").contiguous(memory_format=memory)
        self.label = torch.randint(10, (batch,), device="cuda")
        self.optimizer = optimizer(net, self.model.parameters(), way.graph)
        self.loss = self.forward_bf16 if way.precision == "bf16" else self.forward
        if way.mode:
            self.loss = torch.compile(self.loss, mode=way.mode)
        self.replay = self.step
        with computing_in(way.precision):
            for _ in range(3):  # what compiling, tuning and cuDNN's search take is not the step's
                self.step()
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
            if way.graph:
                self.capture()
            self.step()
        torch.cuda.synchronize()
        self.peak = torch.cuda.max_memory_allocated() - before

    def forward(self, x, label):
        return nn.functional.cross_entropy(self.model(x), label)

    def forward_bf16(self, x, label):
        # (no cache: a graph must not depend on weights that were rounded outside of it)
        with torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
            return self.forward(x, label)

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


@dataclass(frozen=True)
class Ours:
    """How `make train` runs a net's step: its options beside net and batch, and where it writes."""

    options: dict
    folder: str

    def run(self, net, batch, steps):
        """The epochs of a short run, each of so many steps."""
        options = {"NET": net, "BATCH": batch, "LIMIT": steps * batch, "EPOCHS": _EPOCHS,
                   "DEVICE": "cuda", "DATASET": "shapes10", "SCHED": "constant",
                   "OUT": self.folder}  # fmt: skip
        programs.train("float", options | self.options)
        return programs.train_lines(self.folder)[1]

    def sample(self, net, batch):
        """Microseconds of a step in each epoch but the first."""
        steps = steps_of(net, batch)
        return [e["train_s"] * 1e6 / steps for e in self.run(net, batch, steps)[1:]]

    def peak(self, net, batch):
        """Device memory at its peak without the data set, here of two batches to train and to
        test."""
        data_set = 2 * 2 * batch * 3072
        return self.run(net, batch, 2)[-1]["peak_bytes"] - data_set + _WORKSPACE


def make_rivals(net, batch, ways, precision):
    """{name: Rival} of all ways and layouts, and {name: why} of those that cannot be run."""
    rivals, failed = {}, {}
    for way in ways:
        for layout in _LAYOUTS:
            name, began = f"{way.name}, {layout}", time.monotonic()
            try:
                rivals[name] = Rival(net, batch, way, layout)
                print(f"net {net} batch {batch:3}  {name:34} is ready after "
                      f"{time.monotonic() - began:.0f} s", flush=True)  # fmt: skip
            except Exception as error:  # a compiler of its own may fail in any way
                failed[name] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
                print(f"net {net} batch {batch:3}  {name:34} cannot be run: {failed[name]}")
    if not any(rival.precision == precision for rival in rivals.values()):
        where = f"net {net}, batch {batch}"
        raise lines.UsageError(f"{where}: no way in {precision} is left to compare")
    return rivals, failed


def measure(net, batch, rounds, rivals, ours):
    """{name: summary} of ours and of every rival, in turns."""
    samples = {name: [] for name in ["ours", *rivals]}
    for _ in range(rounds):
        samples["ours"] += ours.sample(net, batch)
        for name, rival in rivals.items():
            samples[name] += [rival.sample(steps_of(net, batch)) for _ in range(_EPOCHS - 1)]
    figures = {name: bench_step.summary(values) for name, values in samples.items()}
    for name, f in figures.items():
        low, high = f["quartiles"]
        text = f"{f['median']:8.1f} us  ({low:.1f} .. {high:.1f})"
        print(f"net {net} batch {batch:3}  {name:34} {text}")
    return figures


def compare(net, batch, rounds, ways, ours, writer):
    """Writes the line of one net and batch; True if every way could be run."""
    precision = ours.options["PRECISION"]
    rivals, failed = make_rivals(net, batch, ways, precision)
    figures = measure(net, batch, rounds, rivals, ours)
    equal = [name for name, rival in rivals.items() if rival.precision == precision]
    best = min(equal, key=lambda name: figures[name]["median"])
    ratio = figures[best]["median"] / figures["ours"]["median"]
    peak = ours.peak(net, batch)
    least = min(rivals[name].peak for name in equal)
    print(f"net {net} batch {batch} {precision}: ours {ratio:.2f}x as quick as {best}; peak memory "
          f"{peak / 2**20:.0f} MiB, PyTorch's {rivals[best].peak / 2**20:.0f} MiB, its least of "
          f"all ways {least / 2**20:.0f} MiB", flush=True)  # fmt: skip
    writer.write(kind="bench_gpu", net=net, batch=batch, unit="us",
                 steps_per_sample=steps_of(net, batch), times=figures, best_rival=best, ratio=ratio,
                 precision={name: rival.precision for name, rival in rivals.items()},
                 failed=failed, ours_peak_bytes=peak, ours_workspace_bytes=_WORKSPACE,
                 ours_run=programs.train_lines(ours.folder)[0],
                 rival_peak_bytes={n: r.peak for n, r in rivals.items()})  # fmt: skip
    return not failed


def choice(options, name, default, known):
    """The words of NAME=one,two, each of which must be known."""
    found = options.pop(name, default).split(",")
    for word in found:
        if word not in known:
            raise lines.UsageError(f"{name}={word}: some of {','.join(known)}")
    return found


def main(arguments):
    options = lines.parse_options(arguments)
    colour = [net for net, known in programs.nets().items() if known["input"][0] == 3]
    chosen = choice(options, "NETS", ",".join(colour), colour)
    precision = options.pop("PRECISION", "fp32")
    if precision not in USUAL:
        raise lines.UsageError(f"PRECISION={precision}: one of {','.join(USUAL)}")
    rivals = choice(options, "RIVALS", ",".join(USUAL[precision]), tuple(WAYS))
    ways = [WAYS[word] for word in rivals]
    taken = {"PRECISION": precision, "RUNGS": options.pop("RUNGS", "all")}
    batches = options.pop("BATCHES", "64,512").split(",")
    if not all(b.isdecimal() and 1 <= int(b) <= 9216 for b in batches):
        raise lines.UsageError(f"BATCHES={','.join(batches)}: whole numbers from 1 to 9216")
    rounds = lines.take_number(options, "ROUNDS", 4, 1, 1000)
    out = options.pop("OUT", os.path.join(lines.ROOT, "results", "local", "bench_gpu.jsonl"))
    lines.refuse_rest(options)
    lines.pick_device("cuda")
    lines.use_quickest_fp32()
    common = lines.origin(PROGRAM) | {
        "dataset": "random", "device": "cuda", "gpu": torch.cuda.get_device_name(),
        "threads": lines.cores(), "seed": 1, "command": "make gpu-suite OUT=dir STAGES=steps",
    }  # fmt: skip
    writer, whole = lines.LineWriter(out, common), True
    with tempfile.TemporaryDirectory(prefix="gradlab-bench-") as folder:
        for batch in map(int, batches):
            for net in chosen:
                whole &= compare(net, batch, rounds, ways, Ours(taken, folder), writer)
    return 0 if whole else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (lines.UsageError, programs.ProgramError) as error:
        sys.exit(f"{PROGRAM}: {error}")
