"""handouts.py write|check: the table of tasks and points in each lab's README, from its list of claims.

The table stands between `<!-- tasks: begin -->` and `<!-- tasks: end -->` and is never typed.
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- tasks: begin -->", "<!-- tasks: end -->"


def cell(task: dict, half: str, steps: bool) -> str:
    """Points of one half: `8`, `6 extra`, or nothing if the half is not asked for."""
    points = sum(c.get(half, 0) for c in task["claim"] if not c.get("extra"))
    extra = sum(c.get(half, 0) for c in task["claim"] if c.get("extra"))
    if steps:
        return "yes" if points else ""
    return " + ".join(t for t in (f"{points}" if points else "", f"{extra} extra" if extra else "")
                      if t)


def files(task: dict, lab: int) -> str:
    if task["name"] == "whole":
        return "all of your own together"
    suffixes = {"c": "c", "cuda": "cu"}
    names = [f"{task['name']}.{suffixes[half]}" for half in task["halves"]]
    return ", ".join(f"`{name}`" for name in names)


def table(lab: dict) -> str:
    steps = lab.get("steps", False)
    rows = ["| task | you write | C | CUDA |", "|---|---|---|---|"]
    for task in lab["task"]:
        rows.append(f"| {task['name']} | {files(task, lab['lab'])} | {cell(task, 'c', steps)} "
                    f"| {cell(task, 'cuda', steps)} |")
    return "\n".join(rows)


def filled(readme: str, lab: dict, name: str) -> str:
    if readme.count(BEGIN) != 1 or readme.count(END) != 1:
        raise SystemExit(f"{name}: needs one line {BEGIN} and one {END}")
    before, rest = readme.split(BEGIN)
    return f"{before}{BEGIN}\n{table(lab)}\n{END}{rest.split(END)[1]}"


def main(arguments: list) -> int:
    if arguments not in (["write"], ["check"]):
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    stale = 0
    for path in sorted((ROOT / "autograder/grade").glob("lab[0-9].toml")):
        lab = tomllib.loads(path.read_text(encoding="utf-8"))
        readme = ROOT / "labs" / path.stem / "README.md"
        old = readme.read_text(encoding="utf-8")
        new = filled(old, lab, str(readme.relative_to(ROOT)))
        if new == old:
            continue
        stale += 1
        if arguments == ["write"]:
            readme.write_text(new, encoding="utf-8")
        print(f"{readme.relative_to(ROOT)}: the table of tasks "
              + ("was filled in" if arguments == ["write"] else "is stale: run make skeletons"))
    return 1 if stale and arguments == ["check"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
