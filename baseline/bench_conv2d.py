#!/usr/bin/env python3
"""Convolutions of net c by tensor cores beside cuDNN's, pass by pass, as Nsight Compute times them.

  baseline/bench_conv2d.py [PRECISION=bf16] [BATCH=256] [OUT=file.jsonl]

Ours are the kernels of whole nets (kernels/net), in a net whose first convolutions nothing follows
(programs/main_bench_conv2d.c): what they read and write lies channel by channel in the precision.
cuDNN's are those of PyTorch's convolution alone, without a bias, on channels_last tensors in the
precision, after its search (cudnn.benchmark). What that finds is not the same each time, so it
searches in several processes, and of each pass the quickest counts. dw is complete on both sides:
ours in float with the shares added. Times are sums of the kernels of a pass, medians of five; both
sides' caches are as the kernels before have left them. Beside them, and not judged: what our passes
take in net c, where bias, ReLU, pool and their gradients are done in the same kernels.
Exit 1: a mean of three passes is below 0.8, or a pass below 0.6.
"""

import csv
import io
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from functools import partial

import torch

import lines
import programs

PROGRAM = "baseline/bench_conv2d.py"
REPEATS = 5
SEARCHES = 3
# channels, pixels each way, and the layer's place in net c: among forward products, and behind the
# last one; in a net of the layer alone
LAYERS = {"64 to 64 at 32x32": (64, 32, 1, 6), "256 to 256 at 8x8": (256, 8, 5, 2)}
ALONE = (1, 2)
PASSES = ("forward", "dx", "dw")
_TYPES = {"tf32": torch.float32, "bf16": torch.bfloat16}
_MEAN, _PASS = 0.8, 0.6
_NCU = ["ncu", "--cache-control", "none", "--clock-control", "none", "--print-units", "base",
        "--metrics", "gpu__time_duration.sum", "--csv", "--log-file"]  # fmt: skip
_PRODUCT = re.compile(r"sum_(?:pixels|patches|still)<.*to_pixels<[^,]*, (?:\(bool\))?(\d)")


def durations(*command):
    """(kernel, microseconds) of all that the command launches and ncu is let see."""
    with tempfile.TemporaryDirectory(prefix="gradlab-bench-") as folder:
        log = f"{folder}/ncu.csv"
        done = subprocess.run([*_NCU, log, *command], capture_output=True, text=True)
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip()[-300:]
            words = " ".join(command)
            raise programs.ProgramError(f"ncu {words}: exit {done.returncode}: {said}")
        with open(log, encoding="utf-8") as file:
            return read_durations(file.read())


def read_durations(log):
    """ncu's table behind what it says before."""
    start = log.find('"ID"')
    if start < 0:
        raise programs.ProgramError(f"ncu has printed no table: {log.strip()[-300:]}")
    rows = list(csv.DictReader(io.StringIO(log[start:])))
    scale = {"ns": 1e-3, "nsecond": 1e-3, "us": 1.0, "usecond": 1.0}
    return [(row["Kernel Name"], float(row["Metric Value"].replace(",", ""))
             * scale[row["Metric Unit"]]) for row in rows]  # fmt: skip


def steps_of(kernels):
    """The kernels of each step but the first, from where the weights are packed."""
    begins = [i for i, (name, _) in enumerate(kernels) if "pack_weights" in name]
    return [kernels[a:b] for a, b in zip(begins[1:], [*begins[2:], len(kernels)])]


def passes_of(step, places):
    """{layer: {pass: microseconds}} of a step's kernels, which follow each other as the plan has
    them: products forward; then, from the last layer to the first, dw with its shares, and dx.
    `places` of layers: as in LAYERS."""
    forward, back, weight = [], [], []
    for name, us in step:
        if found := _PRODUCT.search(name):
            (back if found[1] == "1" else forward).append(us)
        elif "add_sums" in name:
            continue  # of products that share tiles, none of which is asked about
        elif "sum_outputs" in name or "sum_squares" in name:
            weight.append(us)
        elif "add_shares" in name:
            weight[-1] += us
    try:
        return {name: {"forward": forward[at], "dx": back[behind], "dw": weight[behind]}
                for name, (at, behind) in places.items()}  # fmt: skip
    except IndexError:
        counts = f"{len(forward)} products forward, {len(back)} of dx and {len(weight)} of dw"
        raise programs.ProgramError(f"a step has {counts}: that is not the net by the tensor-core "
                                    "rungs of nets") from None  # fmt: skip


def over(found, choose):
    """Of several {layer: {pass: microseconds}} the median, or the least."""
    return {layer: {p: choose([one[layer][p] for one in found]) for p in PASSES}
            for layer in found[0]}  # fmt: skip


def medians(kernels, places):
    found = [passes_of(step, places) for step in steps_of(kernels)[-REPEATS:]]
    if not found:
        raise programs.ProgramError("no step was seen that begins with pack_weights")
    return over(found, statistics.median)


def ours(precision, batch):
    """Of each layer in a net of its own."""
    mine = {}
    for layer, (channels, pixels, _, _) in LAYERS.items():
        options = {"CHANNELS": channels, "PIXELS": pixels, "BATCH": batch, "STEPS": REPEATS + 2,
                   "PRECISION": precision, "DEVICE": "cuda"}  # fmt: skip
        words = [f"{name}={value}" for name, value in options.items()]
        kernels = durations(programs.path("float", "bench_conv2d"), *words)
        mine |= medians(kernels, {layer: ALONE})
    return mine


