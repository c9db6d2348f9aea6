#!/usr/bin/env python3
"""A student's kernels inside PyTorch, three ways: PyTorch's own operators, ours called from Python,
ours as a C++ extension (bridge/). Times operators, trains net m on MNIST, counts a step's calls.

  baseline/bench_bridge.py [DEVICE=auto|cpu|cuda] [PARTS=operators,profile,net] [LONG=5000]
                           [REPEAT=50] [EPOCHS=5] [THREADS=n] [SEED=1] [LIMIT=n] [OUT=file.jsonl]

Operators: a linear layer and a convolution over LONG runs, forward alone, and forward and
backward; and the convolutions of bench_ops.py, REPEAT runs each. The ways take turns in one run,
each with the number of threads that is best for it, PyTorch in its best layout; results are held
against a computation in double first. Ratios are to PyTorch's own; below 1: ours is quicker.
Net: EPOCHS epochs of MNIST each way, from equal weights in equal order of batches.
"""

import dataclasses
import statistics
import sys
import time
from pathlib import Path

import torch

import bench_ops
import bench_step
import data
import lines
import nets
import programs

PROGRAM = "baseline/bench_bridge.py"
RESULTS = programs.RESULTS + "/bridge.jsonl"
PARTS = ("operators", "profile", "net")
OWN = "pytorch"  # PyTorch's own operators, the way that the others are compared with
BATCH, LR = 64, 1e-3  # net m's, with Adam
PROFILED = 50  # steps


def bridge():
    """gradlab's package, as it would be installed; it says itself what is missing."""
    try:
        import gradlab
    except ImportError as error:
        raise programs.ProgramError(f"{error}; run: make bridge") from None
    return gradlab


def ways():
    return [OWN, *bridge().WAYS]


def modules(way):
    """torch.nn, or the same names with our operators under them."""
    if way == OWN:
        return torch.nn
    gradlab = bridge()
    gradlab.use(way)
    import gradlab.nn

    return gradlab.nn


# ---- operators -----------------------------------------------------------------------------------


def ours(operation, way):
    """The operation of bench_ops.py by one of our ways."""
    bridge()
    from gradlab import functional

    calls = {"conv2d": lambda x, w, b: functional.conv2d(x, w, b, padding=1),
             "linear": functional.linear}  # fmt: skip
    call = calls[operation]

    def run(*tensors):
        bridge().use(way)
        return call(*tensors)

    return dataclasses.replace(bench_ops.OPERATIONS[operation], call=run)


def contenders(case, both):
    """{way: bench_ops.Rival}, each in its quickest configuration."""
    found = {OWN: bench_ops.best_rival(case, both)}
    for way in bridge().WAYS:
        mine = bench_ops.Case(case.op, case.shape, case.device, 0)
        mine.inputs, mine.operation = case.inputs, ours(case.op, way)
        shares = case.check({k: v.cpu() for k, v in mine.all(mine.inputs).items()})
        found[way] = bench_ops.best_rival(mine, both, ("nchw",))
        found[way].error = shares["ours"]
    return found


