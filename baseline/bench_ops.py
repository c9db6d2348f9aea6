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
LINEARS = [(64, 2048, 256)]  # net a's first
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

    def _send(self, line, arrays=()):
        try:
            self.process.stdin.write((line + "\n").encode())
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
        """y, dx, dw, db of one run."""
        self._send(case.command, [t.cpu().numpy() for t in (case.x, case.w, case.b, case.dy)])
        return [torch.from_numpy(self._numbers(t.numel(), "<f4").copy()).view(t.shape)
                for t in (case.dy, case.x, case.w, case.b)]  # fmt: skip

    def times(self, both, mode, count, inner):
        self._send(f"time {'both' if both else 'fwd'} {mode} {count} {inner}")
        return self._numbers(count).tolist()

    def peak(self):
        self._send("peak")
        return self._numbers(2).tolist()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Case:
    """One operation: its inputs, and PyTorch's way to run it."""

    def __init__(self, op, shape, device, seed):
        self.op, self.shape, self.device = op, shape, device
        draw = torch.Generator().manual_seed(seed)
        if op == "conv2d":
            n, c, k, h = shape
            sizes = (n, c, h, h), (k, c, 3, 3), (k,), (n, k, h, h)
            self.command = f"conv2d {n} {c} {k} {h}"
            self.fields = {"n": n, "c": c, "k": k, "h": h}
        else:
            n, inputs, outputs = shape
            sizes = (n, inputs), (outputs, inputs), (outputs,), (n, outputs)
            self.command = f"linear {n} {inputs} {outputs}"
            self.fields = {"n": n, "in": inputs, "out": outputs}
        self.x, self.w, self.b, self.dy = (
            torch.randn(size, generator=draw).to(device) for size in sizes
        )

    def call(self, x, w, b):
        if self.op == "conv2d":
            return functional.conv2d(x, w, b, padding=1)
        return functional.linear(x, w, b)

    def all(self, x, w, b, dy):
        """y, dx, dw, db."""
        x, w, b = (t.detach().requires_grad_() for t in (x, w, b))
        y = self.call(x, w, b)
        return [y.detach(), *torch.autograd.grad(y, (x, w, b), dy)]

    def check(self, ours):
        """Largest error of either side as a share of its bound; one above _OF_BOUND stops the run.

        The bound of a sum of n products is the one by which the labs judge (bounds.py).
        """
        wide = [t.double() for t in (self.x, self.w, self.b, self.dy)]
        right = self.all(*wide)
        size = self.all(*[t.abs() for t in wide])
        terms = self._terms()
        shares = {}
        theirs = self.all(self.x, self.w, self.b, self.dy)
        for side, results in (("ours", ours), ("PyTorch", theirs)):
            worst = 0.0
            for got, want, scale, n in zip(results, right, size, terms):
                bound = bounds.factor(n) * scale
                error = (got.to(want.device).double() - want).abs()
                if not bool((error <= _OF_BOUND[side] * bound).all()):
                    raise programs.ProgramError(
                        f"{self.command}: {side} is wrong; nothing was timed"
                    )
                worst = max(worst, float((error / bound.clamp_min(1e-300)).max()))
            shares[side] = worst
        return shares

    def _terms(self):
        """Products in an element of y, dx, dw, db; the bias is among the roundings granted."""
        if self.op == "conv2d":
            n, c, k, h = self.shape
            return 9 * c, 9 * k, n * h * h, n * h * h
        n, inputs, outputs = self.shape
        return inputs, outputs, n, n

    def flops(self, both):
        """Multiplications and additions of forward, or of forward and both gradients."""
        macs = self.dy.numel() * (self.w.numel() // self.b.numel())
        return 2 * macs * (3 if both else 1)


class Rival:
    """PyTorch with one layout and number of threads, eager or as a CUDA graph."""

    def __init__(self, case, layout, threads):
        self.case, self.layout, self.threads, self.graphs = case, layout, threads, {}
        memory = torch.channels_last if layout == "channels_last" else torch.contiguous_format
        self.x, self.w, self.dy = (
            t.contiguous(memory_format=memory) if t.dim() == 4 else t
            for t in (case.x, case.w, case.dy)
        )
        self.b = case.b

    def run(self, both):
        if both:
            self.case.all(self.x, self.w, self.b, self.dy)
        else:
            with torch.no_grad():
                self.case.call(self.x, self.w, self.b)

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


def best_rival(case, both):
    """The quickest layout and number of threads: by the median of some runs each."""
    counts = bench_step.thread_counts(lines.cores()) if case.device.type == "cpu" else [1]
    layouts = ("nchw", "channels_last") if case.op == "conv2d" else ("nchw",)
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
    for op, shape in [("conv2d", DEFAULT), *(("linear", s) for s in LINEARS)]:
        if op in wanted:
            yield op, shape, [Timing("long", both, m, long // inner[m], inner[m])
                              for both in (False, True) for m in modes]  # fmt: skip


def main(arguments):
    options = lines.parse_options(arguments)
    device = lines.take_choice(options, "DEVICE", "auto", ("auto", "cpu", "cuda"))
    device = lines.pick_device(device)
    wanted = options.pop("OPS", "conv2d,linear").split(",")
    repeat = lines.take_number(options, "REPEAT", 50, ROUNDS * 2, 10**6)
    long = lines.take_number(options, "LONG", 5000, 100, 10**7)
    seed = lines.take_number(options, "SEED", 1, 0)
    out = options.pop("OUT", RESULTS)
    ours_options = {n: options.pop(n) for n in ("THREADS", "RUNGS") if n in options}
    lines.refuse_rest(options)
    if set(wanted) - {"conv2d", "linear"}:
        raise lines.UsageError(f"OPS={','.join(wanted)}: some of conv2d, linear")
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
