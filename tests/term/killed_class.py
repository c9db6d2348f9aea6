"""killed_class.py LAB=n FOLDER=dir [KILLS=30] [STUDENTS=30] [JOBS=2] [SEED=1]: a class that is
killed at random moments ends as one that is left alone.

The submissions are those of hundred.py: downloads of each kind, bugs, skeletons, hostile files,
archives that must be refused, graded by make as any class is. They are graded once undisturbed;
then again, where SIGKILL comes at random moments: half of the time to `make grade-class` and its
front end alone, half of the time to all that they have started, too, as when a machine is switched
off. After each kill the class is begun again, and what had been written before must still be there,
not graded twice; when it is through, its points and states, and what it says of each attempt, must
be those of the class that was left alone, and build/ must have nothing more in it. Then another one
is begun, until there were KILLS kills.

A line for each kill and each class, and one of the sum; exit status 1 if anything differs.
"""

import csv
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import hundred  # noqa: E402 (found by the line above)
import options  # noqa: E402

MARK = "GRADLAB_KILLED_CLASS"  # in the environment of all that a class starts
OF_THE_RUN = ("time", "wall_s", "cpu_factor")  # of a grade.json: they are never the same
FROM_S, TO_S = 1, 20  # when a kill comes


def command(given: dict, folder: Path, term: Path) -> list:
    return ["make", "-C", str(hundred.ROOT), "grade-class", f"SUBMISSIONS={folder / 'in'}",
            f"LAB={given['LAB']}", f"OUT={term}", f"SECRET={folder / 'secret'}",
            f"ROSTER={folder / 'roster.csv'}", f"JOBS={given['JOBS']}"]


def begin(words: list) -> subprocess.Popen:
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")} | {MARK: "1"}
    return subprocess.Popen(words, env=env, start_new_session=True, stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def started() -> list:
    """The processes that a class has started, of whatever session."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"{MARK}=1".encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:
            pass  # it has ended
    return found


def kill(process: subprocess.Popen, all_of_it: bool) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    for pid in started() if all_of_it else ():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait()


def written(term: Path) -> dict:
    """Each grade.json that is there: when and as what it was written."""
    return {str(p.relative_to(term)): (p.stat().st_ino, p.stat().st_mtime_ns)
            for p in term.glob("*/lab*/*/grade.json")}


def state(term: Path) -> dict:
    """What a class says, without its times: rows of class.csv, files of attempts, grades."""
    with open(term / "class.csv", newline="") as file:
        found = {f"class.csv {n}": row for n, row in enumerate(csv.DictReader(file))}
    for path in sorted(term.glob("*/lab*/*")):
        name = str(path.relative_to(term))
        found[name] = sorted(p.name for p in path.rglob("*"))
        if (path / "grade.json").exists():
            said = json.loads((path / "grade.json").read_text())
            for key in OF_THE_RUN:
                said.pop(key)
            claims = [{k: v for k, v in claim.items() if k not in ("failures", "worst")}
                      for claim in said["claims"]]
            found[f"{name} grade"] = [claims, said["score"], said["seed"], said["submission"],
                                      said["student"], said["attempt"]]
    return found


def left_in_build() -> set:
    build = hundred.ROOT / "build"
    return {str(p.relative_to(build)) for p in build.rglob("*") if not p.is_dir()}


def differences(calm: dict, got: dict) -> list:
    return [name for name in sorted(calm.keys() | got.keys()) if calm.get(name) != got.get(name)]


class Killed:
    """The classes that are killed, and what was seen of them."""

    def __init__(self, given: dict, folder: Path, calm: dict, built: set):
        self.given, self.folder, self.calm, self.built = given, folder, calm, built
        self.draw = random.Random(int(given["SEED"]))
        self.kills, self.classes, self.wrong = 0, 0, []

    def blame(self, what: str) -> None:
        self.wrong.append(what)
        print(f"WRONG: {what}", flush=True)

    def one_class(self, most: int) -> None:
        """From its beginning to its end, killed at most so often."""
        self.classes += 1
        term, seen = self.folder / f"killed{self.classes}", {}
        shutil.rmtree(term, ignore_errors=True)
        while True:
            process, when = begin(command(self.given, self.folder, term)), None
            if self.kills < most:
                when = self.draw.uniform(FROM_S, TO_S)
            try:
                process.wait(when)
            except subprocess.TimeoutExpired:
                all_of_it = self.draw.random() < 0.5
                kill(process, all_of_it)
                self.kills += 1
            now = written(term)
            for name in seen:
                if now.get(name) != seen[name]:
                    self.blame(f"{term}/{name} was {'written again' if name in now else 'lost'}")
            if process.returncode != -signal.SIGKILL:
                break
            print(f"kill {self.kills}, class {self.classes}: after {when:.1f} s, "
                  f"{'all' if all_of_it else 'the front end'}; {len(now)} graded, "
                  f"{len(now) - len(seen)} of them since the kill before", flush=True)
            seen = now
        for name in differences(self.calm, state(term)):
            self.blame(f"{term}: {name} is not that of the class that was left alone")
        for name in sorted(left_in_build() - self.built):
            self.blame(f"build/{name} was left")
        print(f"class {self.classes}: through, {len(now)} graded", flush=True)


def main(arguments: list) -> int:
    given = options.parse(arguments, {"LAB": "", "FOLDER": "", "KILLS": "30", "STUDENTS": "30",
                                      "JOBS": "2", "SEED": "1"})
    os.chdir(hundred.ROOT)
    kills, students = options.whole(given, "KILLS"), options.whole(given, "STUDENTS")
    lab, folder = hundred.Lab(options.whole(given, "LAB")), Path(given["FOLDER"]).absolute()
    expected = hundred.hand_in(hundred.submissions(lab, students, False), lab.number, folder / "in")
    hundred.roster(expected, folder / "roster.csv")
    subprocess.run(["make", "secret", f"SECRET={folder / 'secret'}"], check=True,
                   stdout=subprocess.DEVNULL)
    began = time.time()
    calm = hundred.grade_once(lab.number, folder, folder / "calm", given["JOBS"], expected)
    print(f"left alone: {students} submissions in {calm['seconds']:.0f} s, "
          f"{len(calm['wrong'])} wrong", flush=True)
    killed = Killed(given, folder, state(folder / "calm"), left_in_build())
    killed.wrong += calm["wrong"]
    while killed.kills < kills:
        killed.one_class(kills)
    print(f"{killed.kills} kills in {killed.classes} classes of {students}, seed {given['SEED']}, "
          f"{time.time() - began:.0f} s: {len(killed.wrong)} wrong")
    return int(bool(killed.wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
