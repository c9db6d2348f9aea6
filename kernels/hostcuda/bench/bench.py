#!/usr/bin/env python3
"""Prints what hostcuda costs, and with --out writes it as JSON lines.

  bench.py --kernels build/…/bench [--train build/float/train] [--out results/MACHINE]

The kernels run with one worker (to compare with plain C on one core) and with one per core. The
trainer, if given, trains net a on its plain path for one epoch over 1,000 images and evaluates
1,000, in turns with HOSTCUDA_CHECKS=0: that is the price of the ordinary checks. Other programs on
the machine spoil all of it; the load is printed and written.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPEATS = 5
ORIGIN = ("commit", "dirty", "sources", "machine", "dataset")
# what the numbers are meant to stay under, by measurement and workers
GOALS = {("thread_barrier", 1): ("median", 30), ("naive_gemm_512", 1): ("ratio", 1.3),
         ("tiled_gemm_512", 2): ("median", 0.3), ("block_of_1024", 1): ("median", 80),
         ("net_a_epoch_1000", 2): ("median", 15), ("net_a_evaluation_1000", 2): ("median", 3),
         ("ordinary_checks", 2): ("ratio", 1.2)}


def environment(**options: str) -> dict:
    env = {k: v for k, v in os.environ.items() if not k.startswith("HOSTCUDA_")}
    return env | options


def kernels(program: str, workers: int) -> list:
    output = subprocess.run([program], env=environment(HOSTCUDA_WORKERS=str(workers)), check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) | {"workers": workers} for line in output.splitlines()]


def train_once(program: str, checks: str) -> tuple:
    """(seconds of training, seconds of evaluation, the epoch's line)"""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "DEVICE=hostcuda", "NET=a", "RUNGS=none", "EPOCHS=1", "LIMIT=1000",
                   f"OUT={folder}/run"]
        subprocess.run(command, env=environment(HOSTCUDA_CHECKS=checks), check=True,
                       stdout=subprocess.DEVNULL)
        lines = (Path(folder) / "run/train.jsonl").read_text().splitlines()
    epoch = [line for line in map(json.loads, lines) if line["kind"] == "epoch"][-1]
    return epoch["train_s"], epoch["eval_s"], epoch


def spread(what: str, unit: str, samples: list, **more) -> dict:
    return {"what": what, "unit": unit, "median": statistics.median(samples),
            "least": min(samples), "largest": max(samples), "samples": len(samples)} | more


def training(program: str, workers: int) -> tuple:
    """Measurements, and the origin that the trainer writes into its lines."""
    checked, unchecked, evaluation = [], [], []
    for _ in range(REPEATS):
        train_s, eval_s, epoch = train_once(program, "1")
        checked.append(train_s)
        evaluation.append(eval_s)
        unchecked.append(train_once(program, "0")[0])
    ratio = statistics.median(checked) / statistics.median(unchecked)
    return [spread("net_a_epoch_1000", "s", checked, workers=workers),
            spread("net_a_evaluation_1000", "s", evaluation, workers=workers),
            spread("ordinary_checks", "s", checked, workers=workers,
                   unchecked=statistics.median(unchecked), ratio=ratio)], epoch


def table(rows: list) -> None:
    print(f"{'what':24}{'workers':>8}{'median':>10} {'unit':5}{'least':>10}{'largest':>10}"
          f"{'plain C':>10}{'ratio':>8}  goal")
    for row in rows:
        plain = row.get("plain_c", row.get("unchecked"))
        goal = GOALS.get((row["what"], row["workers"]))
        verdict = ""
        if goal:
            verdict = f"{goal[0]} < {goal[1]}: {'yes' if row[goal[0]] < goal[1] else 'NO'}"
        print(f"{row['what']:24}{row['workers']:8}{row['median']:10.4g} {row['unit']:5}"
              f"{row['least']:10.4g}{row['largest']:10.4g}"
              f"{f'{plain:10.4g}' if plain else '':>10}"
              f"{format(row['ratio'], '8.3f') if 'ratio' in row else '':>8}  {verdict}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", required=True)
    parser.add_argument("--train")
    parser.add_argument("--out")
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"other programs are running (load {load:.1f}): these times are not to be quoted")
    rows, origin = [], {}
    for workers in sorted({1, cores}):
        rows += kernels(options.kernels, workers)
    if options.train:
        measured, epoch = training(options.train, cores)
        rows += measured
        origin = {key: epoch[key] for key in ORIGIN}
    table(rows)
    if options.out:
        common = origin | {"program": "hostcuda-bench", "device": "hostcuda", "threads": cores,
                           "seed": 1, "load": load,
                           "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        path = Path(options.out) / "hostcuda.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a") as out:
            out.writelines(json.dumps(common | row) + "\n" for row in rows)
        print(f"written to {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
