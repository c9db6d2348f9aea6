"""taskwise.py LAB=n [T=task,task] [V=1]: does a task that is not written cost its own points alone?

Each task in turn is its skeleton among the solution's other files, graded as official grading does
(TASKWISE=1). What is lost has to be every claim of this task, every claim of the whole lab if the
whole lab uses the task, and nothing else. One line a task; exit 1 if one is not exact.
"""

import fnmatch
import json
import shutil
import subprocess
import sys
from pathlib import Path

import make
import options
import skeletons
import table

FOLDER = Path("build/taskwise")
LIMIT_S = 600


class TaskwiseError(Exception):
    """One line: what cannot be graded, and why."""


def fill(lab: table.Lab, task: str, folder: Path) -> None:
    """The solution with one task's skeletons. What is equal keeps its time, so that make builds
    what has changed since the last task, and no more."""
    written = {Path(name).name: data
               for name, data in skeletons.of_task(Path("."), str(lab.number), task).items()}
    for path in skeletons.sources(Path("solution")):
        if path.parent.name != f"lab{lab.number}":
            continue
        copy = folder / path.parent.name / path.name
        data = written.get(path.name, path.read_bytes())
        if not copy.exists() or copy.read_bytes() != data:
            skeletons.replace(copy, data)


def grade(lab: table.Lab, folder: Path, verbose: bool) -> dict:
    """grade.json of the folder."""
    done = make.run("grade", f"LAB={lab.number}", f"LABS={folder}", "TASKWISE=1",
                    "DEVICES=cpu,hostcuda", timeout=LIMIT_S)  # fmt: skip
    if verbose:
        print(done.stdout + done.stderr)
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().split("\n")[-1]
        raise TaskwiseError(f"make grade LABS={folder} ended with {done.returncode}: {last}")
    result = Path("build/grade", str(folder).replace("/", "-"), f"lab{lab.number}", "grade.json")
    return json.loads(result.read_text(encoding="utf-8"))


def expected(lab: table.Lab, task: str) -> set:
    """(claim, side) of all that this task's skeleton has to cost."""
    broken = {task} | {t.name for t in lab.tasks if t.name == "whole" and task in t.needs}
    return {(c.short_name, side) for c in lab.claims if c.task in broken for side in c.points}


def differences(lab: table.Lab, task: str, document: dict) -> list:
    """Lines about claims that were lost and should not have been, or the other way round."""
    want = expected(lab, task)
    lost = {(c["claim"], c["side"]) for c in document["claims"] if c["verdict"] != "pass"}
    judged = {(c["claim"], c["side"]) for c in document["claims"]}
    every = {(c.short_name, side) for c in lab.claims for side in c.points}
    return ([f"{name} ({side}): not judged" for name, side in sorted(every - judged)]
            + [f"{name} ({side}): lost with it" for name, side in sorted(lost - want)]
            + [f"{name} ({side}): kept without it" for name, side in sorted(want - lost)])


def points(lab: table.Lab, names: set) -> int:
    return sum(c.points[side] for c in lab.claims for side in c.points
               if (c.short_name, side) in names)


def main(arguments: list) -> int:
    exact = True
    try:
        given = options.parse(arguments, {"LAB": "", "T": "*", "V": ""})
        lab = table.load(options.whole(given, "LAB"))
        patterns = given["T"].split(",")
        tasks = [t.name for t in lab.tasks if t.code
                 and any(fnmatch.fnmatchcase(t.name, p) for p in patterns)]
        if not tasks:
            raise TaskwiseError(f"T={given['T']}: lab {lab.number} has no such task")
        folder = FOLDER / f"lab{lab.number}"
        for task in tasks:
            fill(lab, task, folder)
            wrong = differences(lab, task, grade(lab, folder, bool(given["V"])))
            cost = points(lab, expected(lab, task))
            said = ["not exact", *wrong] if wrong else [f"-{cost}, its own and no other"]
            print(f"lab{lab.number} without {task}: " + "\n    ".join(said), flush=True)
            exact = exact and not wrong
        for built in [folder, *Path("build").glob(f"*/from/{folder}")]:
            shutil.rmtree(built, ignore_errors=True)
    except (TaskwiseError, options.OptionError, skeletons.Refused, table.TableError, OSError,
            subprocess.TimeoutExpired) as error:
        print(f"taskwise: {error}", file=sys.stderr)
        return 2
    return 0 if exact else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
