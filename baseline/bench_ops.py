#!/usr/bin/env python3
"""Times convolution and linear layers, ours and PyTorch's alternating in one run.

  baseline/bench_ops.py [DEVICE=auto|cpu|cuda] [OPS=conv2d,linear] [REPEAT=50] [LONG=5000]
                        [THREADS=n] [RUNGS=...] [SEED=1] [OUT=file.jsonl]

Convolutions are 3x3 with padding 1. One size at a time is varied (batch, pixels, channels), REPEAT
runs each after 10 that warm up; then a convolution and a linear layer over LONG runs. Ours is
build/float/bench_ops, which answers by its pipe; before a case is timed, the results of both sides
are held against a computation in double. PyTorch takes the quickest of its layouts and thread
counts, tried first. On a GPU everything runs again inside a CUDA graph of 20. Ratios below 1: ours
is quicker.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

import bench_step
import bounds
import lines
import programs

PROGRAM = "baseline/bench_ops.py"
RESULTS = os.path.join(programs.RESULTS, "bench_ops.jsonl")
DEFAULT = (8, 3, 8, 32)  # images, channels in, channels out, pixels a side
CONVS = {
    "batch": [(n, 3, 8, 32) for n in (1, 4, 8, 16, 32)],
    "size": [(8, 3, 8, h) for h in (8, 16, 32, 64)],
    "channels": [(8, 3, 8, 32), (8, 8, 8, 32), (8, 8, 16, 32)],
}
ROUNDS, WARMUP, IN_GRAPH = 5, 10, 20
_BUSY = 0.1  # share of the processor from which other programs are likely to disturb the timing
# How much of its bound an error may be. cuDNN's quickest algorithm may be Winograd's, which rounds
# more coarsely than any plain sum; inputs rounded to TF32 would still break this.
_OF_BOUND = {"ours": 1, "PyTorch": 16}
_REST = 0.02  # seconds between the sides: OpenMP's threads of one stop spinning meanwhile


class Ours:
    """The running program, and its answers."""

    def __init__(self, options):
        self.process = subprocess.Popen(
            [programs.path("float", "bench_ops"), *programs.arguments(options)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self.origin = json.loads(self._send("origin") or self._line())

    def _send(self, line, arrays=(), end="\n"):
        try:
            self.process.stdin.write((line + end).encode())
            for array in arrays:
                self.process.stdin.write(np.ascontiguousarray(array, "<f4").tobytes())
            self.process.stdin.flush()
        except BrokenPipeError:
            raise programs.ProgramError("bench_ops stopped; it says why above") from None

    def _line(self):
        line = self.process.stdout.readline()
        if not line:
            raise programs.ProgramError("bench_ops stopped; it says why above")
        return line

    def _numbers(self, count, dtype="<f8"):
        size = count * np.dtype(dtype).itemsize
        data = self.process.stdout.read(size)
        if len(data) != size:
            raise programs.ProgramError("bench_ops stopped; it says why above")
        return np.frombuffer(data, dtype)

    def results(self, case):
        """Of one run, by name."""
        self._send(case.command)
        inputs, results = self._line().decode().split(">")
        self._send("", [case.inputs[name].cpu().numpy() for name in inputs.split()], end="")
        return {name: torch.from_numpy(self._numbers(t.numel(), "<f4").copy()).view(t.shape)
                for name in results.split() for t in [case.like(name)]}  # fmt: skip

    def times(self, both, mode, count, inner):
        self._send(f"time {'both' if both else 'fwd'} {mode} {count} {inner}")
        return self._numbers(count).tolist()

    def peak(self):
        self._send("peak")
        return self._numbers(2).tolist()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


@dataclass(frozen=True)
class Operation:
    """PyTorch's way to run what tl/ops.def calls NAME_fwd and NAME_bwd…, by the sizes of a case.

    `numbers` are those of its geometry (tl/geometry.h), `sizes` the shapes of its arguments by
    their names there and of y; `terms` counts the products in an element of each result, the bias
    being among the roundings granted; `macs` are those of forward.
    """

    names: tuple  # of the sizes: the fields of a line
    numbers: Callable
    sizes: Callable
    call: Callable
    terms: Callable
    macs: Callable
    long: tuple  # the case that is timed over LONG runs, forward alone and both


OPERATIONS = {
    "conv2d": Operation(
        names=("n", "c", "k", "h"),
        numbers=lambda n, c, k, h: (n, c, h, h, k, 3, 3, 1, 1, 1, 1, 1, 1),
        sizes=lambda n, c, k, h: {"x": (n, c, h, h), "w": (k, c, 3, 3), "b": (k,),
                                  "y": (n, k, h, h)},
        call=lambda x, w, b: functional.conv2d(x, w, b, padding=1),
        terms=lambda n, c, k, h: {"y": 9 * c, "dx": 9 * k, "dw": n * h * h, "db": n * h * h},
        macs=lambda n, c, k, h: n * k * h * h * 9 * c,
        long=DEFAULT,
    ),
    "linear": Operation(
        names=("n", "in", "out"),
        numbers=lambda n, inputs, outputs: (n, inputs, outputs),
        sizes=lambda n, inputs, outputs: {"x": (n, inputs), "w": (outputs, inputs),
                                          "b": (outputs,), "y": (n, outputs)},
        call=functional.linear,
        terms=lambda n, inputs, outputs: {"y": inputs, "dx": outputs, "dw": n, "db": n},
        macs=lambda n, inputs, outputs: n * inputs * outputs,
        long=(64, 2048, 256),  # net a's first
    ),
}  # fmt: skip


class Case:
    """One operation: its inputs, and PyTorch's way to run it."""

    def __init__(self, op, shape, device, seed):
        self.op, self.shape, self.device = op, shape, device
        self.operation = OPERATIONS[op]
        draw = torch.Generator().manual_seed(seed)
        sizes = self.operation.sizes(*shape)
        self.command = " ".join(map(str, ("op", op, *self.operation.numbers(*shape))))
        self.fields = dict(zip(self.operation.names, shape))
        self.inputs = {("dy" if name == "y" else name):
                       torch.randn(size, generator=draw).to(device)
                       for name, size in sizes.items()}  # fmt: skip
        self.parameters = [name for name in self.inputs if name != "dy"]

    def like(self, name):
        """The tensor whose shape a result has: dx that of x, y that of dy."""
        return self.inputs["dy" if name == "y" else name.removeprefix("d")]

    def call(self, inputs):
        return self.operation.call(*(inputs[name] for name in self.parameters))

    def all(self, inputs):
        """y and the gradients, by name."""
        leaves = {name: inputs[name].detach().requires_grad_() for name in self.parameters}
        y = self.call(leaves)
        grads = torch.autograd.grad(y, list(leaves.values()), inputs["dy"])
        return {"y": y.detach(), **{f"d{name}": g for name, g in zip(leaves, grads)}}

    def check(self, ours):
        """Largest error of either side as a share of its bound; one above _OF_BOUND stops the run.

        The bound of a sum of n products is the one by which the labs judge (bounds.py).
        """
        right = self.all({name: t.double() for name, t in self.inputs.items()})
        size = self.all({name: t.double().abs() for name, t in self.inputs.items()})
        terms = self.operation.terms(*self.shape)
        shares = {}
        theirs = self.all(self.inputs)
        for side, results in (("ours", ours), ("PyTorch", theirs)):
            worst = 0.0
            if set(results) != set(right):
                raise programs.ProgramError(f"{self.command}: {side} gives {sorted(results)}")
            for name, want in right.items():
                bound = bounds.factor(terms[name]) * size[name]
                error = (results[name].to(want.device).double() - want).abs()
                if not bool((error <= _OF_BOUND[side] * bound).all()):
                    raise programs.ProgramError(
                        f"{self.command}: {side} is wrong; nothing was timed"
                    )
                worst = max(worst, float((error / bound.clamp_min(1e-300)).max()))
            shares[side] = worst
        return shares

    def flops(self, both):
        """Multiplications and additions of forward, or of forward and the gradients (that of a
        bias is a sum, and small)."""
        gradients = sum(self.inputs[name].dim() > 1 for name in self.parameters)
        return 2 * self.operation.macs(*self.shape) * (1 + gradients if both else 1)


