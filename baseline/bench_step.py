#!/usr/bin/env python3
"""Times one epoch of our trainer against the twin, alternating in one run.

  baseline/bench_step.py NET=a [BATCH=64 LIMIT=n ...] [REPEAT=5] [THREADS=n]

The twin first tries each of its configurations (1, 2, 4, ... threads, NCHW and channels_last) and
goes on with the quickest; THREADS binds our side only. Then ours, twin, ours, twin: never both.
What is compared is train_s, the training part of an epoch: process start, data loading and
evaluation are outside of it on both sides. The first pair is a warm-up and dropped. Ratios below 1:
ours is quicker.

On the cpu memory is compared too, without the data set: parameters, optimiser, batch, activations,
gradients and scratch at their peak, as the two allocators count them. (What the libraries below
them take for themselves, oneDNN and OpenBLAS, neither counts.)
"""

import itertools
import os
import statistics
import sys
import tempfile

import torch

import data
import lines
import plans
import programs
import records
import twin

PROGRAM = "baseline/bench_step.py"
RESULTS = os.path.join(programs.RESULTS, "bench_step.jsonl")
_TRIAL_STEPS, _TRIALS = 40, 3
_BUSY = 0.1  # share of the processor from which other programs are likely to disturb the timing


def thread_counts(most):
    """1, 2, 4, … up to and including `most`."""
    counts = [1]
    while counts[-1] * 2 < most:
        counts.append(counts[-1] * 2)
    return counts + ([most] if most > 1 else [])


def best_twin(plan, device):
    """The twin in its quickest configuration: (twin, threads, {configuration: seconds per step}).

    Every configuration trains the same few steps a number of times; its best time counts. Dropout
    masks are drawn by PyTorch itself, for unpacking planned ones is not what its users wait for.
    """
    options = plan.options
    splits = data.load(options["dataset"], options["data_root"], options["limit"])
    trials, best = {}, (float("inf"), None, 0)
    for layout in twin.LAYOUTS:
        candidate = twin.Twin(plan, device, torch.float32, layout, own_draws=True, splits=splits)
        epoch = candidate.epoch_plan(0).first(_TRIAL_STEPS)
        for threads in thread_counts(lines.cores()) if device.type == "cpu" else [lines.cores()]:
            torch.set_num_threads(threads)
            candidate.train_epoch(0, epoch)  # warm-up
            seconds = min(candidate.train_epoch(0, epoch)[2] for _ in range(_TRIALS)) / epoch.steps
            trials[f"{layout}, {threads} threads"] = seconds
            best = min(best, (seconds, candidate, threads), key=lambda trial: trial[0])
    torch.set_num_threads(best[2])
    return best[1], best[2], trials


def time_ours(options, folder):
    """train_s of one epoch of our trainer, and its run line."""
    out = os.path.join(folder, "out")
    programs.train("float", options | {"EPOCHS": 1, "OUT": out})
    run, epochs, _ = programs.train_lines(out)
    if len(epochs) != 1:
        raise programs.ProgramError(f"train wrote {len(epochs)} epoch lines, not one")
    return epochs[0]["train_s"], run


def time_twin(model, epoch):
    """train_s of the same epoch, from the same initial weights."""
    model.reset()
    return model.train_epoch(0, epoch)[2]


def peak_of_ours(options, folder, net, batch):
    """Bytes of our allocator at its peak, without the data set: here two batches each to train on
    and to test."""
    out = os.path.join(folder, "memory")
    programs.train("float", options | {"EPOCHS": 1, "OUT": out, "LIMIT": 2 * batch})
    _, epochs, _ = programs.train_lines(out)
    return epochs[-1]["peak_bytes"] - 2 * 2 * batch * (784 if net == "m" else 3072)


def peak_of_twin(model, epoch):
    """Bytes of PyTorch's allocator at its peak in some steps, beside its data set: what stays
    (parameters, state of the optimiser), and the most that a step adds to it."""
    model.train_epoch(0, epoch.first(2))  # now the optimiser has its state
    model.optimizer.zero_grad(set_to_none=True)
    state = [t for s in model.optimizer.state.values() for t in s.values() if torch.is_tensor(t)]
    stays = sum(t.nbytes for t in [*model.net.parameters(), *state])
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True) as recorded:
        for step in model.steps(0, epoch.first(2)):
            model.gradients(step)
            model.update(step)
    changes = [e for e in recorded.profiler.kineto_results.events() if e.name() == "[memory]"]
    held = itertools.accumulate(e.nbytes() for e in sorted(changes, key=lambda e: e.start_ns()))
    return stays + max(held)


