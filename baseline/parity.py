#!/usr/bin/env python3
"""Compares our trainer with PyTorch, step by step from equal weights, batches, draws and masks.

  baseline/parity.py [NETS=a,b,c,m | NET=a] [STEPS=100] [RUNGS=none|all|…] [any option of train]

Each net is judged twice. In double both sides run freely; all losses must agree to 1e-11. In float
two right programs drift apart by rounding alone, so before every step the twin sends its weights to
our replay program and compares that one step: loss to 2e-6, each gradient to 1e-4 in relative L2 (a
ReLU or max pool that rounding alone decided otherwise is taken out and counted, see kinks.py).
PRECISION=tf32, bf16, fp16 or tf32x3 is judged in float alone, with wider bounds (tl/precision.h).
With DEVICE=cuda the twin runs on the GPU too, where this PyTorch sees one. Exit 0: all agree; 1: a
disagreement; 2: something could not be judged.
"""

import math
import os
import sys
import tempfile
from dataclasses import dataclass, field

import numpy as np
import torch

import data
import kinks
import lines
import plans
import programs
import records
import twin

PROGRAM = "baseline/parity.py"
RESULTS = os.path.join(lines.ROOT, "results", "local", "parity.jsonl")
LOSS_DOUBLE = 1e-11
# Of one step in float: the loss, and each gradient in relative L2. Another order of a sum moves a
# value that is then rounded to few bits by one of these, and decides ReLUs otherwise. (Of nets a, b
# and m in 20 steps: losses up to 3e-5, gradients up to 1.4e-2. Where only one side rounds, the loss
# is off by 2e-4, by 1e-4 in fp16.) Each layer has the turned roundings of the one before among its
# terms, and more of its own: behind five of them the last bits of two right programs have nothing
# in common (PyTorch's two layouts differ from each other by 8e-4 in net c's loss, bf16), and a step
# of net c is judged by that. It still tells a wrong layer, not a wrong rounding: the suites judge
# those, layer by layer.
LOSS_FLOAT = {"fp32": 2e-6, "tf32x3": 1e-5, "tf32": 1e-4, "bf16": 1e-4, "fp16": 6e-5}
GRADIENT_FLOAT = {"fp32": 1e-4, "tf32x3": 1e-3, "tf32": 4e-2, "bf16": 4e-2, "fp16": 4e-2}
LOSS_DEEP = LOSS_FLOAT | {"tf32": 1e-3, "bf16": 5e-3, "fp16": 1e-3}
GRADIENT_DEEP = GRADIENT_FLOAT | {"tf32": 0.25, "bf16": 0.5, "fp16": 0.25}
DEEP = 5  # convolutions and linear layers


@dataclass
class Worst:
    """The largest error seen, where it was, and where the bound was first broken."""

    bound: float
    error: float = -1.0
    where: str = ""
    first_bad: str = ""

    def see(self, error, where):
        """Takes note of one error; False if it is above the bound (or NaN)."""
        good = error <= self.bound
        if not good and not self.first_bad:
            self.first_bad = where
        # NaN must stay the worst once it has been seen, and no number beats it
        if not math.isnan(self.error) and not error <= self.error:
            self.error, self.where = error, where
        return good

    def __str__(self):
        return f"{self.error:.1e} ({self.where})"


@dataclass
class Verdict:
    """What was found out about one net in one precision."""

    net: str
    precision: str
    loss: Worst
    gradient: Worst | None
    kinks: int = 0  # units that rounding decided otherwise, taken out of the gradients
    kink_steps: int = 0
    turned: list = field(default_factory=list)  # these units
    causes: list = field(default_factory=list)
    origin: dict = field(default_factory=dict)  # dataset, seed, batch, and our run line

    @property
    def agrees(self):
        return not self.loss.first_bad and not (self.gradient and self.gradient.first_bad)


def relative(ours, theirs):
    """|ours - theirs| / |theirs|; 0 if both are 0, infinite if only theirs is."""
    difference = abs(ours - theirs)
    if theirs == 0:
        return 0.0 if difference == 0 else math.inf
    return difference / abs(theirs)