class Rival:
    """PyTorch with one layout and number of threads, eager or as a CUDA graph."""

    def __init__(self, case, layout, threads):
        self.case, self.layout, self.threads, self.graphs = case, layout, threads, {}
        memory = torch.channels_last if layout == "channels_last" else torch.contiguous_format
        self.inputs = {
            name: t.contiguous(memory_format=memory) if t.dim() == 4 else t
            for name, t in case.inputs.items()
        }

    def run(self, both):
        if both:
            self.case.all(self.inputs)
        else:
            with torch.no_grad():
                self.case.call(self.inputs)

    def times(self, both, mode, count, inner):
        torch.set_num_threads(self.threads)
        cuda = self.case.device.type == "cuda"
        wait = torch.cuda.synchronize if cuda else (lambda: None)
        replay = self._graph(both, inner) if mode == "graph" else None
        samples = []
        for _ in range(count):
            wait()
            begin = time.perf_counter()
            if replay:
                replay()
            else:
                for _ in range(inner):
                    self.run(both)
            wait()
            samples.append((time.perf_counter() - begin) / inner)
        return samples

    def _graph(self, both, inner):
        if (both, inner) not in self.graphs:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    self.run(both)
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                for _ in range(inner):
                    self.run(both)
            self.graphs[both, inner] = graph
        return self.graphs[both, inner].replay