def in_net(precision, batch):
    """Of both layers in a step of net c, with what is done to their sums."""
    with tempfile.TemporaryDirectory(prefix="gradlab-bench-") as folder:
        options = {"NET": "c", "DEVICE": "cuda", "BATCH": batch, "PRECISION": precision, "GRAPH": 0,
                   "EPOCHS": 1, "STEPS": REPEATS + 2, "LIMIT": (REPEATS + 2) * batch,
                   "DATASET": "shapes10", "OUT": folder}  # fmt: skip
        kernels = durations(programs.path("float", "train"), *programs.arguments(options))
    return medians(kernels, {layer: places for layer, (_, _, *places) in LAYERS.items()})


def run_rival(precision, batch):
    """Under ncu: each pass REPEATS times, a copy of one byte before each of them as a mark."""
    lines.use_quickest_fp32()
    torch.backends.cudnn.allow_tf32 = precision == "tf32"
    mark = torch.zeros(1, dtype=torch.uint8, device="cuda")
    for channels, pixels, _, _ in LAYERS.values():
        def tensor(*shape):
            whole = torch.randn(*shape, device="cuda", dtype=_TYPES[precision])
            return whole.contiguous(memory_format=torch.channels_last)

        x, dy = (tensor(batch, channels, pixels, pixels) for _ in range(2))
        w = tensor(channels, channels, 3, 3)

        def backward(*wanted, dy=dy, x=x, w=w):
            ones = (1, 1)
            torch.ops.aten.convolution_backward(dy, x, w, None, ones, ones, ones, False, (0, 0), 1,
                                                wanted)  # fmt: skip

        def forward(x=x, w=w):
            torch.nn.functional.conv2d(x, w, padding=1)

        dx, dw = partial(backward, True, False, False), partial(backward, False, True, False)
        for call in (forward, dx, dw):
            for _ in range(3):
                call()
            torch.cuda.synchronize()
            torch.cuda.cudart().cudaProfilerStart()
            for _ in range(REPEATS):
                mark.bitwise_not_()
                call()
            torch.cuda.synchronize()
            torch.cuda.cudart().cudaProfilerStop()


def rival(precision, batch):
    words = [sys.executable, os.path.abspath(__file__), "RIVAL=1", f"PRECISION={precision}",
             f"BATCH={batch}"]  # fmt: skip
    found = [split_rival(durations("--profile-from-start", "off", *words)) for _ in range(SEARCHES)]
    return over(found, min), found


def split_rival(kernels):
    """What stands between two marks is one call."""
    calls = []
    for name, us in kernels:
        if "bitwise_not" in name:
            calls.append(0.0)
        elif not calls:
            raise programs.ProgramError(f"kernel {name} before the first mark")
        else:
            calls[-1] += us
    if len(calls) != REPEATS * len(PASSES) * len(LAYERS):
        raise programs.ProgramError(f"{len(calls)} calls of PyTorch's convolutions were seen")
    left = iter(calls)
    return {layer: {p: statistics.median(next(left) for _ in range(REPEATS)) for p in PASSES}
            for layer in LAYERS}  # fmt: skip


def compare(mine, theirs):
    """{layer: {pass and "mean": ratio}}, above 1 where ours is quicker; and whether all suffice."""
    ratios = {layer: {p: theirs[layer][p] / mine[layer][p] for p in PASSES} for layer in LAYERS}
    good = all(min(r.values()) >= _PASS for r in ratios.values())
    for r in ratios.values():
        r["mean"] = statistics.mean(r[p] for p in PASSES)
        good &= r["mean"] >= _MEAN
    return ratios, good


def main(arguments):
    options = lines.parse_options(arguments)
    precision = options.pop("PRECISION", "bf16")
    if precision not in _TYPES:
        raise lines.UsageError(f"PRECISION={precision}: tf32 or bf16")
    batch = lines.take_number(options, "BATCH", 256, 1, 4096)
    out = options.pop("OUT", os.path.join(lines.ROOT, "results", "local", "bench_conv2d.jsonl"))
    as_rival = options.pop("RIVAL", None)
    lines.refuse_rest(options)
    if not shutil.which("ncu"):
        raise lines.UsageError("there is no ncu here: it needs a GPU machine with CUDA's toolkit")
    lines.pick_device("cuda")
    if as_rival:
        run_rival(precision, batch)
        return 0
    mine, net = ours(precision, batch), in_net(precision, batch)
    theirs, searches = rival(precision, batch)
    ratios, good = compare(mine, theirs)
    for layer in LAYERS:
        print(f"{layer}, batch {batch}, {precision}: " + ", ".join(
            f"{p} {mine[layer][p]:.1f} us, cuDNN {theirs[layer][p]:.1f} ({ratios[layer][p]:.2f}x)"
            for p in PASSES) + f"; mean {ratios[layer]['mean']:.2f}x")  # fmt: skip
        print("    in net c, with what follows: " + ", ".join(
            f"{p} {net[layer][p]:.1f} us" for p in PASSES) + "; cuDNN's searches: " + ", ".join(
            "/".join(f"{one[layer][p]:.1f}" for one in searches) for p in PASSES))  # fmt: skip
    writer = lines.LineWriter(out, lines.origin(PROGRAM) | {
        "device": "cuda", "gpu": torch.cuda.get_device_name(),
        "command": " ".join([PROGRAM, *arguments])})  # fmt: skip
    for layer in LAYERS:
        writer.write(kind="bench_conv2d", layer=layer, batch=batch, precision=precision,
                     ours_us=mine[layer], cudnn_us=theirs[layer], ratio=ratios[layer],
                     in_net_us=net[layer], cudnn_searches_us=[one[layer] for one in searches]
                     )  # fmt: skip
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (lines.UsageError, programs.ProgramError) as error:
        sys.exit(f"{PROGRAM}: {error}")
