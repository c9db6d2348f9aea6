"""cost.py LAB=n [TASKWISE=1]: what grading one submission of a lab costs, in CPU seconds by step.

The solution's files, every one of them changed since the last time, are graded as another folder's
(`make grade LABS=`) under compilers that note their own time; the reference and the grader are
built before. The runs of the grader are then repeated one by one, for in grading they share their
processes' time. A busy machine makes CPU seconds longer, too: look at its load.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cuda_legality
import make
import options
import execute
import skeletons
import table

FOLDER = Path("build/cost")
BUDGET_S = 30  # for all of it: a hundred submissions in 25 minutes on two cores
LIMIT_S = 600
TIMED = ("gcc", "g++")
# Runs the compiler of the same name that comes next in PATH, and notes its time and arguments.
WRAPPER = """#!/bin/bash
PATH=${{PATH#*:}}
TIMEFORMAT='%U %S'
{{ time {name} "$@" 2>&3; }} 3>&2 2>"{folder}/$$.time"
status=$?
printf '%s\\n' {name} "$@" >"{folder}/$$.call"
exit $status
"""
STEPS = {
    "c": "C", "cuda": "CUDA", "link": "link", "legal": "legality", "cpu": "claims on cpu",
    "hostcuda": "on hostcuda", "check": "about races", "rest": "make, gate",
}


class CostError(Exception):
    """One line: what could not be measured, and why."""


def used_s() -> float:
    """CPU seconds of all children that have ended, and of theirs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def hand_in(lab: int, folder: Path) -> None:
    """The solution, with a line in each file that it has never had."""
    for path in skeletons.sources(Path("solution")):
        if skeletons.lab_of(path) == lab:
            line = f"handed in at {time.time_ns()}"
            line = f"# {line}" if path.suffix == ".toml" else f"/* {line} */"
            data = path.read_bytes() + f"{line}\n".encode()
            skeletons.replace(folder / path.parent.name / path.name, data)


def grade(lab: int, folder: Path, more: list, path: str) -> None:
    done = make.run("grade", f"LAB={lab}", f"LABS={folder}", "DEVICES=cpu,hostcuda", *more,
                    timeout=LIMIT_S, PATH=path)  # fmt: skip
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().split("\n")[-1]
        raise CostError(f"make grade LABS={folder} ended with {done.returncode}: {last}")
    result = Path("build/grade", str(folder).replace("/", "-"), f"lab{lab}", "grade.json")
    document = json.loads(result.read_text(encoding="utf-8"))
    failed = [c["claim"] for c in document["claims"] if c["verdict"] != "pass"]
    if failed:
        raise CostError(f"the solution fails {failed[0]}: see {result}")


def step_of(call: list) -> str:
    """Which of the steps a call of a compiler is."""
    if "-c" in call:
        return "c" if call[-1].endswith((".c", ".i")) else "cuda"
    return "link" if "-o" in call and "-E" not in call else "rest"


def compilers(folder: Path) -> str:
    """PATH with a folder in front of it, of compilers that note their time there."""
    for name in TIMED:
        if shutil.which(name):
            (folder / name).write_text(WRAPPER.format(name=name, folder=folder))
            (folder / name).chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def noted(folder: Path) -> dict:
    """step -> seconds, of what the compilers have noted."""
    found = dict.fromkeys(STEPS, 0.0)
    for path in folder.glob("*.time"):
        seconds = sum(map(float, path.read_text().split()[-2:]))
        found[step_of(path.with_suffix(".call").read_text().split("\n")[:-1])] += seconds
    return found


def run_alone(lab: table.Lab, folder: Path, taskwise: bool) -> dict:
    """step -> seconds, of the grader and its workers."""
    worker = f"build/{{mode}}/from/{folder}/lab{lab.number}/{{variant}}/worker"
    runner = execute.Runner(execute.Programs(execute.grader_of_lab(lab.number), worker), 1, 1.0)
    found = {}
    try:
        runs = execute.plan(lab.claims, ["cpu", "hostcuda"], taskwise)
        runner.build_sandbox(runs)
        for run, claims in runs.items():
            before = used_s()
            runner.run({run: claims}, {}, runner.take_cases({run: claims}, folder, lab))
            step = "check" if run.build == "check" else run.device
            found[step] = found.get(step, 0) + used_s() - before
    finally:
        runner.close()
    return found


def legality_s(lab: int, folder: Path) -> float:
    """What it costs to ask whether files of a new content are CUDA."""
    hand_in(lab, folder)
    before, key = used_s(), cuda_legality.key()
    for path in skeletons.sources(folder):
        if path.suffix == ".cu":
            cuda_legality.findings(path, key)
    return used_s() - before


def measure(lab: table.Lab, taskwise: bool) -> dict:
    """step -> seconds."""
    folder, more = FOLDER / f"lab{lab.number}", ["TASKWISE=1"] if taskwise else []
    hand_in(lab.number, folder)
    grade(lab.number, folder, more, os.environ["PATH"])
    hand_in(lab.number, folder)
    with tempfile.TemporaryDirectory(prefix="gradlab-") as notes:
        path, before = compilers(Path(notes)), used_s()
        grade(lab.number, folder, more, path)
        total, found = used_s() - before, noted(Path(notes))
    for step, suffix in (("c", ".c"), ("cuda", ".cu")):
        if not found[step] and any(p.suffix == suffix for p in skeletons.sources(folder)):
            raise CostError(f"lab {lab.number}: no compiler's call was taken for a {suffix} file's")
    found |= run_alone(lab, folder, taskwise)
    found["legal"] = legality_s(lab.number, folder)
    found["rest"] = total - sum(s for step, s in found.items() if step != "rest")
    return found


def row(first, found: dict) -> str:
    """Steps and their sum; or, of the names themselves, the head of the table."""
    cells = [*STEPS.values(), "sum"]
    if found:
        numbers = [*(found.get(s, 0) for s in STEPS), sum(found.values())]
        cells = [f"{s:.1f}" if s >= 0.05 else "" for s in numbers]
    return f"| {first} | " + " | ".join(cells) + " |"


def over_budget(found: dict) -> bool:
    return sum(found.values()) > BUDGET_S


def main(arguments: list) -> int:
    try:
        given = options.parse(arguments, {"LAB": "", "TASKWISE": ""})
        numbers = [options.whole(given, "LAB")] if given["LAB"] else table.numbers()
        over = []
        print(row("lab", {}), "|---" * (len(STEPS) + 2) + "|", sep="\n", flush=True)
        for lab in map(table.load, numbers):
            found = measure(lab, bool(given["TASKWISE"]))
            print(row(lab.number, found), flush=True)
            over += [lab.number] if over_budget(found) else []
        for number in over:
            print(f"cost: lab {number} takes more than {BUDGET_S} s of CPU time", file=sys.stderr)
    except (CostError, options.OptionError, table.TableError, OSError,
            subprocess.TimeoutExpired) as error:
        print(f"cost: {error}", file=sys.stderr)
        return 2
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