def compare(case, both, count, inner):
    """Of each way a summary of its times, and of its ratios to PyTorch's own, turn by turn."""
    sides = contenders(case, both)
    samples, ratios = {way: [] for way in sides}, {way: [] for way in sides}
    for _ in range(bench_ops.ROUNDS):
        medians = {}
        for way, side in sides.items():
            time.sleep(bench_ops._REST)
            side.times(both, "eager", bench_ops.WARMUP, 1)
            found = side.times(both, "eager", count // bench_ops.ROUNDS, inner)
            samples[way] += found
            medians[way] = statistics.median(found)
        for way in sides:
            ratios[way].append(medians[way] / medians[OWN])
    threads = {way: side.threads for way, side in sides.items()}
    times = {way: bench_step.summary(s) for way, s in samples.items()}
    shares = {way: side.error for way, side in sides.items() if way != OWN}
    return {
        "times": times, "ratios": {way: bench_step.summary(r) for way, r in ratios.items()},
        "way_threads": threads, "twin_layout": sides[OWN].layout, "error_of_bound": shares,
    }  # fmt: skip


def operators(writer, device, repeat, long, seed):
    """One line for each shape and pass."""
    cases = [("conv2d", shape, series, True, repeat, 1)
             for series, shapes in bench_ops.CONVS.items() for shape in shapes]  # fmt: skip
    inner = long // 50
    for op, operation in bench_ops.OPERATIONS.items():
        cases += [(op, operation.long, "long", both, 50, inner) for both in (False, True)]
    for op, shape, series, both, count, inner in cases:
        case = bench_ops.Case(op, shape, device, seed)
        found = compare(case, both, count, inner)
        way = "fwd+bwd" if both else "fwd"
        writer.write(kind="bridge_op", op=op, series=series, **{"pass": way}, **case.fields,
                     unit="s", repeats=count * inner, inner=inner, **found)  # fmt: skip
        what = " ".join(f"{k} {v}" for k, v in case.fields.items())
        figures = "  ".join(f"{w} {1e6 * t['median']:8.1f} us" for w, t in found["times"].items())
        ratios = "  ".join(f"{w} {r['median']:.3f}" for w, r in found["ratios"].items() if w != OWN)
        print(f"{op:6} {what:22} {way:7}  {figures}  ratio {ratios}", flush=True)


# ---- net m ---------------------------------------------------------------------------------------


class Run:
    """Net m by one way, with its optimiser; weights and order of batches follow from the seed."""

    def __init__(self, way, device, seed):
        self.way, self.device = way, device
        net = programs.nets()["m"]
        torch.manual_seed(seed)
        self.net = nets.build(net["layers"], net["input"], modules(way)).to(device)
        self.order = torch.Generator().manual_seed(seed)
        self.loss = modules(way).CrossEntropyLoss()
        self.optimizer = self._optimizer()

    def _optimizer(self):
        if self.way == OWN:
            return torch.optim.Adam(self.net.parameters(), lr=LR, fused=True)
        from gradlab import optim

        return optim.Adam(self.net.parameters(), lr=LR)

    def step(self, x, label):
        self.optimizer.zero_grad(set_to_none=True)
        self.loss(self.net(x), label).backward()
        self.optimizer.step()

    def epoch(self, loader):
        """Seconds of one epoch over all images, the partial last batch included."""
        modules(self.way)  # from here on operators run this way
        self.net.train()
        order = torch.randperm(loader.count, generator=self.order).to(self.device)
        wait(self.device)
        begin = time.perf_counter()
        for first in range(0, loader.count, BATCH):
            self.step(*loader.batch(order[first : first + BATCH]))
        wait(self.device)
        return time.perf_counter() - begin

    @torch.no_grad()
    def accuracy(self, loader):
        modules(self.way)  # from here on operators run this way
        self.net.eval()
        hits = sum((self.net(x).argmax(1) == label).sum() for x, label in loader.whole(1000))
        return float(hits) / loader.count


def wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


def mnist(device, limit):
    """Training and test set on the device, standardised."""
    root = data.default_root()
    splits = data.load("mnist", root, limit)
    lut = data.table(*data.statistics(splits[0].images), torch.float32).to(device)
    return [data.Loader(split, lut, "nchw") for split in splits]


def train_nets(writer, device, epochs, seed, sets):
    """The ways one after another, an epoch each in turn: what disturbs one disturbs all."""
    runs = [Run(way, device, seed) for way in ways()]
    for run in runs:  # what the first steps load and tune is no part of an epoch's time
        warm = Run(run.way, device, seed)
        for first in (0, BATCH):
            warm.step(*sets[0].batch(torch.arange(first, first + BATCH, device=device)))
    total = {run.way: 0.0 for run in runs}
    for epoch in range(1, epochs + 1):
        for run in runs:
            seconds = run.epoch(sets[0])
            total[run.way] += seconds
            accuracy = run.accuracy(sets[1])
            writer.write(kind="bridge_epoch", net="m", way=run.way, epoch=epoch, epochs=epochs,
                         batch=BATCH, lr=LR, images=sets[0].count, train_s=seconds,
                         total_s=total[run.way], test_acc=accuracy)  # fmt: skip
            print(f"net m  {run.way:8} epoch {epoch}/{epochs}  test acc {100 * accuracy:.2f} %  "
                  f"{seconds:.2f} s", flush=True)  # fmt: skip


def profile(writer, device, seed, sets):
    """Calls and time of each operation in a step of net m, as PyTorch's profiler counts them."""
    activity = torch.profiler.ProfilerActivity
    activities = [activity.CPU] + ([activity.CUDA] if device.type == "cuda" else [])
    for way in ways():
        run = Run(way, device, seed)
        batches = [sets[0].batch(torch.arange(BATCH, device=device) + i % 8 * BATCH)
                   for i in range(PROFILED + 10)]  # fmt: skip
        for batch in batches[PROFILED:]:
            run.step(*batch)
        wait(device)
        with torch.profiler.profile(activities=activities) as recorded:
            for batch in batches[:PROFILED]:
                run.step(*batch)
            wait(device)
        rows = []
        for event in recorded.key_averages():
            # (a GPU's kernels come again under their own names)
            if event.device_type != torch.autograd.DeviceType.CPU:
                continue
            spent = event.self_cpu_time_total
            if device.type == "cuda":
                spent = event.self_device_time_total
            rows.append((event.key, event.count, spent * 1e-6))
        for op, calls, seconds in sorted(rows, key=lambda row: -row[2]):
            writer.write(kind="bridge_profile", net="m", way=way, op=op, calls=calls,
                         seconds=seconds, steps=PROFILED, batch=BATCH)  # fmt: skip
        print(f"net m  {way:8} {sum(row[1] for row in rows) / PROFILED:.0f} calls a step, "
              f"{len(rows)} kinds", flush=True)  # fmt: skip


def origin_of_ours():
    """Of the C sources that libtl.so is built from: a program of the same says it. `bridge`: the
    digits over the files of the package."""
    program = bench_ops.Ours({"DEVICE": "cpu"})
    origin = program.origin
    program.close()
    folder = Path(lines.ROOT, "bridge/gradlab")
    files = sorted(p for kind in ("py", "cpp", "h") for p in folder.rglob(f"*.{kind}")
                   if "tl" not in p.relative_to(folder).parts)  # fmt: skip
    content = b"".join(str(p.relative_to(folder)).encode() + b"\0" + p.read_bytes() for p in files)
    return origin | {"bridge": lines.sources.digits(content)}


def main(arguments):
    options = lines.parse_options(arguments)
    device = lines.take_choice(options, "DEVICE", "auto", ("auto", "cpu", "cuda"))
    device = lines.pick_device(device)
    wanted = options.pop("PARTS", ",".join(PARTS)).split(",")
    repeat = lines.take_number(options, "REPEAT", 50, bench_ops.ROUNDS * 2, 10**6)
    long = lines.take_number(options, "LONG", 5000, 100, 10**7)
    epochs = lines.take_number(options, "EPOCHS", 5, 1, 1000)
    threads = lines.take_number(options, "THREADS", 0, 0) or lines.cores()
    limit = lines.take_number(options, "LIMIT", 0, 0)
    seed = lines.take_number(options, "SEED", 1, 0)
    out = options.pop("OUT", RESULTS)
    lines.refuse_rest(options)
    if set(wanted) - set(PARTS):
        raise lines.UsageError(f"PARTS={','.join(wanted)}: some of {', '.join(PARTS)}")
    lines.use_quickest_fp32()
    sets = mnist(device, limit) if {"net", "profile"} & set(wanted) else None
    typed = [word for word in arguments if not word.startswith("OUT=")]  # a folder of this machine
    common = lines.origin(PROGRAM) | {
        "dataset": "mnist" if sets else "random", "device": device.type, "threads": threads,
        "seed": seed, "busy": lines.busy_share(), "ours_run": origin_of_ours(),
        "command": " ".join(["make bridge-bench", *typed]),
    }  # fmt: skip
    if device.type == "cuda":
        common["gpu"] = torch.cuda.get_device_name()
    writer = lines.LineWriter(out, common)
    if "operators" in wanted:
        operators(writer, device, repeat, long, seed)
    torch.set_num_threads(threads)
    if "profile" in wanted:
        profile(writer, device, seed, sets)
    if "net" in wanted:
        train_nets(writer, device, epochs, seed, sets)
    print(f"results  {out}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (lines.UsageError, programs.ProgramError, data.DataError) as error:
        sys.exit(f"{PROGRAM}: {error}")