def relative_l2(ours, theirs):
    """The same for arrays, by their L2 norms, in double."""
    ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
    distance, norm = np.linalg.norm(ours - theirs), np.linalg.norm(theirs)
    if norm == 0:
        return 0.0 if distance == 0 else math.inf
    return float(distance / norm)


def loss_causes(step, options):
    """Where to look when the losses of a free run part at `step`."""
    if step == 0:
        return [
            "the first loss comes before any update: look at the forward pass, the batch (order, "
            "crop, flip, standardisation, mask), or at how initial weights are read"
        ]
    causes = [
        f"the losses agree up to step {step - 1}: look at a gradient or at the optimiser's update "
        "(if the gradients below agree, it is the update)"
    ]
    per_epoch = options["steps_per_epoch"]
    if step % per_epoch == 0:
        causes.append("the step opens an epoch: order, draws and learning rate change there")
    if step % per_epoch in (0, per_epoch - 1):
        causes.append("the partial last batch of an epoch is involved: mean over its own size?")
    return causes


def gradient_causes(wrong, names, ours, theirs):
    """What the wrong gradients of one step have in common; `wrong` are their indices."""
    causes = []
    for i in wrong:
        a, b = ours[i].astype(np.float64).ravel(), theirs[i].astype(np.float64).ravel()
        factor = float(a @ b / (b @ b)) if b.any() else math.nan
        if not a.any():
            causes.append(f"{names[i]}: ours is all zeros, the gradient never arrives")
        elif relative_l2(a, factor * b) < 1e-3:
            causes.append(f"{names[i]}: the right direction, but {factor:.6g} times as long")
        elif a.size > 1 and np.ptp(a) <= 1e-6 * abs(a).max():
            causes.append(f"{names[i]}: ours is one number for all elements")
    # backward runs from the last layer to the first: what is wrong there spoils all before it
    if wrong[-1] < len(names) - 1:
        last = names[wrong[-1]]
        causes.append(f"all later parameters agree: look at {last} or at the layer right after it")
    elif len(wrong) == len(names):
        causes.append("every gradient is wrong: look at the loss, its mean, and the last layer")
    return causes


def planned(mode, options, steps, folder):
    """The plan of a run of `steps` steps, written by build/<mode>/train without training."""
    plan_folder = os.path.join(folder, f"plan-{mode}")
    out = os.path.join(folder, f"plan-{mode}-out")
    given = options | {"STEPS": steps, "PLAN": plan_folder, "PLAN_ONLY": 1, "OUT": out}
    programs.train(mode, given)
    return plans.Plan(plan_folder)


def twin_device(options):
    """Ours, where this PyTorch has it: else two right answers are compared across devices."""
    cuda = options["DEVICE"] == "cuda" and torch.cuda.is_available()
    return torch.device("cuda" if cuda else "cpu")


def origin_of(plan, run, options):
    names = ("dataset", "seed", "batch", "limit", "aug", "opt")
    origin = {name: plan.options[name] for name in names} | {"ours_run": run}
    return origin | {"device": options["DEVICE"], "twin_device": twin_device(options).type}


def judge_double(net, options, steps, folder):
    """Both run freely in double; the losses of all steps are compared."""
    plan_folder, out = os.path.join(folder, "plan-double"), os.path.join(folder, "out-double")
    programs.train(
        "double", options | {"STEPS": steps, "STEP_LOG": 1, "PLAN": plan_folder, "OUT": out}
    )
    run, _, ours = programs.train_lines(out)
    plan = plans.Plan(plan_folder)
    if sorted(ours) != list(range(steps)):
        raise programs.ProgramError(f"build/double/train logged {len(ours)} steps, not {steps}")

    model = twin.Twin(plan, twin_device(options), torch.float64)
    origin = origin_of(plan, run, options)
    verdict = Verdict(net, "double", Worst(LOSS_DOUBLE), None, origin=origin)
    for step in model.first_steps(steps):
        loss, _ = model.gradients(step)
        model.update(step)
        error = relative(ours[step.number], loss.item())
        if not verdict.loss.see(error, f"step {step.number}") and not verdict.causes:
            verdict.causes = loss_causes(step.number, plan.options)
    return verdict