def best_rival(case, both, layouts=("nchw", "channels_last")):
    """The quickest layout and number of threads: by the median of some runs each."""
    counts = bench_step.thread_counts(lines.cores()) if case.device.type == "cpu" else [1]
    layouts = layouts if case.inputs["x"].dim() == 4 else layouts[:1]
    rivals = [Rival(case, layout, threads) for layout in layouts for threads in counts]
    trials = {}
    for rival in rivals:
        rival.times(both, "eager", WARMUP, 1)
        trials[rival] = statistics.median(rival.times(both, "eager", 31, 1))
    return min(trials, key=trials.get)


def compare(case, ours, timing):
    """Samples of both sides, in turns, and the ratio of each turn's medians."""
    rival = best_rival(case, timing.both)
    samples, ratios = {"ours": [], "twin": []}, []
    run, warm = (timing.both, timing.mode), WARMUP if timing.inner == 1 else 2
    for _ in range(ROUNDS):
        medians = []
        for name, side in (("ours", ours), ("twin", rival)):
            time.sleep(_REST)
            side.times(*run, warm, timing.inner)
            found = side.times(*run, timing.count // ROUNDS, timing.inner)
            samples[name] += found
            medians.append(statistics.median(found))
        ratios.append(medians[0] / medians[1])
    return rival, {name: bench_step.summary(s) for name, s in samples.items()} | {
        "ratio": bench_step.summary(ratios)
    }


@dataclass(frozen=True)
class Timing:
    """How often a case is run: `count` samples of `inner` runs each, queued or in one graph."""

    series: str
    both: bool  # forward and backward, or forward alone
    mode: str  # eager or graph
    count: int
    inner: int

    @property
    def way(self):
        return "fwd+bwd" if self.both else "fwd"


def report(writer, case, ours, timing, shares):
    rival, figures = compare(case, ours, timing)
    what = " ".join(f"{k} {v}" for k, v in case.fields.items())
    mine, theirs = (1e6 * figures[side]["median"] for side in ("ours", "twin"))
    text = f"{case.op:6} {what:22} {timing.way:7} {timing.mode:5}  ours {mine:8.1f} us"
    ratio = figures["ratio"]["median"]
    print(f"{text}  PyTorch {theirs:8.1f} us  ratio {ratio:.3f}", flush=True)
    writer.write(
        kind="bench_op", op=case.op, series=timing.series, mode=timing.mode, **{"pass": timing.way},
        **case.fields, unit="s", flops=case.flops(timing.both),
        repeats=timing.count * timing.inner, inner=timing.inner, warmup=WARMUP, **figures,
        error_of_bound=shares, twin_layout=rival.layout, twin_threads=rival.threads,
        ours_run=ours.origin,
    )  # fmt: skip


def cases(wanted, modes, repeat, long):
    """(operation, shape, its timings) of everything that is timed."""
    graph = {"eager": 1, "graph": IN_GRAPH}
    for series, shapes in CONVS.items() if "conv2d" in wanted else ():
        for shape in shapes:
            yield "conv2d", shape, [Timing(series, True, m, repeat, graph[m]) for m in modes]
    inner = {"eager": long // 50, "graph": IN_GRAPH}
    for op, operation in OPERATIONS.items():
        if op in wanted:
            yield op, operation.long, [Timing("long", both, m, long // inner[m], inner[m])
                              for both in (False, True) for m in modes]  # fmt: skip


def main(arguments):
    options = lines.parse_options(arguments)
    device = lines.take_choice(options, "DEVICE", "auto", ("auto", "cpu", "cuda"))
    device = lines.pick_device(device)
    wanted = options.pop("OPS", ",".join(OPERATIONS)).split(",")
    repeat = lines.take_number(options, "REPEAT", 50, ROUNDS * 2, 10**6)
    long = lines.take_number(options, "LONG", 5000, 100, 10**7)
    seed = lines.take_number(options, "SEED", 1, 0)
    out = options.pop("OUT", RESULTS)
    ours_options = {n: options.pop(n) for n in ("THREADS", "RUNGS") if n in options}
    lines.refuse_rest(options)
    if set(wanted) - set(OPERATIONS):
        raise lines.UsageError(f"OPS={','.join(wanted)}: some of {', '.join(OPERATIONS)}")
    lines.use_quickest_fp32()
    busy = lines.busy_share()
    if device.type == "cpu" and (busy or 0) > _BUSY:
        print(f"note: other programs take {100 * busy:.0f} % of the processor; "
              "times will be unsteady")  # fmt: skip
    ours = Ours(ours_options | {"DEVICE": device.type, "SEED": seed})
    common = lines.origin(PROGRAM) | {
        "dataset": "random", "device": device.type, "threads": ours.origin["threads"], "seed": seed,
        "busy": busy, "rungs": ours.origin["rungs"],
        "command": " ".join(["make bench-ops", *arguments, *(["MINE=1"] if programs.MINE else [])]),
    }  # fmt: skip
    if "gpu" in ours.origin:
        common["gpu"] = ours.origin["gpu"]
    writer = lines.LineWriter(out, common)
    modes = ("eager", "graph") if device.type == "cuda" else ("eager",)
    for op, shape, timings in cases(wanted, modes, repeat, long):
        case = Case(op, shape, device, seed)
        shares = case.check(ours.results(case))
        for timing in timings:
            report(writer, case, ours, timing, shares)
    flops, copied = ours.peak()
    print(f"ceilings: {flops / 1e9:.0f} GFLOP/s in a product, {copied / 1e9:.1f} GB/s in a copy")
    writer.write(kind="peak", flops_per_s=flops, bytes_per_s=copied, ours_run=ours.origin)
    ours.close()


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (lines.UsageError, programs.ProgramError) as error:
        sys.exit(f"{PROGRAM}: {error}")
