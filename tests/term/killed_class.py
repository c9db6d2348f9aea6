"""killed_class.py LAB=n FOLDER=dir [KILLS=30] [STUDENTS=30] [JOBS=2] [SEED=n]: a class whose
grading is killed again and again ends as one that nobody disturbs.

Submissions are hundred.py's. They are graded once undisturbed; then SIGKILL ends `make grade-class`
at random moments, its process group or, every second time, all that it has started, too, and the
same line is typed again. A class that comes to its end is compared with the undisturbed one, and a
fresh one is begun, until there were KILLS kills; the last is left to its end.

The same must be: names in OUT; class.csv; each grade.json and refused.json, but for times; what was
graded. No attempt may be written twice, and in build/ nothing more may lie than after the
undisturbed run. A line for each kill; SEED draws the moments. Exit status 1 at any difference.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import hundred
import make
import options

ROOT = hundred.ROOT
TIMES = {"time", "wall_s", "seconds", "cpu_s", "cpu_factor"}
KEPT = ("class.csv", "grade.json", "refused.json")  # compared; of pages and logs there are names


class Class:
    """One lab's submissions, and the command that grades them into a folder."""

    def __init__(self, lab: int, folder: Path, jobs: str):
        self.lab, self.folder = lab, folder
        self.words = ["make", "grade-class", f"SUBMISSIONS={folder / 'in'}", f"LAB={lab}",
                      f"SECRET={folder / 'secret'}", f"ROSTER={folder / 'roster.csv'}",
                      f"JOBS={jobs}"]
        self.env = dict(os.environ)

    def begun(self, out: Path) -> subprocess.Popen:
        with open(self.folder / "said", "a") as said:
            return subprocess.Popen([*self.words, f"OUT={out}"], cwd=ROOT, env=self.env,
                                    stdout=said, stderr=said, start_new_session=True)

    def graded(self, out: Path) -> float:
        """Seconds that it took undisturbed."""
        began = time.monotonic()
        status = self.begun(out).wait(hundred.LIMIT_S)
        if status not in (0, 2):
            raise SystemExit(f"killed_class: make grade-class: {self.folder / 'said'}")
        return time.monotonic() - began

    def attempts(self, out: Path) -> dict:
        return {str(p.relative_to(out)): p.stat().st_ino for p in out.glob("*/lab*/[0-9]*")}


def started_by(process: int) -> list:
    """All that live below it, whatever session they are in."""
    children = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # (it has ended)
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(path.parent.name))
    found = [process]
    for each in found:
        found += children.get(each, [])
    return found[1:]


def kill(process: subprocess.Popen, everything: bool) -> None:
    below = started_by(process.pid) if everything else []
    os.killpg(process.pid, signal.SIGKILL)
    for each in below:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # (a box's own user)
            os.kill(each, signal.SIGKILL)
    process.wait()


def without_times(value):
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k not in TIMES}
    return [without_times(v) for v in value] if isinstance(value, list) else value


def state(out: Path) -> dict:
    """name -> what must be equal."""
    found = {}
    for path in sorted(p for p in out.rglob("*") if p.is_file()):
        data = path.read_bytes() if path.name in KEPT or "files" in path.parts else b""
        found[str(path.relative_to(out))] = \
            without_times(json.loads(data)) if data and path.suffix == ".json" else data
    return found


def built() -> set:
    return {str(p.relative_to(ROOT)) for p in (ROOT / "build").rglob("*")}


def differing(calm, now, where: str) -> list:
    """Lines that say where two states are not the same."""
    if isinstance(calm, dict) and isinstance(now, dict):
        return [line for key in sorted(calm.keys() | now.keys())
                for line in differing(calm.get(key), now.get(key), f"{where}: {key}")]
    if isinstance(calm, list) and isinstance(now, list) and len(calm) == len(now):
        return [line for n, pair in enumerate(zip(calm, now))
                for line in differing(*pair, f"{where}[{n}]")]
    return [] if calm == now else [f"{where}: {str(now)[:200]} instead of {str(calm)[:200]}"]


def disturbed(one: Class, kills: int, draw: random.Random, whole: float) -> tuple:
    """(classes that came to their end, lines about differences) of as many kills, at moments up to
    half of the seconds that a class takes."""
    calm, there, bad = state(one.folder / "calm"), built(), []
    done, number, seen = 0, 1, {}
    while True:
        out = one.folder / f"killed{number}"
        process, last = one.begun(out), done == kills
        moment = draw.uniform(min(1, whole / 4), whole / 2)
        try:
            process.wait(hundred.LIMIT_S if last else moment)
        except subprocess.TimeoutExpired:
            if last:
                raise
            done += 1
            kill(process, done % 2 == 0)
        now = one.attempts(out)
        again = [name for name, inode in seen.items() if now.get(name) != inode]
        bad += [f"class {number}: {name} was lost, or written again" for name in again]
        what = "killed, all of it," if done % 2 == 0 else "killed"
        if process.returncode < 0:
            print(f"{done}/{kills}: class {number} {what} after {moment:.1f} s: {len(seen)} "
                  f"attempts before, {len(now)} now", flush=True)
            seen = now
            continue
        new = differing(calm, state(out), f"class {number}")
        new += [f"class {number}: {path} was left" for path in sorted(built() - there)]
        print(f"class {number} ended ({process.returncode}): {len(now)} attempts, {len(new)} "
              "differences", flush=True)
        bad, number, seen = bad + new, number + 1, {}
        if last:
            return number - 1, bad
        shutil.rmtree(out)


def main(arguments: list) -> int:
    given = options.parse(arguments, {"LAB": "", "FOLDER": "", "KILLS": "30", "STUDENTS": "30",
                                      "JOBS": "2", "SEED": str(random.randrange(10**6))})
    os.chdir(ROOT)
    kills, folder = options.whole(given, "KILLS"), Path(given["FOLDER"]).absolute()
    draw, lab = random.Random(int(given["SEED"])), hundred.Lab(options.whole(given, "LAB"))
    handed = hundred.submissions(lab, options.whole(given, "STUDENTS", 10), False)
    hundred.roster(hundred.hand_in(handed, lab.number, folder / "in"), folder / "roster.csv")
    make.run("secret", f"SECRET={folder / 'secret'}", timeout=60)
    one = Class(lab.number, folder, given["JOBS"])
    one.graded(folder / "first")  # what all classes share is built
    whole = one.graded(folder / "calm")
    print(f"lab {lab.number}: {len(handed)} submissions, undisturbed in {whole:.0f} s; "
          f"SEED={given['SEED']}", flush=True)
    classes, bad = disturbed(one, kills, draw, whole)
    print(*bad[:50], f"{kills} kills, {classes} classes, {len(bad)} differences", sep="\n")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