def bounds_of(products, layers):
    """For the loss and for each gradient of a net with so many layers of products."""
    deep = layers > DEEP
    loss, gradient = (LOSS_DEEP, GRADIENT_DEEP) if deep else (LOSS_FLOAT, GRADIENT_FLOAT)
    return Worst(loss[products]), Worst(gradient[products])


def judge_float(net, options, steps, folder):
    """The twin trains in float; each step is repeated by our replay from the twin's weights."""
    plan = planned("float", options, steps, folder)
    model = twin.Twin(plan, twin_device(options), torch.float32)
    names = [name for name, _ in model.parameters]
    origin = origin_of(plan, {}, options)
    products = model.precision
    bounds = bounds_of(products, sum(array.ndim > 1 for _, array in model.parameters))
    name = "float" if products == "fp32" else products
    verdict = Verdict(net, name, *bounds, origin=origin)
    shapes = [tuple(parameter.shape) for _, parameter in model.parameters]
    replay = programs.Replay("float", options | {"STEPS": steps}, shapes)
    try:
        for step in model.first_steps(steps):
            weights = [parameter.numpy(force=True) for _, parameter in model.parameters]
            our_loss, ours = replay.step(weights)
            loss, _ = model.gradients(step)
            theirs = [parameter.grad.numpy(force=True) for _, parameter in model.parameters]
            bound = verdict.gradient.bound
            # (elsewhere ties are many, and the bounds have room for them)
            kinked = products in ("fp32", "tf32x3")
            if kinked and not all(relative_l2(a, b) <= bound for a, b in zip(ours, theirs)):
                ours = without_kinks(verdict, model, step, ours, theirs)
            compare_step(verdict, step.number, names, (our_loss, ours), (loss.item(), theirs))
            model.update(step)
        replay.close()
    finally:
        replay.stop()
    return verdict


def without_kinks(verdict, model, step, ours, theirs):
    """Our gradients as they would be, had rounding decided no ReLU or max pool otherwise."""
    if not all(np.isfinite(array).all() for array in ours):
        return ours
    model.set_masks(step)
    decisions = kinks.Decisions(model.net, step.x, step.label)
    rest, units = kinks.explain(decisions, ours, theirs)
    verdict.kinks += len(units)
    verdict.kink_steps += len(units) > 0
    verdict.turned += [turned_unit(decisions, step, unit) for unit in units]
    return [b + difference for b, difference in zip(theirs, rest)]


def turned_unit(decisions, step, unit):
    """What the record says of a unit: where it lies, and its gap as the twin and double see it."""
    return {
        "step": step.number, "image": unit.image, "module": unit.layer,
        "kept": unit.places[0], "turned_to": unit.places[1],
        "gap": unit.gap, "gap_in_double": decisions.exact_gap(unit),
    }  # fmt: skip


def compare_step(verdict, number, names, ours, theirs):
    """Adds one step's loss and gradients to the verdict; keeps the causes of the first bad step."""
    wrong = []
    good = verdict.loss.see(relative(ours[0], theirs[0]), f"step {number}")
    for i, name in enumerate(names):
        error = relative_l2(ours[1][i], theirs[1][i])
        if not verdict.gradient.see(error, f"{name}, step {number}"):
            wrong.append(i)
    if verdict.causes:
        return
    if not good:
        verdict.causes.append(
            "weights were equal before this step: look at the forward pass or at the batch"
        )
    if wrong:
        verdict.causes.append(f"wrong at step {number}: {', '.join(names[i] for i in wrong)}")
        verdict.causes += gradient_causes(wrong, names, ours[1], theirs[1])


