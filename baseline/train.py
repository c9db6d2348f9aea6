#!/usr/bin/env python3
"""Trains the PyTorch twin by a plan of our trainer: same net, weights, batches, draws and masks.

  baseline/train.py PLAN=dir [OUT=dir] [THREADS=n] [DEVICE=auto|cpu|cuda]
                    [LAYOUT=nchw|channels_last|auto] [DTYPE=float|double] [MASKS=plan|own]
                    [STEPS=n] [STEP_LOG=1]

Options of the trainer may be repeated (NET=a, EPOCHS=3, …); they must agree with the plan.
"""

import os
import sys
import time

import torch

import data
import lines
import plans
import records
import twin

PROGRAM = "baseline/train.py"
DTYPES = {"float": torch.float32, "double": torch.float64}
_LAYOUT_STEPS = 30  # of each layout, for LAYOUT=auto


def check_repeated(options, plan):
    """Removes options that only repeat what the plan says; one that says otherwise is an error."""
    for name in [name for name in options if name.lower() in plan.options]:
        given, planned = options.pop(name), plan.options[name.lower()]
        if isinstance(planned, str):
            agrees = given == planned or (name == "DATASET" and given == "auto")
        else:
            try:
                agrees = float(given) == planned
            except ValueError:
                agrees = False
        if not agrees:
            raise lines.UsageError(f"{name}={given}, but the plan was written with {planned}")


def make_twin(plan, device, dtype, layout, own_draws):
    """The twin in the given layout, or for "auto" in the one that is quicker in a few steps."""
    if layout != "auto":
        return twin.Twin(plan, device, dtype, layout, own_draws)
    options = plan.options
    splits = data.load(options["dataset"], options["data_root"], options["limit"])
    epoch, best = None, (float("inf"), None)
    for layout in twin.LAYOUTS:
        candidate = twin.Twin(plan, device, dtype, layout, own_draws, splits)
        epoch = (epoch or candidate.epoch_plan(0)).first(_LAYOUT_STEPS)
        candidate.train_epoch(0, epoch)  # warm-up
        candidate.reset()
        seconds = candidate.train_epoch(0, epoch)[2]
        best = min(best, (seconds, candidate), key=lambda pair: pair[0])
    best[1].reset()
    return best[1]


def warm_up(model):
    """What a GPU does once, as cuDNN's search for the quickest algorithm of each shape, is no part
    of an epoch: whole batch, last batch and test images go through the net, and all starts anew."""
    epoch = model.epoch_plan(0)
    for part in (epoch.first(3), epoch.last()):
        model.train_epoch(0, part)
    model.evaluate()
    model.reset()


def describe(plan, model, threads):
    """The first line on the terminal: what is trained, on what."""
    options, device = plan.options, model.device.type
    where = f"{device}, {threads} threads" if device == "cpu" else torch.cuda.get_device_name()
    print(
        f"net {options['net']} on {options['dataset']} ({model.train_set.count} + "
        f"{model.test_set.count} images), PyTorch {torch.__version__} on {where}, "
        f"{model.layout}, {options['opt']} {options['lr']:g}, batch {options['batch']}",
        flush=True,
    )


def train(plan, model, log, step_log, steps):
    """Trains all epochs, or the first `steps` steps; a line per whole epoch, as our trainer's."""
    epochs, per_epoch = plan.options["epochs"], plan.options["steps_per_epoch"]
    for number in range(epochs):
        left = steps - number * per_epoch if steps else per_epoch
        if left <= 0:
            return
        epoch = model.epoch_plan(number).first(left)
        if epoch.steps < min(left, per_epoch):
            raise plans.PlanError(
                f"{plan.folder}: epoch {number} is planned for {epoch.steps} steps only; give STEPS"
            )
        train_loss, train_acc, train_s, losses = model.train_epoch(number, epoch)
        if step_log:
            for i, loss in enumerate(losses.tolist()):
                log.write(kind="step", step=number * per_epoch + i, loss=loss)
        if epoch.steps < per_epoch:
            return  # a part of an epoch has no mean that could be compared
        test_loss, test_acc, eval_s = model.evaluate()
        images_per_s = model.train_set.count / train_s
        print(
            f"epoch {number + 1:2}/{epochs}  "
            f"train loss {train_loss:.4f} acc {100 * train_acc:5.2f} %  "
            f"test loss {test_loss:.4f} acc {100 * test_acc:5.2f} %  "
            f"{train_s:.2f} s + {eval_s:.2f} s  {images_per_s:.0f} images/s",
            flush=True,
        )
        log.write(
            kind="epoch", epoch=number + 1, train_loss=train_loss, train_acc=train_acc,
            test_loss=test_loss, test_acc=test_acc, train_s=train_s, eval_s=eval_s,
            images_per_s=images_per_s,
        )  # fmt: skip


def main(arguments):
    options = lines.parse_options(arguments)
    folder = options.pop("PLAN", None)
    if folder is None:
        raise lines.UsageError("PLAN=dir is needed; `make baseline NET=a` writes a plan and trains")
    plan = plans.Plan(folder)
    threads = lines.take_number(options, "THREADS", 0, 0) or lines.cores()
    device = lines.take_choice(options, "DEVICE", "auto", ("auto", "cpu", "cuda"))
    device = lines.pick_device(device)
    layout = lines.take_choice(options, "LAYOUT", "nchw", (*twin.LAYOUTS, "auto"))
    real = lines.take_choice(options, "DTYPE", "float", tuple(DTYPES))
    own_draws = lines.take_choice(options, "MASKS", "plan", ("plan", "own")) == "own"
    step_log = lines.take_choice(options, "STEP_LOG", "0", ("0", "1")) == "1"
    steps = lines.take_number(options, "STEPS", 0, 0)
    out = options.pop("OUT", None)
    check_repeated(options, plan)
    lines.refuse_rest(options)

    torch.set_num_threads(threads)
    lines.use_quickest_fp32()
    net, seed, dataset = (plan.options[name] for name in ("net", "seed", "dataset"))
    products = plan.options.get("precision", "fp32")
    other = "" if products == "fp32" else f"-{products}"
    name = f"baseline-{net}-{device.type}{other}-seed{seed}"
    out = out or os.path.join("results", "local", name)
    common = lines.origin(PROGRAM) | {
        "dataset": dataset, "device": device.type, "threads": threads, "real": real, "net": net,
        "seed": seed,
    }  # fmt: skip
    log = lines.LineWriter(os.path.join(out, "train.jsonl"), common, truncate=True)
    start = time.perf_counter()
    model = make_twin(plan, device, DTYPES[real], layout, own_draws)
    if device.type == "cuda":
        warm_up(model)
    log.write(
        kind="run", layout=model.layout, masks="own" if own_draws else "plan",
        load_s=time.perf_counter() - start, options=plan.options,
    )  # fmt: skip
    describe(plan, model, threads)
    train(plan, model, log, step_log, steps)
    print(f"results  {os.path.join(out, 'train.jsonl')}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (lines.UsageError, plans.PlanError, records.RecordError, data.DataError) as error:
        sys.exit(f"{PROGRAM}: {error}")
