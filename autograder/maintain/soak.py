"""soak.py LAB=n [SEEDS=20] [FIRST=1] [DEVICES=cpu,hostcuda] [JOBS=n] [OUT=file] WORKER=

Runs every claim of a lab against the reference with many seeds: a claim that fails would fail a
right submission. For each claim the table says how near to its bound the reference came (err/bound,
0.5 is the most), with which seed and where. JOBS seeds go side by side, one to four cores unless
said; OUT= keeps the table. `make grader-soak` builds what it needs and calls it.
Exit 0: no failure; 1: a claim failed or came too near; 2: could not run.
"""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import grade
import machine
import options
import execute
import table

OPTIONS = {"LAB": "", "SEEDS": "20", "FIRST": "1", "DEVICES": "", "OUT": "",
           "JOBS": str(max(1, machine.cores() // 4)), "WORKER": "", "SUFFIX": "",
           "LABS": "solution"}
NEAREST = 0.5  # of its bound: what the reference may use; a submission may use all


@dataclass
class Worst:
    ratio: float = -1.0  # largest err/bound; -1: nothing was compared against a bound
    seed: int = 0
    where: str = ""
    runs: int = 0
    failures: int = 0


def parse(arguments: list) -> dict:
    given = options.parse(arguments, OPTIONS)
    for name, least in (("LAB", 0), ("SEEDS", 1), ("FIRST", 0), ("JOBS", 1)):
        options.whole(given, name, least)
    return given


def take(outcome: execute.Outcome, seed: int, worst: dict) -> None:
    """Adds one seed's records; what failed is said at once, with what repeats it."""
    for (name, run), record in outcome.records.items():
        entry = worst.setdefault(name, Worst())
        entry.runs += 1
        where = f"{run.device} {run.mode}"
        ratio = record.get("worst", -1)
        if isinstance(ratio, (int, float)) and ratio > entry.ratio:
            entry.ratio, entry.seed, entry.where = ratio, seed, where
        if record["verdict"] != "pass":
            entry.failures += 1
            print(f"FAILED  {name} on {where}, seed {seed}: {record['verdict']} {record['kind']}: "
                  f"{record.get('text', '')}", flush=True)


def rows(worst: dict) -> list:
    """The table's lines, what came nearest to its bound first."""
    lines = [f"{'err/bound':>9}  {'seed':>6}  {'where':22} claim"]
    for name, w in sorted(worst.items(), key=lambda item: (-item[1].ratio, item[0])):
        rounded = w.ratio > 0  # else it compares for equality, or counts
        ratio = f"{w.ratio:9.3f}" if rounded else f"{'exact':>9}"
        seed, where = (w.seed, w.where) if rounded else ("", "")
        lines.append(f"{ratio}  {seed:>6}  {where:22} {name}"
                     + (f"   {w.failures} of {w.runs} FAILED" if w.failures else "")
                     + ("   TOO NEAR" if w.ratio > NEAREST else ""))
    return lines


def one_seed(lab: table.Lab, labs: Path, programs: execute.Programs, runs: dict, factor: float,
             seed: int):
    runner = execute.Runner(programs, seed, factor)
    try:
        outcome = runner.run(runs, {}, runner.take_cases(runs, labs, lab))
    finally:
        runner.close()
    if outcome.problems:
        raise execute.CannotGrade(f"seed {seed}: " + "\n".join(outcome.problems))
    return outcome


def ready(lab: table.Lab, programs: execute.Programs, runs: dict) -> None:
    """What is the same for every seed: that all is built, and that list and binary agree."""
    runner = execute.Runner(programs, 0, 1)
    try:
        problems = list(runner.check_files(runs).values())
    finally:
        runner.close()
    problems += execute.check_list(lab, programs, runs)
    if problems:
        raise execute.CannotGrade("\n".join(problems))


def soak(given: dict) -> int:
    lab = table.load(int(given["LAB"]))
    worker = given["WORKER"] or (f"build/{{mode}}/from/{given['LABS']}/lab{lab.number}/{{variant}}/"
                                 "worker")
    programs = execute.Programs(execute.grader_of_lab(lab.number), worker, given["SUFFIX"])
    how = False, given["SUFFIX"]
    devices = grade.choose_devices(given, programs, execute.plan(lab.claims, ["cuda"], *how))
    runs = execute.plan(lab.claims, devices, *how)
    ready(lab, programs, runs)
    seeds = range(int(given["FIRST"]), int(given["FIRST"]) + int(given["SEEDS"]))
    factor, worst, begin = machine.measure(), {}, time.monotonic()
    with ThreadPoolExecutor(int(given["JOBS"])) as pool:
        outcomes = pool.map(lambda seed: one_seed(lab, Path(given["LABS"]), programs, runs, factor,
                                                  seed), seeds)
        for seed, outcome in zip(seeds, outcomes):
            take(outcome, seed, worst)
    failed = sum(w.failures for w in worst.values())
    lines = rows(worst)
    lines.append(f"lab{lab.number}: {len(seeds)} seeds from {seeds[0]}, {', '.join(devices)}: "
                 f"{failed} failures of {sum(w.runs for w in worst.values())} runs")
    print("\n".join(lines), f"in {time.monotonic() - begin:.0f} s")
    if given["OUT"]:
        Path(given["OUT"]).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 1 if failed or any(w.ratio > NEAREST for w in worst.values()) else 0


def main(arguments: list) -> int:
    try:
        return soak(parse(arguments))
    except (options.OptionError, table.TableError, execute.CannotGrade) as error:
        print(f"soak: {error}", file=sys.stderr)
    except OSError as error:
        print(f"soak: {error.filename or ''}: {error.strerror}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
