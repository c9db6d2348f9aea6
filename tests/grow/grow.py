"""grow.py [NAME...]: how many files a new operation, net, rung or optimiser touches, by adding one.

tests/grow/NAME/STEP holds what somebody would write: new files as they are, and FILE.insert with
the pieces that go into a file that is there. Each step is laid over a copy of the repository, what
makefiles generate is generated, and the step's commands build and try it. A figure or a file that
differs from the table in CONTRIBUTING.md is a failure, and so is a file that changed on the way
without being listed there. Generated files (skeletons, tables between markers) are not counted.

Ends with `N of M steps are as CONTRIBUTING.md says`; exit 1 if some are not.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
FOLDER = ROOT / "build/grow"
PAGE = "CONTRIBUTING.md"
LIMIT_S = 1800
# what was typed for the make around this one is not for those in here
ENV = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}
# written by make skeletons, and by nobody's hand
GENERATED = re.compile(r"labs/lab\d/(\w+\.cu?|README\.md)|autograder/README\.md|"
                       r"autograder/grade/skeletons\.sha256")


class GrowError(Exception):
    """One line: which step is not as it should be, and why."""


@dataclass(frozen=True)
class Step:
    """A folder below tests/grow, the most files that it may touch, counted with the steps before
    it, and what tries it: commands, each with a pattern that its output must match."""

    folder: str
    at_most: int
    tries: tuple

    @property
    def name(self) -> str:
        return self.folder.split("/")[0]


GRADED = ("make", "-s", "grade", "LAB=3", "LABS=solution", "T=avgpool2d")
TRAIN = ("make", "-s", "train", "DATASET=shapes10", "LIMIT=640", "EPOCHS=1", "DEVICE=cpu")

STEPS = (
    Step("avgpool2d/operation", 8, (
        (GRADED, r"extra 5/5"),)),
    Step("avgpool2d/whole", 20, (
        (("make", "mutants", "LAB=3", "T=avgpool2d_overwrites"), "1 of 1"),
        (("make", "-s", "grade", "LAB=4", "LABS=solution", "T=ops_layers"), r"extra 2/2"),
        (("make", "-s", "bench-ops", "OPS=avgpool2d", "DEVICE=cpu", "REPEAT=10", "LONG=100",
          "OUT=build/ops.jsonl"), r"avgpool2d .* fwd\+bwd .* ratio"))),
    Step("net/net", 2, (
        ((*TRAIN, "NET=s"), "test loss"),
        (("python", "-m", "pytest", "-q", "baseline/test_nets.py"), r"\d+ passed"))),
    Step("rung/rung", 2, (
        ((*TRAIN, "NET=b", "RUNGS=relu:1"), "relu:1"),)),
    Step("optimiser/optimiser", 15, (
        (("make", "-s", "grade", "LAB=5", "LABS=solution", "T=adagrad"), r"extra 2/2"),
        (("make", "mutants", "LAB=5", "T=adagrad_climbs"), "1 of 1"),
        (("make", "-s", "parity", "NET=b", "OPT=adagrad", "STEPS=5", "BATCH=16", "LIMIT=640"),
         r"(?m)^\w .* agrees$"))),
)  # fmt: skip


# ---- what somebody would write -------------------------------------------------------------------

def pieces(text: str) -> list:
    """`>>> before: the beginning of a line`, or `>>> end`, then the lines of the piece."""
    found = []
    for line in text.splitlines(keepends=True):
        if line.startswith(">>> "):
            found.append((line[4:].strip(), []))
        else:
            found[-1][1].append(line)
    return [(where, "".join(lines)) for where, lines in found]


def inserted(text: str, name: str, where: str, piece: str) -> str:
    """`before` and `after` a line that begins so, or `instead` of it: there is one such line."""
    if where == "end":
        return text + piece
    how, _, start = where.partition(": ")
    lines = text.splitlines(keepends=True)
    at = [i for i, line in enumerate(lines) if line.strip().startswith(start)]
    if len(at) != 1 or how not in ("before", "after", "instead"):
        raise GrowError(f"{name}: {len(at)} lines begin with {start!r}, and one must")
    begin, end = {"before": (at[0], at[0]), "after": (at[0] + 1, at[0] + 1),
                  "instead": (at[0], at[0] + 1)}[how]
    return "".join(lines[:begin]) + piece + "".join(lines[end:])


def lay_over(step: Step, tree: Path) -> set:
    """The files that the step touches."""
    folder, touched = HERE / step.folder, set()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = str(path.relative_to(folder))
        text = path.read_text(encoding="utf-8")
        if name.endswith(".insert"):
            name = name.removesuffix(".insert")
            whole = (tree / name).read_text(encoding="utf-8")
            for where, piece in pieces(text):
                whole = inserted(whole, f"{step.folder}/{name}", where, piece)
            text = whole
        elif (tree / name).exists():
            raise GrowError(f"{step.folder}/{name}: is there already")
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text, encoding="utf-8")
        touched.add(name)
    return touched


def tracked() -> list:
    done = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                          capture_output=True, text=True)
    return [name for name in done.stdout.splitlines()
            if (ROOT / name).is_file() and not name.startswith("results/")]


def copy(name: str) -> tuple:
    """The repository as it is here, over what an earlier run has built of it, and its hashes."""
    tree = FOLDER / name
    tree.mkdir(parents=True, exist_ok=True)
    for path in tree.iterdir():
        if path.name != "build":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for file in tracked():
        (tree / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / file, tree / file)
    return tree, {file: digest(tree / file) for file in tracked()}


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def changed(tree: Path, before: dict) -> set:
    """Files of the copy that differ from what it was, or are new."""
    names = {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()}
    return {name for name in names if not name.startswith(("build/", "results/"))
            and "__pycache__" not in name and before.get(name) != digest(tree / name)}


# ---- what CONTRIBUTING.md says -------------------------------------------------------------------

def listed(text: str) -> dict:
    """`| words | N | files | avgpool2d/operation |` of its table: step -> (N, files)."""
    found = {}
    for line in re.findall(r"^\|.*\|$", text, re.M):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and cells[1].isdigit():
            found[cells[3].strip("`")] = (int(cells[1]), set(re.findall(r"`([^`]+)`", cells[2])))
    return found


def typed(tree: Path, words: tuple) -> str:
    command = {"make": [*words, f"PYTHON={sys.executable}", "NVCC=none"],
               "python": [sys.executable, *words[1:]]}
    done = subprocess.run(command[words[0]], cwd=tree, text=True, env=ENV,
                          timeout=LIMIT_S, capture_output=True)
    if done.returncode != 0:
        raise GrowError(f"{' '.join(words)}: exit {done.returncode}\n{done.stdout[-2000:]}"
                        f"{done.stderr[-2000:]}")
    return done.stdout + done.stderr


def tried(step: Step, tree: Path) -> None:
    for words, wanted in step.tries:
        said = typed(tree, words)
        if not re.search(wanted, said):
            raise GrowError(f"{' '.join(words)} said:\n{said[-3000:]}")


def grow(step: Step, tree: Path, before: dict, touched: set) -> set:
    """The step in the copy, which has those before it; all files that were touched so far."""
    own = lay_over(step, tree)
    together = touched | own
    typed(tree, ("make", "-s", "skeletons"))
    unlisted = {n for n in changed(tree, before) - together if not GENERATED.fullmatch(n)}
    if unlisted:
        raise GrowError(f"also changed: {', '.join(sorted(unlisted))}")
    if len(together) > step.at_most:
        raise GrowError(f"{len(together)} files, and at most {step.at_most} are allowed")
    said = listed((ROOT / PAGE).read_text(encoding="utf-8")).get(step.folder)
    if said != (len(together), own):
        raise GrowError(f"{PAGE} says {said}, but it is {len(together)} files, with these: "
                        f"{', '.join(sorted(own))}")
    tried(step, tree)
    return together


def main(names: list) -> int:
    sys.stdout.reconfigure(line_buffering=True)
    good, steps = 0, [s for s in STEPS if not names or s.name in names]
    trees, touched, broken = {}, {}, set()
    for step in steps:
        if step.name in broken:
            print(f"FAILED {step.folder}: not tried, for the step before it failed")
            continue
        try:
            if step.name not in trees:
                trees[step.name], touched[step.name] = copy(step.name), set()
            touched[step.name] = grow(step, *trees[step.name], touched[step.name])
            print(f"{step.folder}: {len(touched[step.name])} files, at most {step.at_most}")
            good += 1
        except (GrowError, subprocess.TimeoutExpired, ValueError, KeyError) as error:
            print(f"FAILED {step.folder}: {error}")
            broken.add(step.name)
    print(f"{good} of {len(steps)} steps are as {PAGE} says")
    return 0 if steps and good == len(steps) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
