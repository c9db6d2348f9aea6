#!/usr/bin/env python3
"""PyTorch's own profile of training steps, beside what `make train PROFILE=1` counts of ours.

  baseline/profile_step.py PLAN=dir [STEPS=50] [DEVICE=auto|cpu|cuda] [THREADS=n] [OUT=dir]

One line per operation: calls, and the time spent in it but in no operation that it called. Options
of the trainer may be repeated; they must agree with the plan.
"""

import os
import sys
import time

import torch

import data
import lines
import plans
import records
import train
import twin

PROGRAM = "baseline/profile_step.py"
_WARMUP = 10


def profile(model, steps, device):
    """[(operation, calls, seconds)] of `steps` steps, and the seconds without profiler."""
    activity = torch.profiler.ProfilerActivity
    activities = [activity.CPU] + ([activity.CUDA] if device.type == "cuda" else [])
    batches = list(model.first_steps(_WARMUP + 2 * steps))

    def run(some):
        for step in some:
            model.gradients(step)
            model.update(step)
        if device.type == "cuda":
            torch.cuda.synchronize()

    run(batches[:_WARMUP])
    begin = time.perf_counter()
    run(batches[_WARMUP : _WARMUP + steps])
    wall = time.perf_counter() - begin
    with torch.profiler.profile(activities=activities) as recorded:
        run(batches[_WARMUP + steps :])
    rows = []
    for event in recorded.key_averages():
        # a GPU's kernels come again under their own names; their time counts for who launched them
        if event.device_type != torch.autograd.DeviceType.CPU:
            continue
        spent = event.self_device_time_total if device.type == "cuda" else event.self_cpu_time_total
        if spent > 0:
            rows.append((event.key, event.count, spent * 1e-6))
    return sorted(rows, key=lambda row: -row[2]), wall


def main(arguments):
    options = lines.parse_options(arguments)
    folder = options.pop("PLAN", None)
    if folder is None:
        raise lines.UsageError("PLAN=dir is needed; `make baseline PROFILE=1` writes one")
    plan = plans.Plan(folder)
    threads = lines.take_number(options, "THREADS", 0, 0) or lines.cores()
    device = lines.take_choice(options, "DEVICE", "auto", ("auto", "cpu", "cuda"))
    device = lines.pick_device(device)
    steps = lines.take_number(options, "STEPS", 50, 1, 10**5)
    out = options.pop("OUT", None)
    options.pop("PROFILE", None)
    train.check_repeated(options, plan)
    lines.refuse_rest(options)
    torch.set_num_threads(threads)
    lines.use_quickest_fp32()
    o = plan.options
    model = twin.Twin(plan, device, torch.float32, "nchw", own_draws=True)
    rows, wall = profile(model, steps, device)
    out = out or os.path.join(
        "results", "local", f"baseline-{o['net']}-{device.type}-seed{o['seed']}"
    )
    common = lines.origin(PROGRAM) | {
        "dataset": o["dataset"], "device": device.type, "threads": threads, "net": o["net"],
        "seed": o["seed"],
    }  # fmt: skip
    if device.type == "cuda":
        common["gpu"] = torch.cuda.get_device_name()
    path = os.path.join(out, "profile.jsonl")
    writer = lines.LineWriter(path, common, truncate=True)
    for op, calls, seconds in rows:
        writer.write(kind="profile", op=op, within="", calls=calls, seconds=seconds, steps=steps,
                     batch=o["batch"], wall_s=wall)  # fmt: skip
    for op, calls, seconds in rows[:10]:
        print(f"{op:40} {calls / steps:6.1f} calls a step  {1e6 * seconds / steps:9.1f} us a step")
    print(f"profile  {path}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (lines.UsageError, plans.PlanError, records.RecordError, data.DataError) as error:
        sys.exit(f"{PROGRAM}: {error}")
