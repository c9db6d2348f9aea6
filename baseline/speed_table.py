#!/usr/bin/env python3
"""speed_table.py: fills README's table of training steps beside PyTorch's from committed results.

A cell says how many times as quick ours is as the quickest of PyTorch's ways in the same precision,
and in brackets ours to PyTorch's least memory of all ways. On the CPU PyTorch's memory is that of
its quickest way.
"""

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE, BEGIN, END = ROOT / "README.md", "<!-- speed: begin -->", "<!-- speed: end -->"
CPU, GPU = ROOT / "results/epyc-2c/bench_step.jsonl", ROOT / "results/h200/steps.jsonl"
PRECISIONS = ("fp32", "tf32", "bf16")
NOT_MEASURED = "–"


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def on_cpu(line):
    """(times as quick, share of memory), the latter against the quickest way."""
    return 1 / line["ratio_of_medians"], line["ours_peak_bytes"] / line["twin_peak_bytes"]


def on_gpu(line):
    """(times as quick, share of memory): the least is that of the ways in the same precision."""
    own = line["ours_run"]["precision"]
    least = min(size for way, size in line["rival_peak_bytes"].items()
                if line["precision"][way] == own)  # fmt: skip
    return line["ratio"], line["ours_peak_bytes"] / least


def cell(figures):
    return f"{figures[0]:.2f}x ({figures[1]:.2f})" if figures else NOT_MEASURED


def table():
    cpu = {(line["net"], line["batch"]): on_cpu(line) for line in read(CPU)}
    gpu = {(line["net"], line["batch"], line["ours_run"]["precision"]): on_gpu(line)
           for line in read(GPU)}  # fmt: skip
    rows = ["| net, batch | 2 CPU cores, float32 | H200, float32 | TF32 | bfloat16 |",
            "|---|---|---|---|---|"]  # fmt: skip
    for net, batch in sorted({*cpu, *(key[:2] for key in gpu)}):
        found = [cpu.get((net, batch)), *(gpu.get((net, batch, p)) for p in PRECISIONS)]
        rows.append(f"| {net}, {batch} | {' | '.join(map(cell, found))} |")
    return "\n".join(rows) + "\n"


def filled(page):
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text()))
