#!/usr/bin/env python3
"""Measures what the report lacks: ours and PyTorch's, on the processor and on a GPU, if any.

  report/measure.py [FULL=1] [AGAIN=1] [DATASET=auto] [DRAFT=1]

What has results already is left alone, also where the code has changed since: the report then
refuses it, and AGAIN=1 measures it again. FULL=1: all nets, three seeds, whole epochs, the ladder.
What fails is named and the rest measured; the exit status is 1 then, unless all that failed is not
written yet, or DRAFT=1: a draft says in the place of the results why there are none.
Results go to results/local/report/, with MINE=1 in the environment to results/mine/report/.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import freshness
import store
from whose import owner

ROOT = Path(__file__).resolve().parent.parent
UNWRITTEN = "not implemented"  # in the words of a program that met what is not written yet


@dataclass
class Step:
    """Commands that lead to a result, and how to see that it is there."""

    name: str
    about: str  # how long it takes, roughly, on two cores
    there: object  # of a line: it is what this step makes
    commands: list
    after: str = ""  # the step whose run it goes by: without that it is not tried


def our(program, *options):
    return [str(owner().built / program), *options, *owner().options]


def run_line(net, device, seed, ours):
    wanted = {"kind": "run", "net": net, "device": device, "seed": seed}
    return lambda line: line.ours == ours and all(line.get(k) == v for k, v in wanted.items())


def of_kind(kind, device, **fields):
    wanted = {"kind": kind, "device": device, **fields}
    return lambda line: all(line.get(k) == v for k, v in wanted.items())


def trained(net, seed, device):
    return f"training net {net}, seed {seed}, {device}"


def training(net, device, seed, dataset, about):
    """Ours, then the twin by the plan that ours has written."""
    plan = f"build/plans/report-{net}-{device}-{seed}"
    options = [f"NET={net}", f"DEVICE={device}", f"SEED={seed}"]
    options += [] if net == "m" else [f"DATASET={dataset}"]
    folder = owner().measured
    ours, twin = (folder / f"{who}-{net}-{device}-seed{seed}" for who in ("train", "baseline"))
    by_plan = [f"PLAN={plan}", f"DEVICE={device}", "LAYOUT=auto", f"OUT={twin}"]
    name = trained(net, seed, device)
    return [
        Step(name, about, run_line(net, device, seed, True),
             [our("train", *options, f"OUT={ours}")]),
        Step("the PyTorch twin of it", about, run_line(net, device, seed, False),
             [our("train", *options, f"PLAN={plan}", "PLAN_ONLY=1"),
              [sys.executable, "baseline/train.py", *by_plan]], name),
    ]  # fmt: skip


def profiles(device, options):
    """Operations of a step, ours and PyTorch's."""
    plan = f"build/plans/report-profile-{device}"
    folder = owner().measured
    mine, theirs = (folder / f"{who}-{device}" for who in ("profile", "profile-torch"))
    is_profile, name = of_kind("profile", device), f"profile of our steps, {device}"
    return [
        Step(name, "3 s", lambda l: l.ours and is_profile(l),
             [our("train", *options, "PROFILE=1", "STEPS=200", f"OUT={mine}")]),
        Step(f"PyTorch's, {device}", "10 s", lambda l: not l.ours and is_profile(l),
             [our("train", *options, f"PLAN={plan}", "PLAN_ONLY=1", "EPOCHS=1"),
              [sys.executable, "baseline/profile_step.py", f"PLAN={plan}", f"DEVICE={device}",
               f"OUT={theirs}"]], name),
    ]  # fmt: skip


def operations(device, rungs):
    command = [sys.executable, "baseline/bench_ops.py", f"DEVICE={device}"]
    # (make, whose command its lines name, lets nobody choose the rungs of a student's programs)
    command += [] if owner().mine else [f"RUNGS={rungs}"]
    command.append(f"OUT={owner().measured}/bench_ops.jsonl")
    there = of_kind("peak", device, rungs=rungs)
    return Step(f"operations, rungs {rungs}, {device}", "1 min", there, [command])


def cpu_steps(net, batch, dataset, full):
    """Whole epochs take minutes to an hour: without FULL=1, and of net c, a part is timed."""
    command = [sys.executable, "baseline/bench_step.py", f"NET={net}", f"BATCH={batch}"]
    command += ["DEVICE=cpu", *([] if net == "m" else [f"DATASET={dataset}"])]
    if net == "c":
        command += ["LIMIT=2560", "REPEAT=5"]
    elif not full:
        command += ["LIMIT=6400", "REPEAT=5"]
    there = of_kind("bench_step", "cpu", net=net, batch=batch)
    about = "10 min" if net == "c" else "5 min" if full else "40 s"
    name = f"steps of net {net}, batch {batch}"
    return Step(name, about, there, [command], trained(net, 1, "cpu"))


