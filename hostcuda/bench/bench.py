#!/usr/bin/env python3
"""Prints what hostcuda costs; with --out writes it as JSON lines, with --page as a page's table.

  bench.py --kernels build/…/bench [--checked build/…-check/bench] [--train build/float/train]
           [--out results/MACHINE] [--page README.md]

The kernels run with one worker (to compare with plain C on one core) and with one per core, those
of the CHECK=1 build with its one. The trainer, if given, trains net a on its plain path for one
epoch over 1,000 images and evaluates 1,000, in turns with HOSTCUDA_CHECKS=0: that is the price of
the ordinary checks. Other programs on the machine spoil all of it; the load is printed and written.
The table stands between `<!-- bench: begin -->` and `<!-- bench: end -->`.
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
CHECKED_REPEATS = "2"
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
ORIGIN = ("commit", "dirty", "sources", "machine", "dataset")
# what the numbers are meant to stay under, by measurement and workers
GOALS = {("thread_barrier", 1): ("median", 15), ("naive_gemm_512", 1): ("ratio", 1.1),
         ("tiled_gemm_512", 2): ("median", 0.2), ("block_of_1024", 1): ("median", 80),
         ("net_a_epoch_1000", 2): ("median", 15), ("net_a_evaluation_1000", 2): ("median", 3),
         ("ordinary_checks", 2): ("ratio", 1.2), ("check_thread_barrier", 1): ("ratio", 25),
         ("check_naive_gemm_512", 1): ("ratio", 25), ("check_tiled_gemm_512", 1): ("ratio", 25)}
# the same work done otherwise, in the order of the table's last columns but one
RIVALS = ("plain_c", "unchecked", "ordinary")


def environment(**options: str) -> dict:
    env = {k: v for k, v in os.environ.items() if not k.startswith("HOSTCUDA_")}
    return env | options


def kernels(program: str, workers: int, *arguments: str) -> list:
    output = subprocess.run([program, *arguments], check=True, stdout=subprocess.PIPE, text=True,
                            env=environment(HOSTCUDA_WORKERS=str(workers))).stdout
    return [json.loads(line) | {"workers": workers} for line in output.splitlines()]


def checked(program: str, ordinary: list) -> list:
    """The kernels of a CHECK=1 build beside those of the ordinary one, both on one worker."""
    usual = {row["what"]: row["median"] for row in ordinary if row["workers"] == 1}
    rows = []
    for row in kernels(program, 1, CHECKED_REPEATS):
        if row["unit"] == "MB" or row["what"] == "launch":
            continue
        row = {key: row[key] for key in row if key not in ("plain_c", "ratio")}
        rows.append(row | {"what": "check_" + row["what"], "ordinary": usual[row["what"]],
                           "ratio": row["median"] / usual[row["what"]]})
    return rows


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
    usual, unchecked, evaluation = [], [], []
    for _ in range(REPEATS):
        train_s, eval_s, epoch = train_once(program, "1")
        usual.append(train_s)
        evaluation.append(eval_s)
        unchecked.append(train_once(program, "0")[0])
    ratio = statistics.median(usual) / statistics.median(unchecked)
    return [spread("net_a_epoch_1000", "s", usual, workers=workers),
            spread("net_a_evaluation_1000", "s", evaluation, workers=workers),
            spread("ordinary_checks", "s", usual, workers=workers,
                   unchecked=statistics.median(unchecked), ratio=ratio)], epoch


def cells(row: dict) -> list:
    """what, workers, median with its unit, spread, the rival's median, ratio, goal"""
    rival = next((row[name] for name in RIVALS if name in row), None)
    goal = GOALS.get((row["what"], row["workers"]))
    verdict = ""
    if goal:
        verdict = f"{goal[0]} < {goal[1]}: {'yes' if row[goal[0]] < goal[1] else 'NO'}"
    return [row["what"], str(row["workers"]), f"{row['median']:.3g} {row['unit']}",
            f"{row['least']:.3g} to {row['largest']:.3g}", f"{rival:.3g}" if rival else "",
            f"{row['ratio']:.2f}" if "ratio" in row else "", verdict]


HEAD = ["what", "workers", "median", "least to largest", "beside", "ratio", "goal"]


def table(rows: list) -> None:
    for line in [HEAD] + [cells(row) for row in rows]:
        print("".join(f"{cell:{width}}" for cell, width in zip(line, (24, 9, 12, 22, 9, 8, 0))))


def fill(page: str, rows: list, common: dict) -> None:
    """Replaces what stands between the markers of the page."""
    text = Path(page).read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        sys.exit(f"bench.py: {page}: needs one `{BEGIN}` and, after it, one `{END}`")
    lines = [f"{common.get('machine', 'this machine')}, {common['threads']} cores, "
             f"load {common['load']:.1f} at the start, {common['time'][:10]}.", "",
             f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|"]
    lines += [f"| {' | '.join(cells(row))} |" for row in rows]
    new = text[:text.index(BEGIN) + len(BEGIN)] + "\n" + "\n".join(lines) + "\n"
    part = Path(f"{page}.part")
    part.write_text(new + text[text.index(END):], encoding="utf-8")
    os.replace(part, page)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", required=True)
    parser.add_argument("--checked")
    parser.add_argument("--train")
    parser.add_argument("--out")
    parser.add_argument("--page")
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"other programs are running (load {load:.1f}): these times are not to be quoted")
    rows, origin = [], {}
    for workers in sorted({1, cores}):
        rows += kernels(options.kernels, workers)
    if options.checked:
        rows += checked(options.checked, rows)
    if options.train:
        measured, epoch = training(options.train, cores)
        rows += measured
        origin = {key: epoch[key] for key in ORIGIN}
    table(rows)
    common = origin | {"program": "hostcuda-bench", "device": "hostcuda", "threads": cores,
                       "seed": 1, "load": load,
                       "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    if options.out:
        path = Path(options.out) / "hostcuda.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a") as out:
            out.writelines(json.dumps(common | row) + "\n" for row in rows)
        print(f"written to {path}")
    if options.page:
        fill(options.page, rows, common)
        print(f"written to {options.page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
