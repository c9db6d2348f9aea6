"""listing.py LAB=n [T=filter]: the tasks and claims of a lab, a line each: its points on each side,
and how it is judged. A claim's name is a sentence that the grader tries to refute; hints and
diagnoses stay with the grader.

Without LAB= the lab built last. What T= may name is looked up here, for grading, too.
"""

import difflib
import fnmatch
import sys
from pathlib import Path

import options
import table
import text
from failure import SIDE_NAMES
from options import OptionError

LAST = Path("build/lab")  # the lab built last, as mk/labs.mk notes it


def matching(lab: table.Lab, pattern: str) -> list:
    """Claims named by T: a task, a task/claim, or either with * and ?; without T all of them."""
    return [c for c in lab.claims if not pattern or any(
        fnmatch.fnmatchcase(name, pattern)
        for name in (c.task, c.suite, c.short_name, c.full_name))]


def nearest(lab: table.Lab, pattern: str) -> table.Task:
    """The task that T was probably meant to name: by its own name, or by one of its claims'."""
    task, _, claim = pattern.partition("/")
    meant = claim or task

    def likeness(t: table.Task) -> tuple:
        by_task = difflib.SequenceMatcher(None, task, t.name).ratio()
        by_claim = max(difflib.SequenceMatcher(None, meant, c.name).ratio() for c in t.claims)
        return max(by_task, by_claim), by_task

    return max(lab.tasks, key=likeness)


def wanted(lab: table.Lab, pattern: str) -> list:
    """The claims that T names; where it names none, OptionError has those of the nearest task."""
    if found := matching(lab, pattern):
        return found
    task = nearest(lab, pattern)
    tasks = ", ".join(t.name for t in lab.tasks)
    raise OptionError("\n".join([
        f"T={pattern}: no claim of lab {lab.number} is called so; its tasks are {tasks}; of these "
        f"{task.name} is the nearest:", "", *rows(task.claims), "",
        f"T={task.name} is all of them, T={task.claims[0].short_name} one, * stands for anything"]))


def with_witnesses(lab: table.Lab, claims: list) -> list:
    """Those, and of their tasks the claims whose verdicts their diagnoses ask for ("ok=name",
    "elsewhere=race"): so one claim by itself is explained as it is among the others."""
    parts = [(c.task, *part.partition("=")) for c in claims for pattern in c.diagnosis
             for part in pattern.split("+")]
    named = {(task, name) for task, key, _, name in parts if key in ("ok", "bad")}
    raced = {task for task, key, _, _ in parts if key == "elsewhere"}
    return [c for c in lab.claims if c in claims or (c.task, c.name) in named
            or c.task in raced and c.build == "check"]


def asked(claim: table.Claim) -> str:
    """How a claim is judged, as far as its name does not say."""
    said = [", ".join(claim.real)]
    said += ["watched"] * (claim.build == "check") + ["extra"] * claim.extra
    return ", ".join(said)


def rows(claims: list) -> list:
    """A head, and of each claim a line: as T= takes it, its points, how it is judged."""
    width = max(len(c.short_name) for c in claims)
    head = f"{'task/claim':<{width}}" + "".join(f"  {s:>4}" for s in SIDE_NAMES.values())
    lines = [f"{head}  judged in"]
    for c in claims:
        points = "".join(f"  {c.points.get(side, '-'):>4}" for side in SIDE_NAMES)
        lines.append(f"{c.short_name:<{width}}{points}  {asked(c)}")
    return lines


def whole(lab: table.Lab, claims: list) -> list:
    worth = "steps" if lab.steps else "points"
    total = sum(p for c in claims if not c.extra for p in c.points.values())
    extra = sum(p for c in claims if c.extra for p in c.points.values())
    more = f", {extra} of extra credit" if extra else ""
    watched = ["watched: hostcuda's checkers look at every access to memory"]
    count = f"{len(claims)} claim{'s' * (len(claims) != 1)}"
    return [f"lab {lab.number}, {lab.title}: {count}, {total} {worth}{more}", "",
            *rows(claims), "", *(watched if any(c.build for c in claims) else []),
            f"one of them alone: make grade LAB={lab.number} T={claims[0].short_name}"]


def number_of(given: dict) -> int:
    if not given["LAB"] and LAST.exists():
        given["LAB"] = LAST.read_text().strip()
    labs = table.numbers()
    if not given["LAB"].isdecimal() or int(given["LAB"]) not in labs:
        said = f"LAB={given['LAB']}: there is no such lab" if given["LAB"] else "say which lab"
        raise OptionError(f"{said}: {', '.join(f'LAB={n}' for n in labs)}")
    return int(given["LAB"])


def main(arguments: list) -> int:
    try:
        given = options.parse(arguments, {"LAB": "", "T": ""})
        lab = table.load(number_of(given))
        text.say(whole(lab, wanted(lab, given["T"])))
    except (OptionError, table.TableError) as error:
        text.say(text.visible_lines(f"claims: {error}", 80, 1000), sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
