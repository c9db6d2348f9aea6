"""gpu_sectors.py OUT.jsonl: what Nsight Compute counts of sectors.cu's kernels on a GPU.

Builds them twice with nvcc, with -G and with -O3, runs both under ncu, and writes a line a case:
sectors and requests of loads from and stores to global memory, and conflicts of banks of shared
memory. sectors.py holds hostcuda's counts against them. Beside it, in conv3x3.jsonl, a line for
each design of lab 5's convolution (convolutions.cuh) at two larger shapes: the same, with -O3, and
the median of the kernel's microseconds in five runs. Needs a GPU, nvcc, ncu, no network.
"""

import csv
import datetime
import hashlib
import io
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

SOURCE = "tests/sectors/sectors.cu"
BUILDS = {"G": ["-G"], "O3": ["-O3", "-lineinfo"]}
FLAGS = ["-std=c++17", "-w", "-Itl/include", "-I."]
GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
METRICS = {
    "load_sectors": GLOBAL.format("sectors", "ld"),
    "store_sectors": GLOBAL.format("sectors", "st"),
    "load_requests": GLOBAL.format("requests", "ld"),
    "store_requests": GLOBAL.format("requests", "st"),
    "bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
}
TIME = {"ns": "gpu__time_duration.sum"}
SHAPES, RUNS = ((256, 4, 16), (64, 32, 64)), 5  # images and channels of lab 5's designs
LIMIT_S = 200


def stop(text: str) -> None:
    sys.exit(f"gpu_sectors.py: {text}")


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode != 0:
        stop(f"failed ({done.returncode}): {' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def read_launches(log: str, metrics: dict) -> list[dict[str, int]]:
    """ncu's CSV, a row for each launch and metric: the figures of each launch, in order."""
    lines = log.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        stop(f"ncu has printed no table:\n{log[-2000:]}")
    names, launches = {metric: figure for figure, metric in metrics.items()}, {}
    for row in csv.DictReader(io.StringIO("\n".join(lines[start:]))):
        if row["Metric Name"] in names:
            value = float(row["Metric Value"].replace(",", ""))
            launches.setdefault(int(row["ID"]), {})[names[row["Metric Name"]]] = round(value)
    for number, launch in launches.items():
        if missing := metrics.keys() - launch.keys():
            stop(f"ncu says nothing of {', '.join(sorted(missing))} for launch {number}")
    return [launches[number] for number in sorted(launches)]


def cut_into_cases(cases: list[dict], launches: list[dict[str, int]]) -> dict[str, dict[str, int]]:
    """The figures of each case: the sum over the launches that the program says it makes."""
    wanted = sum(case["kernels"] for case in cases)
    if wanted != len(launches):
        stop(f"{len(cases)} cases launch {wanted} kernels, and ncu has seen {len(launches)}")
    left = iter(launches)
    return {
        case["case"]: {figure: sum(launch[figure] for launch in mine) for figure in mine[0]}
        for case in cases
        for mine in [[next(left) for _ in range(case["kernels"])]]
    }


def profile(program: str, arguments: list[str], metrics: dict) -> dict[str, dict[str, int]]:
    """What ncu says of each case that the program runs with these arguments."""
    log = f"{program}.csv"
    cases = [json.loads(line) for line in run(program, *arguments).splitlines()]
    run("ncu", "--clock-control", "none", "--print-units", "base", "--csv", "--metrics",
        ",".join(metrics.values()), "--log-file", log, program, *arguments)  # fmt: skip
    with open(log, encoding="utf-8") as file:
        return cut_into_cases(cases, read_launches(file.read(), metrics))


def build(nvcc: str, flags: list[str], arch: str, folder: str) -> str:
    program = f"{folder}/sectors"
    run(nvcc, *FLAGS, *flags, f"-arch={arch}", "-o", program, SOURCE)
    return program


def measure_convolutions(program: str, shape: tuple) -> list[dict]:
    """Lab 5's designs: microseconds beside sectors."""
    arguments = ["convolutions", *map(str, shape)]
    runs = [profile(program, arguments, TIME if run else METRICS | TIME) for run in range(RUNS)]
    return [
        {"kind": "conv3x3", "case": case, "n": shape[0], "c": shape[1], "k": shape[2],
         "us": statistics.median(one[case]["ns"] / 1e3 for one in runs),
         "us_of_runs": [one[case]["ns"] / 1e3 for one in runs]}
        | {figure: runs[0][case][figure] for figure in METRICS}
        for case in runs[0]
    ]  # fmt: skip


def origin(nvcc: str) -> dict:
    def version(*command: str) -> str:
        found = re.findall(r"(?:release|[Vv]ersion) ([\d.]+)", run(*command))
        return found[-1] if found else "unknown"

    total = hashlib.sha256()
    for path in (SOURCE, "hostcuda/corpus/lockstep.cuh"):
        with open(path, "rb") as file:
            total.update(file.read())
    gpu = run("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    name, driver = gpu.splitlines()[0].split(", ")
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"commit": os.environ.get("GRADLAB_COMMIT", "unknown"), "dirty": 0,
            "sources": total.hexdigest()[:16], "program": "tests/sectors/gpu_sectors.py",
            "device": "cuda",
            "gpu": name, "driver": driver, "nvcc": version(nvcc, "--version"),
            "ncu": version("ncu", "--version"), "time": now}  # fmt: skip


def main(out: str, arch: str = "native") -> int:
    out = os.path.abspath(out)
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    for needed in (nvcc, "ncu", "nvidia-smi"):
        if not shutil.which(needed):
            stop(f"there is no {needed}: it needs a GPU machine with the CUDA toolkit")
    measured = {}
    for name, flags in BUILDS.items():
        with tempfile.TemporaryDirectory(prefix="gradlab-sectors-") as folder:
            program = build(nvcc, flags, arch, folder)
            measured[name] = profile(program, [], METRICS)
            if name == "O3":
                convolutions = sum((measure_convolutions(program, s) for s in SHAPES), [])
    common = origin(nvcc)
    with open(out, "w", encoding="utf-8") as file:
        for case in measured["G"]:
            figures = {name: measured[name][case] for name in BUILDS}
            line = {"kind": "sectors", "case": case} | figures | common
            file.write(json.dumps(line) + "\n")
            print(case, json.dumps(figures))
    with open(os.path.join(os.path.dirname(out), "conv3x3.jsonl"), "w", encoding="utf-8") as file:
        for line in convolutions:
            file.write(json.dumps(line | common) + "\n")
            print(f"{line['case']:20} {line['c']:3} channels {line['us']:9.1f} us "
                  f"{line['load_sectors']:10} sectors loaded")  # fmt: skip
    print(f"{out}: {len(measured['G'])} cases")
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        stop("usage: gpu_sectors.py OUT.jsonl [nvcc's -arch]")
    sys.exit(main(*sys.argv[1:]))