def summary(samples):
    """Median, quartiles and the samples themselves (inclusive method: within what was measured)."""
    low, median, high = statistics.quantiles(samples, n=4, method="inclusive")
    return {"median": median, "quartiles": [low, high], "samples": samples}


def checked(arguments):
    """The trainer's options, the number of pairs and the device."""
    options = lines.parse_options(arguments)
    repeat = lines.take_number(options, "REPEAT", 5, 2, 1000)
    options.setdefault("DEVICE", "cpu")
    device = lines.pick_device(lines.take_choice(dict(options), "DEVICE", "cpu", ("cpu", "cuda")))
    for name in ("EPOCHS", "STEPS", "STEP_LOG", "PLAN", "PLAN_ONLY", "OUT", "RESUME", "CKPT_EVERY"):
        if name in options:
            raise lines.UsageError(f"{name} has no place here: one epoch is timed; see LIMIT")
    return options, repeat, device


def compare(options, plan, device, repeat, folder):
    """The fields of a result: times of both sides in turns, and their peaks of memory."""
    net, batch = plan.options["net"], plan.options["batch"]
    model, threads, trials = best_twin(plan, device)
    for name, seconds in trials.items():
        print(f"twin, {name}: {1e3 * seconds:.2f} ms a step")
    print(f"twin runs with {model.layout}, {threads} threads; {repeat} pairs", flush=True)
    epoch = model.epoch_plan(0)
    ours, theirs = [], []
    for _ in range(repeat + 1):
        seconds, run = time_ours(options, folder)
        ours.append(seconds)
        theirs.append(time_twin(model, epoch))
    ours, theirs = ours[1:], theirs[1:]
    fields = {"ours": summary(ours), "twin": summary(theirs)}
    fields["ratio"] = summary([a / b for a, b in zip(ours, theirs)])
    if device.type == "cpu":  # (a GPU's is bench_gpu.py's affair)
        fields["ours_peak_bytes"] = peak_of_ours(options, folder, net, batch)
        fields["twin_peak_bytes"] = peak_of_twin(model, epoch)
    return fields | {
        "images": int(epoch.order.size), "steps": epoch.steps, "twin_layout": model.layout,
        "twin_threads": threads, "twin_trials": trials, "ours_run": run,
    }  # fmt: skip


def show(net, batch, fields):
    for name, unit in (("ours", " s"), ("twin", " s"), ("ratio", "")):
        f = fields[name]
        low, high = f["quartiles"]
        text = f"{name:6} median {f['median']:.3f}{unit}  quartiles {low:.3f} .. {high:.3f}  "
        text += f"all {min(f['samples']):.3f} .. {max(f['samples']):.3f}"
        if unit:
            text += f"  {1e6 * f['median'] / fields['steps']:.0f} us a step"
            text += f"  {fields['images'] / f['median']:.0f} images/s"
            if f"{name}_peak_bytes" in fields:
                text += f"  peak {fields[f'{name}_peak_bytes'] / 2**20:.1f} MiB"
        print(text)
    print(f"net {net}, batch {batch}: ours / twin = {fields['ratio_of_medians']:.3f}")


def main(arguments):
    options, repeat, device = checked(arguments)
    lines.use_quickest_fp32()
    busy = lines.busy_share()
    if (busy or 0) > _BUSY:
        print(f"note: other programs take {100 * busy:.0f} % of the processor; "
              "times will be unsteady")  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="gradlab-bench-") as folder:
        programs.train("float", options | {"EPOCHS": 1, "PLAN": folder, "PLAN_ONLY": 1})
        plan = plans.Plan(folder)
        fields = compare(options, plan, device, repeat, folder)
    fields["ratio_of_medians"] = fields["ours"]["median"] / fields["twin"]["median"]
    o = plan.options
    show(o["net"], o["batch"], fields)
    common = lines.origin(PROGRAM) | {
        "dataset": o["dataset"], "device": device.type, "threads": fields["ours_run"]["threads"],
        "seed": o["seed"],
    }  # fmt: skip
    lines.LineWriter(RESULTS, common).write(
        kind="bench_step", net=o["net"], batch=o["batch"], limit=o["limit"], unit="s", busy=busy,
        **fields,
    )  # fmt: skip


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (
        lines.UsageError, plans.PlanError, records.RecordError, data.DataError,
        programs.ProgramError,
    ) as error:  # fmt: skip
        sys.exit(f"{PROGRAM}: {error}")
