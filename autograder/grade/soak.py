"""soak.py LAB=n [SEEDS=20] [FIRST=1] [DEVICES=cpu,hostcuda] GRADER=… WORKER=…

Runs every claim of a lab against the reference with many seeds: a claim that fails would fail a
right submission. For each claim the table says how near to its bound the reference came (err/bound,
0.5 is the most), with which seed and where. `make grader-soak` builds what it needs and calls it.
Exit 0: no failure; 1: a claim failed or came too near; 2: could not run.
"""

import sys
import time
from dataclasses import dataclass

import grade
import machine
import runs
import table

OPTIONS = {"LAB": "", "SEEDS": "20", "FIRST": "1", "DEVICES": "", "GRADER": "build/{mode}/grader",
           "WORKER": "", "LABS": "solution"}
NEAREST = 0.5  # of its bound: what the reference may use; a submission may use all


@dataclass
class Worst:
    ratio: float = -1.0  # largest err/bound; -1: nothing was compared against a bound
    seed: int = 0
    where: str = ""
    runs: int = 0
    failures: int = 0


def options(arguments: list) -> dict:
    given = dict(OPTIONS)
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not equals or name not in OPTIONS:
            raise grade.Usage(f"{argument}: unknown option; it takes {' '.join(OPTIONS)}")
        given[name] = value
    for name in ("LAB", "SEEDS", "FIRST"):
        if not given[name].isdecimal():
            raise grade.Usage(f"{name}={given[name]}: a whole number is needed")
    return given


def take(outcome: runs.Outcome, seed: int, worst: dict) -> None:
    """Adds one seed's records; what failed is said at once, with what repeats it."""
    for (name, place), record in outcome.records.items():
        entry = worst.setdefault(name, Worst())
        entry.runs += 1
        where = f"{place.lane} {place.mode}"
        ratio = record.get("worst", -1)
        if isinstance(ratio, (int, float)) and ratio > entry.ratio:
            entry.ratio, entry.seed, entry.where = ratio, seed, where
        if record["verdict"] != "pass":
            entry.failures += 1
            print(f"FAILED  {name} on {where}, seed {seed}: {record['verdict']} {record['kind']}: "
                  f"{record.get('text', '')}", flush=True)


def show(worst: dict) -> bool:
    """The table; whether all is well."""
    well = True
    print(f"{'err/bound':>9}  {'seed':>6}  {'where':22} claim")
    for name, w in sorted(worst.items(), key=lambda item: -item[1].ratio):
        near = w.ratio > NEAREST
        well = well and not near and not w.failures
        ratio = f"{w.ratio:9.3f}" if w.ratio >= 0 else f"{'exact':>9}"
        print(f"{ratio}  {w.seed or '':>6}  {w.where:22} {name}"
              + (f"   {w.failures} of {w.runs} FAILED" if w.failures else "")
              + ("   TOO NEAR" if near else ""))
    return well


def soak(given: dict) -> int:
    lab = table.load(int(given["LAB"]))
    worker = given["WORKER"] or (f"build/{{mode}}/from/{given['LABS']}/lab{lab.number}/{{variant}}/"
                                 "worker")
    programs = runs.Programs(given["GRADER"], worker)
    lanes = grade.choose_lanes(given["DEVICES"], programs)
    places = runs.plan(lab.claims, lanes, False)
    first, count = int(given["FIRST"]), int(given["SEEDS"])
    factor, worst, begin = machine.measure(), {}, time.monotonic()
    for seed in range(first, first + count):
        runner = runs.Runner(programs, seed, factor)
        try:
            unbuilt = runner.check_files(places)
            if unbuilt:
                raise runs.CannotGrade("\n".join(unbuilt.values()))
            problems = runs.check_list(lab, programs, {p.real for p in places})
            outcome = runner.run(places, {}) if not problems else None
        finally:
            runner.close()
        if problems or outcome.problems:
            raise runs.CannotGrade("\n".join(problems or outcome.problems))
        take(outcome, seed, worst)
    well = show(worst)
    failed = sum(w.failures for w in worst.values())
    print(f"lab{lab.number}: {count} seeds from {first}, {', '.join(lanes)}: {failed} failures of "
          f"{sum(w.runs for w in worst.values())} runs, {time.monotonic() - begin:.0f} s")
    return 0 if well else 1


def main(arguments: list) -> int:
    try:
        return soak(options(arguments))
    except (grade.Usage, table.TableError, runs.CannotGrade) as error:
        print(f"soak: {error}", file=sys.stderr)
    except OSError as error:
        print(f"soak: {error.filename or ''}: {error.strerror}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
