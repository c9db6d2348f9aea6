#!/usr/bin/env python3
"""Times one epoch of our trainer against the twin, alternating in one run.

  baseline/bench_step.py NET=a [BATCH=64 LIMIT=n …] [REPEAT=5] [THREADS=n]

The twin first tries each of its configurations (1, 2, 4, … threads, NCHW and channels_last) and
goes on with the quickest; THREADS binds our side only. Then ours, twin, ours, twin, …: never both.
What is compared is train_s, the training part of an epoch: process start, data loading and
evaluation are outside of it on both sides. The first pair is a warm-up and dropped. Ratios below 1:
ours is quicker.
"""

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
RESULTS = os.path.join(lines.ROOT, "results", "local", "bench_step.jsonl")
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
        raise programs.ProgramError(f"build/float/train wrote {len(epochs)} epoch lines, not one")
    return epochs[0]["train_s"], run


def time_twin(model, epoch):
    """train_s of the same epoch, from the same initial weights."""
    model.reset()
    return model.train_epoch(0, epoch)[2]


def summary(samples):
    """Median, quartiles and the samples themselves (inclusive method: within what was measured)."""
    low, median, high = statistics.quantiles(samples, n=4, method="inclusive")
    return {"median": median, "quartiles": [low, high], "samples": samples}


def show(name, figures, unit):
    low, high = figures["quartiles"]
    samples = figures["samples"]
    print(
        f"{name:6} median {figures['median']:.3f}{unit}  quartiles {low:.3f} .. {high:.3f}  "
        f"all {min(samples):.3f} .. {max(samples):.3f}"
    )


def main(arguments):
    options = lines.parse_options(arguments)
    repeat = lines.take_number(options, "REPEAT", 5, 2, 1000)
    options.setdefault("DEVICE", "cpu")
    device = lines.pick_device(lines.take_choice(dict(options), "DEVICE", "cpu", ("cpu", "cuda")))
    for name in ("EPOCHS", "STEPS", "STEP_LOG", "PLAN", "PLAN_ONLY", "OUT", "RESUME", "CKPT_EVERY"):
        if name in options:
            raise lines.UsageError(f"{name} has no place here: one epoch is timed; see LIMIT")
    lines.use_fp32_only()
    busy = lines.busy_share()
    if (busy or 0) > _BUSY:
        print(f"note: other programs take {100 * busy:.0f} % of the processor; times will be unsteady")

    with tempfile.TemporaryDirectory(prefix="gradlab-bench-") as folder:
        programs.train("float", options | {"EPOCHS": 1, "PLAN": folder, "PLAN_ONLY": 1})
        plan = plans.Plan(folder)
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
    figures = {"ours": summary(ours), "twin": summary(theirs)}
    figures["ratio"] = summary([a / b for a, b in zip(ours, theirs)])
    show("ours", figures["ours"], " s")
    show("twin", figures["twin"], " s")
    show("ratio", figures["ratio"], "")
    of_medians = figures["ours"]["median"] / figures["twin"]["median"]
    net, batch = plan.options["net"], plan.options["batch"]
    print(f"net {net}, batch {batch}: ours / twin = {of_medians:.3f}")

    common = lines.origin(PROGRAM) | {
        "dataset": plan.options["dataset"], "device": device.type, "threads": run.get("threads"),
        "seed": plan.options["seed"],
    }  # fmt: skip
    lines.LineWriter(RESULTS, common).write(
        kind="bench_step", net=net, batch=batch,
        limit=plan.options["limit"], images=int(epoch.order.size), unit="s",
        ratio_of_medians=of_medians, **figures, twin_layout=model.layout, twin_threads=threads,
        twin_trials=trials, busy=busy, ours_run=run,
    )  # fmt: skip


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (
        lines.UsageError, plans.PlanError, records.RecordError, data.DataError,
        programs.ProgramError,
    ) as error:  # fmt: skip
        sys.exit(f"{PROGRAM}: {error}")
