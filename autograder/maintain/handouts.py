"""handouts.py write|check: the table of tasks in each lab's README, and the table of builds.py.

It is made from the lab's list of claims, stands between `<!-- tasks: begin -->` and
`<!-- tasks: end -->`, and is never typed.
"""

import sys
from pathlib import Path

import builds
import skeletons
import table

ROOT = Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- tasks: begin -->", "<!-- tasks: end -->"


def cell(task: table.Task, side: str, steps: bool) -> str:
    """Points of one side: `8`, `6 extra`, or nothing if the side is not asked for."""
    judged = [claim for claim in task.claims if side in claim.points]
    if steps:
        return "yes" if judged else ""
    points = sum(claim.points[side] for claim in judged if not claim.extra)
    extra = sum(claim.points[side] for claim in judged if claim.extra)
    shown = [f"{points}" if points else "", f"{extra} extra" if extra else ""]
    return " + ".join(text for text in shown if text)


def files(task: table.Task) -> str:
    if task.name == "whole":
        return "all of your own together"
    return ", ".join(f"`{task.file(side)}`" for side in task.sides)


def rows(lab: table.Lab) -> str:
    lines = ["| task | you write | C | CUDA |", "|---|---|---|---|"]
    for task in lab.tasks:
        lines.append(f"| {task.name} | {files(task)} | {cell(task, 'c', lab.steps)} "
                     f"| {cell(task, 'cuda', lab.steps)} |")
    return "\n".join(lines)


def filled(readme: str, lab: table.Lab, name: str) -> str:
    if readme.count(BEGIN) != 1 or readme.count(END) != 1:
        raise skeletons.Refused(f"{name}: needs one line {BEGIN} and one {END}")
    before, rest = readme.split(BEGIN)
    return f"{before}{BEGIN}\n{rows(lab)}\n{END}{rest.split(END)[1]}"


def update(root: Path, write: bool) -> int:
    """Says which tables are stale, or fills them in; returns how many they were."""
    stale = 0
    for path in table.files(root):
        readme = root / "labs" / path.parent.name / "README.md"
        name = str(readme.relative_to(root))
        lab = table.parse(path.read_text(encoding="utf-8"), path)
        old = readme.read_text(encoding="utf-8")
        new = filled(old, lab, name)
        if new == old:
            continue
        stale += 1
        if write:
            skeletons.replace(readme, new.encode())
        print(f"{name}: the table of tasks "
              + ("was filled in" if write else "is stale: run make skeletons"))
    return stale


def main(arguments: list) -> int:
    if arguments not in (["write"], ["check"]):
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    try:
        write = arguments == ["write"]
        stale = update(ROOT, write) + builds.update(ROOT, write)
    except (skeletons.Refused, table.TableError, OSError) as error:
        print(f"handouts: {error}", file=sys.stderr)
        return 2
    return 1 if stale and arguments == ["check"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
