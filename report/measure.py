#!/usr/bin/env python3
"""Measures what the report lacks: ours and PyTorch's, on the processor and on a GPU if there is one.

  report/measure.py [FULL=1] [AGAIN=1] [DATASET=auto]

What has results already is left alone, also where the code has changed since: the report then refuses
it, and AGAIN=1 measures it again. FULL=1: all nets, three seeds, whole epochs, the ladder. Results go
to results/local/report/.
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

ROOT = Path(__file__).resolve().parent.parent
OUT = Path("results/local/report")
TRAIN, PREDICT = "build/float/train", "build/float/predict"


@dataclass
class Step:
    """Commands that lead to a result, and how to see that it is there."""

    name: str
    about: str  # how long it takes, roughly, on two cores
    there: object  # of a line: it is what this step makes
    commands: list


def run_line(net, device, seed, ours):
    return lambda line: (line["kind"] == "run" and line["net"] == net and line["device"] == device
                         and line["seed"] == seed and line.ours == ours)  # fmt: skip


def of_kind(kind, device, ours=None, **fields):
    return lambda line: (line["kind"] == kind and line.get("device") == device
                         and (ours is None or line.ours == ours)
                         and all(line.get(k) == v for k, v in fields.items()))  # fmt: skip


def training(net, device, seed, dataset, about):
    """Ours, then the twin by the plan that ours has written."""
    plan = f"build/plans/report-{net}-{device}-{seed}"
    common = [f"NET={net}", f"DEVICE={device}", f"SEED={seed}"]
    data = [] if net == "m" else [f"DATASET={dataset}"]
    out = OUT / f"train-{net}-{device}-seed{seed}"
    twin = OUT / f"baseline-{net}-{device}-seed{seed}"
    return [
        Step(f"training net {net}, seed {seed}, {device}", about, run_line(net, device, seed, True),
             [[TRAIN, *common, *data, f"OUT={out}"]]),
        Step("the PyTorch twin of it", about, run_line(net, device, seed, False),
             [[TRAIN, *common, *data, f"PLAN={plan}", "PLAN_ONLY=1"],
              [sys.executable, "baseline/train.py", f"PLAN={plan}", f"DEVICE={device}", "LAYOUT=auto",
               f"OUT={twin}"]]),
    ]  # fmt: skip


def steps_for(device, dataset, full):
    short = device == "cpu" and not full
    plan = f"build/plans/report-profile-{device}"
    seeds = (1, 2, 3) if full else (1,)
    nets = {"a": "2 min", "b": "4 min", "c": "1 h"} if full else {"a": "2 min"}
    if full and (ROOT / os.environ.get("GRADLAB_DATA", "data") / "mnist").is_dir():
        nets["m"] = "20 min"
    found = [
        step
        for net in nets
        for seed in seeds
        for step in training(net, device, seed, dataset, nets[net])
    ]
    options = ["NET=a", f"DEVICE={device}", f"DATASET={dataset}"]
    found += [
        Step(f"test images, {device}", "1 s", of_kind("predictions", device),
             [[PREDICT, *options, f"RESUME={OUT}/train-a-{device}-seed1/checkpoint", f"OUT={OUT}/predict-{device}"]]),
        Step(f"profile of our steps, {device}", "3 s", of_kind("profile", device, True),
             [[TRAIN, *options, "PROFILE=1", "STEPS=200", f"OUT={OUT}/profile-{device}"]]),
        Step(f"profile of PyTorch's steps, {device}", "10 s", of_kind("profile", device, False),
             [[TRAIN, *options, f"PLAN={plan}", "PLAN_ONLY=1", "EPOCHS=1"],
              [sys.executable, "baseline/profile_step.py", f"PLAN={plan}", f"DEVICE={device}",
               f"OUT={OUT}/profile-torch-{device}"]]),
        Step(f"operations, {device}", "1 min", of_kind("peak", device),
             [[sys.executable, "baseline/bench_ops.py", f"DEVICE={device}", f"OUT={OUT}/bench_ops.jsonl"]]),
    ]  # fmt: skip
    if full:
        found.append(Step(
            f"operations on the plain path, {device}", "1 min",
            of_kind("peak", device, rungs="none"),
            [[sys.executable, "baseline/bench_ops.py", f"DEVICE={device}", "RUNGS=none",
              f"OUT={OUT}/bench_ops.jsonl"]]))  # fmt: skip
    if device == "cuda":
        found.append(Step("steps, cuda", "3 min", of_kind("bench_gpu", "cuda"), [
            [sys.executable, "baseline/bench_gpu.py", f"OUT={OUT}/bench_gpu.jsonl"]]))  # fmt: skip
        return found
    for net in nets:
        for batch in (64, 512):
            limit = ["LIMIT=6400", "REPEAT=5"] if short else []
            found.append(Step(
                f"steps of net {net}, batch {batch}", "40 s" if short else "5 min",
                of_kind("bench_step", "cpu", net=net, batch=batch),
                [[sys.executable, "baseline/bench_step.py", f"NET={net}", f"BATCH={batch}", "DEVICE=cpu",
                  *([f"DATASET={dataset}"] if net != "m" else []), *limit]]))  # fmt: skip
    return found


def have_gpu():
    """A driver that answers, and the plug-in that was built for it."""
    if not shutil.which("nvidia-smi") or not (ROOT / "build/float/libtl_cuda.so").exists():
        return False
    return subprocess.run(["nvidia-smi", "-L"], capture_output=True).returncode == 0


def wanted(steps, again):
    """The steps whose results are not there (with `again`: not there or of other code)."""
    results = store.read(ROOT, ["results/local"])
    fresh = freshness.Freshness(ROOT)
    whole = [run.start for run in results.runs]
    lines = [line for line in results.lines if line["kind"] != "run"] + whole

    def lacking(step):
        own = [line for line in lines if step.there(line)]
        return not own or (again and fresh.fault(fresh.pick(own)))

    return [step for step in steps if lacking(step)]


def run(step, log):
    """Runs the commands of a step; its last words if one failed, else nothing."""
    for command in step.commands:
        log.write(f"== {' '.join(map(str, command))}\n")
        log.flush()
        env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
        done = subprocess.run(command, cwd=ROOT, env=env, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)  # fmt: skip
        log.write(done.stdout)
        if done.returncode != 0:
            return (done.stdout.strip().splitlines() or ["it said nothing"])[-1]
    return ""


def main(arguments):
    options = {"FULL": "", "AGAIN": "", "DATASET": "auto"}
    for word in arguments:
        name, _, value = word.partition("=")
        if name not in options:
            sys.exit(f"measure: '{word}': options are {', '.join(options)}, each as NAME=value")
        options[name] = value
    devices = ["cpu", "cuda"] if have_gpu() else ["cpu"]
    steps = [s for d in devices for s in steps_for(d, options["DATASET"], options["FULL"] == "1")]
    steps = wanted(steps, options["AGAIN"] == "1")
    failures = {}
    if steps:
        (ROOT / OUT).mkdir(parents=True, exist_ok=True)
        print(
            f"measure: {len(steps)} measurements are missing; use the machine for nothing else now"
        )
    for number, step in enumerate(steps, 1):
        print(f"[{number}/{len(steps)}] {step.name} (about {step.about})", end="", flush=True)
        begin = time.monotonic()
        with open(ROOT / OUT / "measure.log", "a", encoding="utf-8") as log:
            said = run(step, log)
        print(f": {said}" if said else f": {time.monotonic() - begin:.0f} s", flush=True)
        if said:
            failures[step.name] = said
    if steps:  # the report says of a part without results whether it is not written yet
        text = json.dumps(failures, indent=1, ensure_ascii=False) + "\n"
        (ROOT / OUT / "failures.json").write_text(text, encoding="utf-8")
    unwritten = [name for name, said in failures.items() if "not implemented" in said]
    if len(failures) > len(unwritten):
        sys.exit(
            f"measure: {len(failures)} of {len(steps)} failed ({OUT}/measure.log); the rest is measured"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