def report(verdict):
    """One row of the table, and below it what a disagreement looks like."""
    gradient = f"  gradient {verdict.gradient!s:42}" if verdict.gradient else " " * 53
    word = "agrees" if verdict.agrees else "DISAGREES"
    print(f"{verdict.net}    {verdict.precision:6}  loss {verdict.loss!s:20}{gradient}  {word}")
    if verdict.kinks:
        steps = verdict.kink_steps
        print(f"       rounding decided {verdict.kinks} units otherwise, in {steps} steps")
    for worst, what in ((verdict.loss, "loss"), (verdict.gradient, "gradient")):
        if worst and worst.first_bad:
            print(f"       {what}: first above {worst.bound:g} at {worst.first_bad}")
    for cause in verdict.causes:
        print(f"       {cause}")
    sys.stdout.flush()


def record(verdict, steps, rungs, threads):
    origin = verdict.origin
    common = lines.origin(PROGRAM) | {
        "dataset": origin["dataset"], "device": origin["device"], "threads": threads,
        "seed": origin["seed"],
    }  # fmt: skip
    if origin["twin_device"] == "cuda":
        common["gpu"] = torch.cuda.get_device_name()
    names = ("batch", "limit", "aug", "opt", "twin_device", "ours_run")
    fields = {name: origin[name] for name in names}
    if verdict.gradient:
        fields |= {
            "gradient_error": verdict.gradient.error, "gradient_where": verdict.gradient.where,
            "gradient_bound": verdict.gradient.bound, "kinks": verdict.kinks,
            "kink_steps": verdict.kink_steps, "turned": verdict.turned,
        }  # fmt: skip
    lines.LineWriter(RESULTS, common).write(
        kind="parity", net=verdict.net, precision=verdict.precision, steps=steps, rungs=rungs,
        loss_error=verdict.loss.error, loss_where=verdict.loss.where,
        loss_bound=verdict.loss.bound, agrees=verdict.agrees, causes=verdict.causes, **fields,
    )  # fmt: skip


def read_nets(options):
    """NETS=a,b or NET=a as a list; all nets if neither is given."""
    given = [options.pop(name) for name in ("NETS", "NET") if name in options]
    if len(given) == 2:
        raise lines.UsageError("NET and NETS are both given; one is enough")
    known = programs.nets()
    chosen = given[0].split(",") if given else list(known)
    for net in chosen:
        if net not in known:
            raise lines.UsageError(f"NETS={','.join(chosen)}: the nets are {', '.join(known)}")
    return chosen


def main(arguments):
    """Judges all nets; returns the exit code."""
    options = lines.parse_options(arguments)
    chosen = read_nets(options)
    steps = lines.take_number(options, "STEPS", 100, 1, 100000)
    for name in ("OUT", "PLAN", "PLAN_ONLY", "STEP_LOG", "RESUME", "CKPT_EVERY"):
        if name in options:
            raise lines.UsageError(f"{name} has no place here: parity chooses its own files")
    threads = lines.take_number(dict(options), "THREADS", 0, 0) or lines.cores()
    torch.set_num_threads(threads)
    lines.use_fp32_only()
    # a disagreement must be there again when looked for
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    options.setdefault("DEVICE", "cpu")
    rounded = options.get("PRECISION", "fp32") != "fp32"

    code = 0
    where = f"PyTorch {torch.__version__} on {twin_device(options).type}"
    print(f"{steps} steps; largest relative differences of ours on {options['DEVICE']} and {where}")
    for net in chosen:
        judges = (judge_float,) if rounded else (judge_double, judge_float)
        for judge in judges:
            with tempfile.TemporaryDirectory(prefix="gradlab-parity-") as folder:
                try:
                    verdict = judge(net, {"NET": net} | options, steps, folder)
                except programs.ProgramError as error:
                    print(f"{net}    NOT JUDGED: {error}", flush=True)
                    code = 2
                    break
            report(verdict)
            record(verdict, steps, options.get("RUNGS", "all"), threads)
            if not verdict.agrees:
                code = max(code, 1)
    return code


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (lines.UsageError, plans.PlanError, records.RecordError, data.DataError) as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        sys.exit(2)