def steps_for(device, dataset, full):
    nets = {"a": "2 min", "b": "4 min", "c": "1 h"} if full else {"a": "2 min"}
    if full and (ROOT / os.environ.get("GRADLAB_DATA", "data") / "mnist").is_dir():
        nets["m"] = "20 min"
    found = []
    for net, about in nets.items():
        for seed in (1, 2, 3) if full else (1,):
            found += training(net, device, seed, dataset, about)
    options = ["NET=a", f"DEVICE={device}", f"DATASET={dataset}"]
    folder, first = owner().measured, trained("a", 1, device)
    resume = f"RESUME={folder}/train-a-{device}-seed1/checkpoint"
    predict = our("predict", *options, resume, f"OUT={folder}/predict-{device}")
    there = of_kind("predictions", device)
    found.append(Step(f"test images, {device}", "1 s", there, [predict], first))
    found += profiles(device, options)
    rungs = ("all", "none") if full and not owner().mine else (owner().rungs,)
    found += [operations(device, choice) for choice in rungs]
    if device == "cuda":
        command = [sys.executable, "baseline/bench_gpu.py", f"OUT={folder}/bench_gpu.jsonl"]
        command += [] if full else ["NETS=a", "RIVALS=eager,graph,compile"]
        there = of_kind("bench_gpu", "cuda")
        found.append(Step("steps, cuda", "3 min", there, [command], first))
        return found
    return found + [cpu_steps(n, batch, dataset, full) for n in nets for batch in (64, 512)]


def have_gpu():
    """A driver that answers, and the plug-in that was built for it."""
    if not shutil.which("nvidia-smi") or not (ROOT / owner().built / "libtl_cuda.so").exists():
        return False
    return subprocess.run(["nvidia-smi", "-L"], capture_output=True).returncode == 0


def wanted(steps, again):
    """The steps whose results are not there; with `again` also those of other code, or that go by
    a run of other code."""
    results = store.read(ROOT, [owner().results])
    fresh = freshness.Freshness(ROOT)
    whole = [run.start for run in results.runs]
    lines = [line for line in results.lines if line["kind"] != "run"] + whole

    def lacking(step):
        own = [line for line in lines if step.there(line)]
        return not own or (again and fresh.fault(fresh.pick(own)))

    found = []
    for step in steps:
        if lacking(step) or (again and step.after in [before.name for before in found]):
            found.append(step)
    return found


def run(step, log):
    """Runs the commands of a step; if one failed, its last words, else nothing.

    Where our program met what is not written yet, its words: who called it says more around them.
    """
    for command in step.commands:
        log.write(f"== {' '.join(map(str, command))}\n")
        log.flush()
        done = subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        log.write(done.stdout)
        if done.returncode != 0:
            rows = done.stdout.strip().splitlines() or ["it said nothing"]
            unwritten = [row for row in rows if UNWRITTEN in row]
            return unwritten[0].rpartition(": exit 1: ")[2] if unwritten else rows[-1]
    return ""


def main(arguments):
    options = {"FULL": "", "AGAIN": "", "DATASET": "auto", "DRAFT": ""}
    for word in arguments:
        name, _, value = word.partition("=")
        if name not in options:
            sys.exit(f"measure: '{word}': options are {', '.join(options)}, each as NAME=value")
        options[name] = value
    devices = ["cpu", "cuda"] if have_gpu() else ["cpu"]
    steps = [s for d in devices for s in steps_for(d, options["DATASET"], options["FULL"] == "1")]
    steps = wanted(steps, options["AGAIN"] == "1")
    failures, out = {}, ROOT / owner().measured
    if steps:
        out.mkdir(parents=True, exist_ok=True)
        print(f"measure: {len(steps)} measurements are missing; leave the machine alone meanwhile")
    for number, step in enumerate(steps, 1):
        print(f"[{number}/{len(steps)}] {step.name} (about {step.about})", end="", flush=True)
        begin = time.monotonic()
        with open(out / "measure.log", "a", encoding="utf-8") as log:
            said = failures.get(step.after) or run(step, log)
        print(f": {said}" if said else f": {time.monotonic() - begin:.0f} s", flush=True)
        if said:
            failures[step.name] = said
    if steps:  # the report says of a part without results whether it is not written yet
        text = json.dumps(failures, indent=1, ensure_ascii=False) + "\n"
        (out / "failures.json").write_text(text, encoding="utf-8")
    unwritten = [name for name, said in failures.items() if UNWRITTEN in said]
    if len(failures) > len(unwritten) and options["DRAFT"] != "1":
        failed = f"{len(failures)} of {len(steps)} failed ({owner().measured}/measure.log)"
        draft = owner().make("report DRAFT=1")
        sys.exit(f"measure: {failed}; the rest is measured, and '{draft}' shows it")


if __name__ == "__main__":
    main(sys.argv[1:])
