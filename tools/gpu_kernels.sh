#!/bin/bash
# gpu_kernels.sh NET BATCH [NAME=value...]: microseconds of each kernel of one step, by ncu.
set -uo pipefail
net=$1 batch=$2
shift 2
ncu --clock-control none --cache-control none --metrics gpu__time_duration.sum --csv \
    build/float/train DEVICE=cuda NET="$net" BATCH="$batch" GRAPH=0 STEPS=4 \
    OUT=/tmp/gpu-kernels "$@" 2>/dev/null |
    python3 -c '
import csv, sys
rows = [r for r in csv.reader(sys.stdin) if len(r) > 10]
head = rows[0]
name, value, unit = (head.index(k) for k in ("Kernel Name", "Metric Value", "Metric Unit"))
steps, now = [], []
for r in rows[1:]:
    short = r[name].split("(")[0][-40:]
    if short.endswith("write_step"):
        steps.append(now)
        now = []
    scale = {"ns": 1e-3, "us": 1, "usecond": 1, "nsecond": 1e-3, "ms": 1e3}[r[unit]]
    now.append((short, float(r[value].replace(",", "")) * scale))
for short, us in steps[-1]:
    print(f"{us:7.2f} {short}")
print(f"{sum(us for _, us in steps[-1]):7.2f} all")'
